// Neighbours of the laws found so far: a term is added, exchanged, or multiplied by a candidate of
// the pool, or one of its factors is exchanged. Products of many functions are too many to be
// listed, but parts of the right one explain something by themselves, and from there it is one
// step.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <vector>

#include "insertions.hpp"
#include "scans.hpp"

namespace gsr::guide {

class Neighbours {
 public:
  // `is_mine`: whether a number belongs to this island.
  using Share = std::function<bool(std::uint64_t)>;
  Neighbours(const Sample& sample, const Spaces& spaces, const Scanner& scanner, Proposer& proposer,
             Share is_mine)
      : sample_(sample),
        spaces_(spaces),
        scanner_(scanner),
        proposer_(proposer),
        insertions_(sample, proposer),
        is_mine_(std::move(is_mine)) {}

  // The level at which the neighbours of a law were looked at: 0 is never, else one more than it.
  int seen(const Law& law) const;
  void note_seen(const Law& law, int seen);
  void note_from_elsewhere(const Law& law);

  // Laws come up in every stage, and arrive from other islands at any time.
  bool due() const;
  double scan_some();
  // What is found may have better neighbours still. Returns the work.
  double scan(int rounds);

  // Laws by their fingerprints.
  std::set<std::uint64_t> extended, from_elsewhere;
  double since = 0.0;  // work since the last look

 private:
  std::vector<Law> laws_to_extend() const;
  bool belongs_elsewhere(const Law& law) const;
  // One scan for neighbours of a law.
  struct Look {
    const Law* law;
    Index term;
    Trees base;
    bool replace;
    enum class Kind { term, pairs, constants } kind = Kind::term;
  };
  double extend(const Look& look);
  static void add_looks(const Law& law, const Table& table, std::vector<Look>& looks);
  double extend_term(const Law& law, Index term, const Trees& base, bool replace);
  double extend_by_pairs(const Law& law);
  void propose(const Law& law, const Space& space, const Trees& base, const ols::Choice& choice);

  const Sample& sample_;
  const Spaces& spaces_;
  const Scanner& scanner_;
  Proposer& proposer_;
  Insertions insertions_;
  Share is_mine_;
};

}  // namespace gsr::guide
