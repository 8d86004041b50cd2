// Real constants inserted into a law: at every node of every term a scale, a shift or an exponent.
// A score test asks the data which of them pays.
#pragma once

#include "proposer.hpp"
#include "sample.hpp"

namespace gsr::guide {

class Insertions {
 public:
  Insertions(const Sample& sample, Proposer& proposer) : sample_(sample), proposer_(proposer) {}

  // Proposes the law with one to kInsertionDepth more constants, each at the place where it lowers
  // the error most beside those before it. Returns the work.
  double scan(const Basis& psi, const std::vector<Basis>& terms) const;

 private:
  // The law's terms with a constant near the value at which it has no effect, and the share of the
  // squared residual that its derivative explains.
  struct Candidate {
    std::vector<Basis> terms;
    Index changed;
    double weight;  // the near-neutral value
    double gain = 0.0;
  };
  struct Refined {
    std::vector<Basis> terms;
    double left;
  };
  // Those that explain more than chance, best first.
  std::vector<Candidate> scored(const Buffer& psi, const std::vector<Basis>& terms) const;
  std::vector<Candidate> candidates(const std::vector<Basis>& terms) const;
  void score(const Buffer& psi, const std::vector<Basis>& terms,
             std::vector<Candidate>& candidates) const;
  // Refined on the scanned rows, best first.
  std::vector<Refined> refined(const Buffer& psi, const std::vector<Candidate>& candidates) const;

  const Sample& sample_;
  Proposer& proposer_;
};

}  // namespace gsr::guide
