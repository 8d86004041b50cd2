// What the scans of a stage look at: some rows, the features worth combining, and the level.
#pragma once

#include <vector>

#include "gsr/fitness.hpp"
#include "tuning.hpp"

namespace gsr::guide {

// Rows of the problem; `weights` are square roots, empty: all alike.
struct Rows {
  Dataset x, y;
  Buffer weights;
};

// `n` rows spread by the seed. Rows of little weight disturb where scans know no weights: they are
// left out unless `light_ones`.
Rows choose_rows(const Problem& problem, Index n, bool light_ones = false);

// At most `n` of the given rows.
Rows rows_among(const Problem& problem, std::vector<Index> rows, Index n);

// Those that vary; if there are many, those that explain something of y, best first.
std::vector<int> features_to_combine(const Rows& rows);

struct Sample {
  const Problem& problem;
  std::vector<int> features;
  int level = 0;
  Rows rows;

  explicit Sample(const Problem& posed);

  Index n_rows() const { return rows.x.n_rows(); }
  // Work in individuals of the genetic programming.
  double work_of(double operations) const;
  // That of a scan of so many columns.
  double work_of(const tuning::Work& work, Index n_columns) const;
};

}  // namespace gsr::guide
