// Laws with real constants inside from few noisy rows: a pursuit for y, ln|y|, 1/y and the goals
// that promise most.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "gsr/dictionary.hpp"
#include "gsr/pursuit.hpp"
#include "proposer.hpp"

namespace gsr::guide {

std::unique_ptr<Dictionary> make_dictionary(const Sample& sample, const Dictionary::Extent& extent);

class PursuitScan {
 public:
  PursuitScan(const Sample& sample, Proposer& proposer) : sample_(sample), proposer_(proposer) {}

  // At most so many left sides, each with the number of its goal: y, ln|y| and 1/y, then the goals
  // in their order.
  std::vector<std::pair<Basis, Index>> pursued(const Goals& goals, std::size_t most) const;
  Pursuit::Widths widths() const;
  // Both return their work.
  double build();
  double pursue(const Basis& psi, const Pursuit::Widths& widths);
  void clear() { dictionary_.reset(); }

 private:
  const Sample& sample_;
  Proposer& proposer_;
  std::unique_ptr<Dictionary> dictionary_;
};

}  // namespace gsr::guide
