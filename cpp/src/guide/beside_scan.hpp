// Terms beside simple ones. Laws of many terms have mostly simple ones: powers of features, their
// products, roots, sines. With the simplest terms free, what is left of an exact law is one or two
// terms, each found by one scan and refined if it has constants inside. Simple terms that the law
// does not need are dropped afterwards.
#pragma once

#include <memory>
#include <vector>

#include "gsr/dictionary.hpp"
#include "gsr/pursuit.hpp"
#include "proposer.hpp"

namespace gsr::guide {

class BesideScan {
 public:
  BesideScan(const Sample& sample, Proposer& proposer) : sample_(sample), proposer_(proposer) {}

  // Both return their work.
  double build();
  // Sets of simple terms are free in turn, `n_sets` of them.
  double scan(const Basis& psi, int n_terms, Index n_sets);
  void clear();

 private:
  Columns simple_columns(Index count) const;
  // False if it is no use to look further.
  bool scan_beside(Index n_simple, const Basis& psi, int n_terms, double& work);
  void propose_pruned(const Basis& psi, const Buffer& target, std::vector<Basis> terms,
                      Index n_simple);
  std::vector<Basis> independent(const std::vector<Basis>& terms) const;
  std::vector<Basis> pruned(const Buffer& target, std::vector<Basis> terms) const;

  const Sample& sample_;
  Proposer& proposer_;
  std::unique_ptr<Dictionary> dictionary_;
  std::vector<Basis> simple_;  // cheapest first
};

}  // namespace gsr::guide
