// Searches inside the search: once similarity variables are known, F is sought by a search of its
// own, whose data have these variables for features and y/m for the target.
#pragma once

#include <vector>

#include "proposer.hpp"
#include "similarity.hpp"

namespace gsr::guide {

class SimilarityScan {
 public:
  SimilarityScan(const Sample& sample, const Goals& goals, Proposer& proposer)
      : sample_(sample), goals_(goals), proposer_(proposer) {}

  // Both return their work.
  double build();
  double scan(std::size_t number) const;
  void clear() { found_.clear(); }

 private:
  void propose(const Law& inner, const Table& inner_targets, const Similarity& similarity) const;

  const Sample& sample_;
  const Goals& goals_;
  Proposer& proposer_;
  std::vector<Similarity> found_;
};

}  // namespace gsr::guide
