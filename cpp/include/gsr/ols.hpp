// Orthogonal least squares over a large pool of columns: which column, or which pair, explains most
// of what is left of a target, for all of them at once.
#pragma once

#include <vector>

#include "gsr/dataset.hpp"
#include "gsr/least_squares.hpp"

namespace gsr::ols {

// A choice of columns and the share of the target's variance that it leaves.
struct Choice {
  std::vector<Index> columns;
  double rest = 1.0;
};

// Every `parts`-th block of what is to be looked at.
struct Part {
  int part = 0;
  int parts = 1;
};

// The pool with a set of free columns (the constant, logarithms of the features ...) projected out,
// each column scaled to unit norm. Columns that depend on the free ones can never be chosen.
class Pool {
 public:
  // Overwrites `columns`, which the pool keeps.
  Pool(Columns columns, const Columns& free);

  Index size() const { return columns_.n_columns(); }
  bool usable(Index j) const { return usable_[j] != 0; }
  const double* column(Index j) const { return columns_[j]; }

  // The target without its free part, of unit norm; its norm before is returned (0: nothing left).
  double prepare(const double* target, Buffer& out) const;

  // Greedy choices of 1, 2, ... `depth` columns that keep the `beam` best sets at each step; all of
  // them are returned, best first within a size. `given`, if any, is a column outside the pool (a
  // prepared target) that is in every set.
  std::vector<Choice> forward(const Buffer& target, int depth, int beam,
                              const Buffer* given = nullptr) const;

  // The `count` columns that explain most by themselves, or beside a given one.
  std::vector<Choice> singles(const Buffer& target, std::size_t count,
                              const Buffer* given = nullptr) const;

  // The one that explains most of each of many targets.
  std::vector<Choice> singles(const std::vector<Buffer>& targets) const;

  // Exchanges one column at a time while that explains more.
  void swap(const Buffer& target, Choice& choice, int passes, const Buffer* given = nullptr) const;

  // The `count` best pairs for each of the targets: one of the first `first` columns with a later
  // one of the first `reach`.
  std::vector<std::vector<Choice>> pairs(const std::vector<Buffer>& targets, Index first,
                                         Index reach, std::size_t count, Part part = {}) const;
  std::vector<Choice> pairs(const Buffer& target, Index first, Index reach,
                            std::size_t count) const;

  // The `count` best triples: two of the first `first` columns with a later one of the first
  // `reach`.
  std::vector<Choice> triples(const Buffer& target, Index first, Index reach,
                              std::size_t count) const;

 private:
  struct Node;
  void orthogonalise(Index begin, Index end);
  void pairs_of_block(const std::vector<Vector>& correlations, Index start, Index width, Index n,
                      std::size_t count, std::vector<std::vector<Choice>>& best) const;
  Node root(const Buffer& target, const Buffer* given) const;
  void add_direction(Node& node, Buffer q) const;
  Node extended(const Node& node, Index j) const;
  std::vector<Index> best_next(const Node& node, std::size_t count) const;

  Orthogonalizer free_;
  Columns columns_;
  std::vector<char> usable_;
};

}  // namespace gsr::ols
