// Values of basis functions on a data set. A row (transformation, argument) is evaluated once and
// kept; a basis function is the product of kept rows.
#pragma once

#include <array>
#include <cstddef>
#include <unordered_map>

#include "gsr/dataset.hpp"
#include "gsr/encoding.hpp"

namespace gsr {

class Evaluator {
 public:
  // `max_bytes` bounds the kept rows; when it is reached they are dropped and built anew.
  Evaluator(const Dataset& data, const Table& table, std::size_t max_bytes);

  // Writes phi(x_1..N) to `out` (padded with zeros) and tells whether all values are finite.
  bool evaluate(const Basis& basis, double* out);

  std::size_t rows_kept() const { return kept_.size(); }

 private:
  const Buffer* hold(const Row& row);
  const double* argument(const Row& row, std::size_t start, std::size_t size);

  const Dataset& data_;
  const Table& table_;
  std::size_t max_rows_;
  std::size_t chunk_;
  Buffer scratch_;
  std::array<const Buffer*, kMaxRows> factors_{};
  std::unordered_map<Row, Buffer, RowHash> kept_;
};

}  // namespace gsr
