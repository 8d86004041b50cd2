// Data and tables that the tests share.
#pragma once

#include <cmath>
#include <random>

#include "gsr/composition.hpp"
#include "gsr/dataset.hpp"
#include "gsr/evaluate.hpp"
#include "gsr/library.hpp"

namespace gsr::testing {

inline const Table& table() {
  static const Table all(builtin_transformations());
  return all;
}

// Columns drawn uniformly between `low` and `high`.
inline Columns drawn(Index n_rows, Index n_columns, double low, double high, unsigned seed = 1) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> uniform(low, high);
  Columns out(n_rows, n_columns);
  for (Index j = 0; j < n_columns; ++j)
    for (Index i = 0; i < n_rows; ++i) out[j][i] = uniform(random);
  return out;
}

inline Buffer values(const Basis& basis, const Dataset& data) {
  Buffer out(static_cast<std::size_t>(data.features.stride()), 0.0);
  Evaluator(data, table(), 1 << 16).evaluate(basis, out.data());
  return out;
}

inline composition::Tree feature(int f) {
  composition::Tree tree;
  tree.transformation = static_cast<std::int16_t>(table().identity());
  tree.operands = {composition::feature(f)};
  return tree;
}

// name(weight x_f), with a real constant inside.
inline composition::Tree scaled(const char* name, int f, double weight) {
  return composition::apply(table(), table().find(name),
                            composition::scaled(table(), feature(f), weight));
}

inline Basis product(const std::vector<composition::Tree>& factors) {
  Basis basis;
  if (!composition::write(factors, basis)) throw std::runtime_error("too large for a basis");
  return basis;
}

}  // namespace gsr::testing
