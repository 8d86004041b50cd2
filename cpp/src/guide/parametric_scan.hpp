// Scans of candidates with real constants inside: grids of their constants are columns beside the
// cheapest plain terms, and the constants of what is chosen are refined.
#pragma once

#include <memory>
#include <vector>

#include "space.hpp"

namespace gsr::guide {

class ParametricScan {
 public:
  ParametricScan(const Sample& sample, const Goals& goals, Proposer& proposer)
      : sample_(sample), goals_(goals), proposer_(proposer) {}

  // All return their work.
  double build(Form form, const Spaces& spaces);
  double scan(const Goal& goal);
  // Products of oscillations of two features in y.
  double scan_two_frequencies(int first, int second);
  void clear();

 private:
  std::unique_ptr<Space>& of(Form form) { return form == Form::sum ? sums_ : products_; }
  bool write_terms(const Space& space, const Goal& goal, const ols::Choice& choice,
                   std::vector<Basis>& terms) const;
  const Basis* plain_target() const;

  const Sample& sample_;
  const Goals& goals_;
  Proposer& proposer_;
  std::unique_ptr<Space> sums_, products_;
};

}  // namespace gsr::guide
