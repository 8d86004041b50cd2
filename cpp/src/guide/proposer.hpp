// Turns sets of terms into individuals: solves them on all rows of the search, offers their laws to
// the archive, and keeps count.
#pragma once

#include <limits>
#include <utility>
#include <vector>

#include "goals.hpp"
#include "gsr/sublibraries.hpp"

namespace gsr::guide {

class Proposer {
 public:
  // What an interrupted piece of work must take back.
  struct Counts {
    long evaluations = 0;
    double simplified_bits = std::numeric_limits<double>::infinity();  // of the law simplified last
  };

  // `goals` tell for which logarithms there are products.
  Proposer(const Problem& problem, const std::vector<int>& features, const Goals& goals,
           std::size_t max_bytes);

  void offer_to(Archive& archive) { archive_ = &archive; }
  const Archive& archive() const { return *archive_; }
  void weigh(bool on) { solver_.weigh(on); }

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

  std::vector<Individual> take_individuals() { return std::exchange(individuals_, {}); }
  const Counts& counts() const { return counts_; }
  void set_counts(const Counts& counts) { counts_ = counts; }
  void take_back(const Counts& counts);
  long n_unconverged() const { return solver_.n_unconverged(); }

 private:
  void solve(const std::vector<Basis>& psi, const std::vector<Basis>& phi, bool chosen,
             Index least_terms);
  void offer_laws(Index least_terms);
  void propose_product_only(const Goal& goal, const std::vector<Basis>& phi);
  void simplify(const Law& law);

  const Problem& problem_;
  const std::vector<int>& features_;
  const Goals& goals_;
  IndividualSolver solver_;
  Archive* archive_ = nullptr;
  std::vector<Individual> individuals_;
  Counts counts_;
};

}  // namespace gsr::guide
