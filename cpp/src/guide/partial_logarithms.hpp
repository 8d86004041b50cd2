// Products whose logarithm is known in some of the rows only: y may underflow to 0 (a Gaussian far
// from its centre), and y/p + 1 may cancel (y = p (e^u - 1) at negative u). The other rows tell
// enough.
#pragma once

#include "scans.hpp"
#include "space.hpp"

namespace gsr::guide {

class PartialLogarithms {
 public:
  // ln|psi(y)/p + shift|.
  struct LeftSide {
    Basis psi;
    Monomial prefactor;
    double shift = 0.0;
  };

  PartialLogarithms(const Sample& sample, const Goals& goals, Scanner& scanner)
      : sample_(sample), goals_(goals), scanner_(scanner) {}

  // Returns the work.
  double scan() const;

 private:
  double scan(const LeftSide& left, const std::vector<Index>& known) const;

  const Sample& sample_;
  const Goals& goals_;
  Scanner& scanner_;
};

}  // namespace gsr::guide
