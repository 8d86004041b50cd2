// Quotients of sums: psi = (a_0 + sum a_j phi_j)/(1 + sum b_k phi_k). Multiplied by the
// denominator, this is linear: psi = a_0 + sum a_j phi_j - sum b_k psi phi_k.
#pragma once

#include "space.hpp"

namespace gsr::guide {

class RationalScan {
 public:
  RationalScan(const Sample& sample, Proposer& proposer) : sample_(sample), proposer_(proposer) {}

  // Of the cheapest terms of a pool; returns the work.
  double scan(const Space& sums, const Goal& goal) const;

 private:
  void propose(const Candidates& candidates, const std::vector<Candidate>& list, const Goal& goal,
               const ols::Choice& choice) const;

  const Sample& sample_;
  Proposer& proposer_;
};

}  // namespace gsr::guide
