// Guided variation: individuals made by looking at the data. Pools of candidates grow from simple
// to complex; for every candidate psi the terms that explain it best are found by orthogonal least
// squares, in two spaces: sums of terms, and sums of logarithms with all monomials free.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "gsr/candidates.hpp"
#include "gsr/fitness.hpp"
#include "gsr/ols.hpp"
#include "gsr/parametric.hpp"
#include "gsr/pursuit.hpp"
#include "gsr/refine.hpp"
#include "gsr/state.hpp"
#include "gsr/sublibraries.hpp"
#include "gsr/targets.hpp"

namespace gsr {

class Guide {
 public:
  Guide(const Problem& problem, std::size_t max_bytes);

  // One piece of work; returns its size in individuals of the genetic programming. Laws that the
  // archive would take are offered to it, good sets of basis functions are kept as individuals.
  // When all stages are done, neighbours of new laws are what is left.
  double step(Archive& archive);
  // Whether the last step found nothing to do.
  bool idle() const { return idle_; }
  // Whether the stages that find most laws under noise are done: all pursuits.
  bool pursuits_done() const;
  // Whether simple candidates have all been looked at.
  bool simple_done() const { return simple_done_; }
  std::vector<Individual> take_individuals() { return std::move(individuals_); }
  long evaluations() const { return evaluations_; }
  long n_unconverged() const { return solver_.n_unconverged(); }

  // What was learned about goals here, and elsewhere: it orders the goals of the next stage.
  Promises promises() const;
  void learn(const Promises& promises);
  // A law travels with the level at which its neighbours were looked at: 0 is never, else one more
  // than the level. An island looks at those of its own laws; of laws from elsewhere at which
  // nobody has looked yet, each belongs to one island.
  int neighbours_seen(const Law& law) const;
  void note_neighbours_seen(const Law& law, int seen);
  void note_from_elsewhere(const Law& law);

  // Pools are not saved but built again. A guide that was saved with another share of the work
  // begins its stage anew.
  GuideState state() const;
  void restore(const GuideState& state);

 private:
  // An exact law shows without weights, which cost a pool for every psi; noise in y asks for them.
  // Candidates with constants inside come when plain ones have been looked at.
  enum class Look { plain, weighted, moving, pursuit, beside };
  struct Stage {
    int level;
    Look look;
  };
  static constexpr std::array<Stage, 14> kStages{{{0, Look::plain},
                                                  {0, Look::pursuit},
                                                  {0, Look::beside},
                                                  {1, Look::plain},
                                                  {1, Look::beside},
                                                  {1, Look::pursuit},
                                                  {0, Look::moving},
                                                  {0, Look::weighted},
                                                  {1, Look::weighted},
                                                  {1, Look::moving},
                                                  {2, Look::plain},
                                                  {2, Look::weighted},
                                                  {2, Look::moving},
                                                  {3, Look::plain}}};

  // A psi to explain on the chosen rows, divided by a monomial that is a factor of every term.
  struct Goal {
    Basis psi;
    Monomial prefactor;
    Buffer values;
    double promise = 1.0;  // what the best set so far leaves of it
    Basis partner;         // a second psi beside it; of size 0: none
    Buffer partner_values;
    Buffer weights;          // of the rows; empty: all the same
    std::size_t number = 0;  // the same on every island, whatever they promise
  };
  // ln|h(y)|, or ln|y/p - 1| for a law y = p (1 + product).
  struct LogGoal {
    LogTarget target;
    Buffer values;
    double promise = 1.0;
    Monomial prefactor;
    Buffer weights;
    std::size_t number = 0;
  };
  // What is built is needed by the scans after it; scans are shared among islands.
  struct Task {
    std::function<double()> run;
    bool builds;
  };
  using Trees = std::vector<composition::Tree>;
  // Candidates with real constants, each kind with a pool that holds `beside_` too.
  struct Moving {
    std::unique_ptr<Parametric> parametric;
    std::unique_ptr<ols::Pool> pool;
  };

  void choose_rows(Index n, bool light_ones = false);
  // What every sum has: the constant and the required terms.
  Columns free_columns() const;
  void rank_features();
  void make_goals();
  void number_goals();
  void note_promises();
  static std::uint64_t key(const Goal& goal);
  static std::uint64_t key(const LogGoal& goal);
  double promised(std::uint64_t key) const;
  std::size_t n_favoured() const;
  void weigh_goals();
  void add_prefactor_goals();
  void add_shifted_log_goals();
  void add_partner_goals();
  void find_prefactors();
  void plan_stage();
  void plan_building(std::function<double()> run);
  // A scan that is done by one island: by its number, else in turn.
  void plan_scanning(std::function<double()> run);
  void plan_scanning(std::size_t number, std::function<double()> run);
  // A scan of which each island does a part.
  void plan_together(std::function<double()> run);
  bool is_mine(std::size_t number) const;
  void skip_done(std::size_t n_done);
  void plan_plain();
  void plan_sublibraries();
  void plan_scan(Goal& goal);
  void plan_scan(LogGoal& goal);
  void plan_moving();
  void plan_weighted();
  void plan_pursuit();
  // Left sides of the pursuit, each with the number of its goal.
  std::vector<std::pair<Basis, std::size_t>> pursued_goals(std::size_t most) const;
  // The basis function of a product, or nothing if it is not allowed.
  std::optional<Basis> made(const Trees& factors) const;
  double build_dictionary();
  double pursue(const Basis& psi, const Pursuit::Widths& widths);
  void plan_beside();
  double build_beside();
  Columns simple_columns(std::size_t count) const;
  bool scan_beside(const Basis& psi, std::size_t n_simple, int n_terms, double& size);
  void propose_pruned(const Basis& psi, const Buffer& target, std::vector<Basis> terms,
                      std::size_t n_simple);
  std::vector<Basis> independent(const std::vector<Basis>& terms) const;
  std::vector<Basis> pruned(const Buffer& target, std::vector<Basis> terms) const;
  double build_pools();
  double scan_sums(Goal& goal);
  double scan_units(Goal& goal);
  double scan_triples(bool monomials);
  double scan_separable_sums();
  double scan_separable_logarithms();
  std::vector<ols::Choice> frugal(const ols::Pool& pool, const Buffer& target,
                                  const Buffer* given) const;
  std::vector<ols::Choice> frugal_choices(const ols::Pool& pool, const Buffer& target) const;
  double scan_weighted_sums(Goal& goal);
  double scan_weighted_logarithms(LogGoal& goal);
  Index pairs_first(const ols::Pool& pool) const;
  double scan_sum_pairs();
  double scan_logarithms(LogGoal& goal);
  double scan_log_pairs();
  double build_moving_sums();
  double build_moving_logarithms();
  double scan_parametric_sum(Goal& goal);
  double scan_parametric_logarithm(LogGoal& goal);
  Moving make_moving(const Parametric::Extent& extent, const Columns& free) const;
  std::vector<ols::Choice> moving_choices(const Moving& moving, const Buffer& target, int depth,
                                          bool favoured) const;
  bool add_chosen(const Moving& moving, const ols::Choice& choice, const Trees& prefix,
                  std::vector<Basis>& bases) const;
  double scan_two_frequencies(int first, int second);
  double do_task();
  double look_around();
  bool neighbours_are_due() const;
  double look_at_some_neighbours();
  double scan_neighbours(int rounds);
  bool belongs_elsewhere(const Law& law) const;
  double extend(const Law& law);
  double extend_term(const Law& law, std::size_t term, const Trees& base, bool instead);
  double extend_by_pairs(const Law& law);
  void propose_beside(const Basis& psi, std::vector<Basis> bases, const Trees& base,
                      const std::vector<Candidate>& list, const ols::Choice& choice);
  Columns columns_beside(const std::vector<Basis>& terms) const;
  std::vector<Law> laws_to_extend() const;
  void prepare_last();
  void propose_refined(const Basis& psi, const std::vector<std::vector<Basis>>& sets);

  // `whole`: a library of which the lasso picks, not a choice. Laws of some of the terms are
  // offered too, if they have at least so many.
  Law propose(const std::vector<Basis>& psi, const std::vector<Basis>& phi, bool whole = false,
              std::size_t least_terms = 0);
  std::size_t n_terms(const Law& law) const;
  void tidy(const Law& law);
  const LogTarget* log_target(const Basis& psi) const;
  void propose_set(const Goal& goal, const WholeSet& set);
  void propose_pairs_beside(Goal& goal);
  void propose_sum(Goal& goal, const ols::Choice& choice);
  void propose_product(LogGoal& goal, const ols::Choice& choice);
  // Exponents count as halves if they are this near, when there may be noise.
  static constexpr double kNoisyExponent = 0.12;
  static constexpr double kExactExponent = 1e-6;
  void propose_product_only(const LogTarget& target, const std::vector<Basis>& phi);
  bool propose_as_product(const Law& law, const Basis& plain, const Monomial& prefactor,
                          double tolerance);
  bool product_factors(const Law& law, double tolerance, Trees& factors) const;
  bool admits_target(const Basis& psi) const;
  bool may_carry_constant(const composition::Tree& tree) const;
  bool add_basis(const Trees& factors, std::vector<Basis>& out) const;
  Law fit_on_rows(const LogGoal& goal, const std::vector<Candidate>& chosen) const;
  Buffer monomial_values(const Monomial& monomial) const;
  Buffer values_of(const Basis& basis, const Dataset& data, const Table& table) const;
  double size_of(double operations) const;

  const Problem& problem_;
  const Settings& settings_;
  IndividualSolver solver_;
  Archive* archive_ = nullptr;

  Dataset x_, y_;              // the rows that are scanned
  Buffer row_weights_;         // of them; empty: all alike
  std::vector<int> features_;  // by promise
  std::vector<int> free_features_;
  std::vector<Monomial> prefactors_;
  std::vector<Goal> goals_;
  std::vector<LogGoal> log_goals_;
  std::unique_ptr<Candidates> candidates_;
  std::unique_ptr<ols::Pool> sum_pool_, log_pool_;
  std::vector<Candidate> log_list_;
  Columns free_;  // 1 and ln|x_i|
  Moving moving_sums_, moving_logs_;
  std::vector<Candidate> beside_;
  std::unique_ptr<Dictionary> dictionary_;
  std::vector<Basis> simple_;  // terms that are free in the scans beside them

  std::deque<Task> work_;
  std::size_t n_planned_ = 0;  // goals and scans of the stage that have a number
  std::size_t n_done_ = 0;     // tasks of the stage
  std::size_t stage_ = 0;
  Promises promises_;  // when the stage was planned
  Promises learned_;   // since
  int level_ = 0;
  bool simple_done_ = false;
  bool idle_ = false;
  std::set<std::uint64_t> extended_;                         // laws, by their fingerprints
  std::set<std::uint64_t> from_elsewhere_;                   // likewise
  double since_neighbours_ = 0.0;                            // work, in individuals
  double tidied_ = std::numeric_limits<double>::infinity();  // bits of the law tidied last
  std::vector<Individual> individuals_;
  long evaluations_ = 0;
};

}  // namespace gsr
