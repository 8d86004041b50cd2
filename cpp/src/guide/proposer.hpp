// Turns sets of terms into individuals: solves them on all rows of the search, offers their laws to
// the archive, and keeps count. Threads may propose side by side, each in a draft of its own.
#pragma once

#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "goals.hpp"
#include "gsr/sublibraries.hpp"
#include "gsr/thread_pool.hpp"

namespace gsr::guide {

class Proposer {
 public:
  // What an interrupted piece of work must take back.
  struct Counts {
    long evaluations = 0;
    double simplified_bits = std::numeric_limits<double>::infinity();  // of the law simplified last
  };

  // What one piece of work has made, apart from what others make at the same time.
  struct Draft {
    std::vector<Law> laws;
    std::vector<Individual> individuals;
    std::vector<std::pair<Goal*, double>> promises;
    Counts counts;
    long n_unconverged = 0;
    bool exact = false;              // a law that is shorter than those known
    std::optional<Archive> archive;  // the one at the start with these laws, once there are some
  };
  // While it lives, what this thread proposes goes into the draft.
  class Drafting {
   public:
    Drafting(Proposer& proposer, Draft& draft);
    ~Drafting();
    Drafting(const Drafting&) = delete;
    Drafting& operator=(const Drafting&) = delete;

   private:
    Proposer& proposer_;
    Draft& draft_;
    long unconverged_before_;
  };

  // `goals` tell for which logarithms there are products.
  Proposer(const Problem& problem, const std::vector<int>& features, const Goals& goals,
           std::size_t max_bytes, int n_threads);

  void offer_to(Archive& archive) { archive_ = &archive; }
  // As the work under way on this thread sees it.
  const Archive& archive() const;
  bool is_drafting() const { return desk().draft != nullptr; }
  // In the draft of this thread, else in all that begin from now on.
  void weigh(bool on);

  // A set of terms that was chosen for what it explains. Laws of some of the terms are offered too,
  // if they have at least so many.
  void propose(const std::vector<Basis>& psi, const std::vector<Basis>& terms,
               Index least_terms = 0) {
    solve(psi, terms, true, least_terms);
  }
  // A library of which the lasso picks.
  void propose_library(const Basis& psi, const std::vector<Basis>& library) {
    solve({psi}, library, false, 0);
  }
  void propose_library(const Goal& goal, const WholeSet& set);
  // A law for a logarithm as the product that it stands for; p (1 + product) has the terms p and p
  // times the product.
  void propose_as_product(const Law& law, const Basis& plain, const Monomial& prefactor,
                          double tolerance);

  // A set of columns leaves so much of the goal.
  void note_promise(Goal& goal, double left);
  // Those of a search inside the work under way on this thread.
  void count_evaluations(long n);
  void merge(Draft draft);

  std::vector<Individual> take_individuals() { return std::exchange(individuals_, {}); }
  const Counts& counts() const { return counts_; }
  void set_counts(const Counts& counts) { counts_ = counts; }
  void take_back(const Counts& counts);
  long n_unconverged() const { return n_unconverged_; }

 private:
  // What a thread needs to propose.
  struct Desk {
    std::unique_ptr<IndividualSolver> solver;
    Draft* draft = nullptr;
  };
  Desk& desk() { return desks_[static_cast<std::size_t>(ThreadPool::worker())]; }
  const Desk& desk() const { return desks_[static_cast<std::size_t>(ThreadPool::worker())]; }
  void solve(const std::vector<Basis>& psi, const std::vector<Basis>& phi, bool chosen,
             Index least_terms);
  void solve_in(Draft& draft, const std::vector<Basis>& psi, const std::vector<Basis>& phi,
                bool chosen, Index least_terms);
  void offer_laws(IndividualSolver& solver, Draft& draft, Index least_terms);
  void offer(const Law& law, Draft& draft);
  void propose_product_only(const Goal& goal, const std::vector<Basis>& phi);
  void simplify(const Law& law);

  const Problem& problem_;
  const std::vector<int>& features_;
  const Goals& goals_;
  std::vector<Desk> desks_;
  bool weighted_ = false;
  Archive* archive_ = nullptr;
  std::vector<Individual> individuals_;
  Counts counts_;
  long n_unconverged_ = 0;
};

}  // namespace gsr::guide
