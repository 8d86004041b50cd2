// How a space is scanned for a goal: which columns explain most of it together.
#pragma once

#include <vector>

#include "space.hpp"

namespace gsr::guide {

// Scans return their work.
class Scanner {
 public:
  Scanner(const Sample& sample, const Goals& goals, Proposer& proposer)
      : sample_(sample), goals_(goals), proposer_(proposer) {}

  // Greedy sets of columns, kept in a beam.
  double forward(Space& space, Goal& goal);
  // Only what leaves next to nothing is proposed.
  double nearly_exact(Space& space, Goal& goal);
  // The same with one column for each of many goals at once.
  double nearly_exact_singles(const Space& space, const std::vector<Goal>& goals);
  // The same where the goal is known in the rows of the pool alone.
  double of_known_rows(Space& space, const Goal& goal);
  // The best pair for each of the goals at once.
  double nearly_exact_pairs(Space& space, const std::vector<Goal>& goals);
  // The best pairs of a cheap column with any other, for all goals at once; islands share them.
  double pairs(Space& space, const std::vector<Goal>& goals);
  // All triples of the cheapest terms, or of the cheapest monomials.
  double triples(const Space& space, const std::vector<Goal>& goals, bool monomials);
  // Triples of two of the very cheapest terms with any other.
  double beside_two_cheap(Space& space, const std::vector<Goal>& goals);
  // Sums of functions of one feature each: functions of several distract from them.
  double separable(const Space& space, const std::vector<Goal>& goals);
  // With weighted rows, which takes a pool of its own.
  double weighted(const Space& all, const Goal& goal);
  // Among the terms whose unit is that of the goal.
  double of_same_unit(const Space& all, const Goal& goal);

  // Goals that are followed far.
  Index n_favoured() const;
  // So many columns are paired with all that a step stays short: nothing interrupts it.
  Index n_paired(const ols::Pool& pool) const;

 private:
  template <typename Choose>
  void propose_for_favoured(Space& space, const std::vector<Goal>& goals, Choose choose);
  bool solved() const;
  tuning::Beam beam_of(const Goal& goal) const;
  std::vector<ols::Choice> with_pairs(const Space& space, const Goal& goal,
                                      const ols::Choice& first) const;
  void pairs_beside_partner(const Space& space, const Goal& goal);

  const Sample& sample_;
  const Goals& goals_;
  Proposer& proposer_;
};

}  // namespace gsr::guide
