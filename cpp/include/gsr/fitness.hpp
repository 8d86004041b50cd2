// Coefficients and fitness of an individual: its columns are reduced to a few coordinates, the
// constrained lasso picks a support, least squares refits it.
#pragma once

#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include "gsr/admm.hpp"
#include "gsr/archive.hpp"
#include "gsr/constraints.hpp"
#include "gsr/evaluate.hpp"
#include "gsr/lasso.hpp"
#include "gsr/law.hpp"
#include "gsr/law_fit.hpp"
#include "gsr/least_squares.hpp"
#include "gsr/reduced.hpp"
#include "gsr/settings.hpp"

namespace gsr {

// What a search is about: data, mapping tables and settings, shared by all threads.
struct Problem {
  Dataset x;
  Dataset y;  // the target as a data set of one variable
  Table table;
  Table target_table;
  Settings settings;
  Constraints constraints = {};
  Buffer row_weights = {};  // square roots of the rows' weights, whose mean is 1; empty: all 1
};

// Two sets of basis functions (paper, Section 3.3.2).
struct Individual {
  std::vector<Basis> phi;
  std::vector<Basis> psi;
  double fitness = std::numeric_limits<double>::infinity();
};

// A set of basis functions in the making, with their values: functions that are undefined on the
// data, constant, or equal up to a factor to one already in the set are refused.
class BasisSet {
 public:
  using Rule = std::function<bool(const Basis&)>;

  // The constant is refused unless `with_constant`: it is in every well-posed model anyway.
  BasisSet(const Dataset& data, const Table& table, int n_v, int capacity, bool with_constant,
           std::size_t max_bytes);

  void clear() { size_ = n_fixed_; }
  bool add(const Basis& basis);
  // What the rule does not hold for is refused, too.
  void hold_to(Rule rule) { rule_ = std::move(rule); }
  // The set holds this basis function from now on; false if it cannot.
  bool fix(const Basis& basis);
  int n_fixed() const { return n_fixed_; }
  bool holds(const Basis& basis) const;

  int size() const { return size_; }
  int capacity() const { return capacity_; }
  bool full() const { return size_ == capacity_; }
  const Basis& basis(int j) const { return bases_[j]; }
  std::vector<Basis> bases() const { return {bases_.begin(), bases_.begin() + size_}; }
  int cost(int j) const { return costs_[j]; }
  const double* values(int j) const { return values_[j]; }

 private:
  bool is_duplicate(double print) const;

  Evaluator evaluator_;
  const Table& table_;
  int n_v_;
  int capacity_;
  bool with_constant_;
  Rule rule_;
  int n_fixed_ = 0;
  int size_ = 0;
  Columns values_;
  Buffer weights_;  // a fixed direction: equal columns have equal projections on it
  std::vector<Basis> bases_;
  std::vector<int> costs_;
  std::vector<double> prints_;
};

// Everything that one thread needs to solve individuals.
class IndividualSolver {
 public:
  // For at most so many basis functions; 0: as many as the settings say.
  IndividualSolver(const Problem& problem, std::size_t max_bytes, int n_phi = 0, int n_psi = 0);

  BasisSet& phi() { return phi_; }
  BasisSet& psi() { return psi_; }
  long n_unconverged() const { return n_unconverged_; }  // ADMM solves that hit their limit

  // Solves the individual whose basis functions are in phi() and psi() and returns its fitness. One
  // whose error cannot fall below `bound` is not solved further: it would not survive. An exact law
  // of at most `bits_limit` bits ranks before everything else.
  // A set that was chosen for what it explains needs no lasso to choose from it: `chosen`.
  double solve(double bound, double bits_limit, bool chosen = false);
  // Weighted least squares that takes residuals of psi for those of y: what noise in y asks for.
  void weigh(bool on) { weighted_ = on; }
  // The law of the individual solved last.
  Law fitted_law();
  // Appends the laws of the individual solved last that the archive would take.
  void collect(const Archive& archive, std::vector<Law>& laws);

 private:
  double solve_printed();
  void settle_exact();
  void settle_relative(const std::vector<Index>& all);
  void judge_exact(const std::vector<double>& tolerances);
  double error_on_both_scales(const Law& law) const;
  double freedom() const;
  void reduce(const Buffer& weights);
  void push_columns(const Buffer& weights);
  const double* weigh_column(const double* values, const Buffer& weights, Index to);
  void drop_inadmissible();
  bool removable(std::size_t position) const;
  bool can_shrink() const;
  bool admits_subset(const Law& law) const;
  bool admits(const Law& law) const;
  bool has_required() const;
  void fix_required();
  void order_by_cost();
  void take_all_columns();
  bool is_exact() const;
  void eliminate_while_exact();
  std::size_t cheapest_to_remove();  // of those that may go
  void remove_from_subset(std::size_t position);
  void collect_path(const Archive& archive, std::vector<Law>& laws);
  void fit_on_target(Law& law);
  std::vector<double> tolerances();
  Law score_subset();
  void add_terms(Law& law) const;
  void add_to_prediction(int member, double alpha);
  void add_target(Law& law, int k, double beta) const;
  void finish_score(Law& law);

  const Problem& problem_;
  TargetScale scale_;
  LawFit law_fit_;
  BasisSet phi_;
  BasisSet psi_;
  std::vector<int> order_;
  std::vector<Index> subset_;
  Reduced reduced_;
  SubsetFit fit_;
  ConstrainedLasso lasso_;
  admm::Workspace workspace_;  // of the printed solver
  Law law_;                    // of an individual that is exact, or was solved as printed
  bool has_law_ = false;
  long n_unconverged_ = 0;
  bool weighted_ = false;
  bool constant_allowed_ = true;
  Columns weighted_columns_;
  Buffer ones_, prediction_;
  double lead_ = 1.0;  // what the law scored last was divided by
};

}  // namespace gsr
