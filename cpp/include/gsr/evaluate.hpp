// Values of basis functions on a data set. A row (transformation, argument) that comes up again is
// kept, so that most basis functions are products of kept rows.
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

 private:
  struct Factor {
    int row = 0;
    const double* kept = nullptr;  // its values, or nullptr: to be made block by block
  };
  struct Span {
    Index start, size;
  };

  void add_factor(int i);
  bool is_worth_keeping(const Row& row);
  const double* keep(int i);
  Index block_size() const;
  void multiply_factors(Span span, double* out);
  void evaluate_row(int i, Span span, double* out);
  const double* argument(int i, Span span);
  const double* operand(int v, int user, Span span);
  const Row& row(int i) const { return basis_.rows[i]; }
  double* scratch(std::size_t slot, Index size);

  const Dataset& data_;
  const Table& table_;
  std::size_t max_rows_;
  std::unordered_map<Row, Buffer, RowHash> kept_;
  std::array<std::size_t, 4096> seen_{};  // hashes of rows that came up lately
  Basis basis_;                           // being evaluated, its rows in canonical form
  std::array<Factor, kMaxRows> factors_{};
  std::size_t n_factors_ = 0;
  std::array<Buffer, 2 * kMaxRows + 1> scratch_;  // argument and operand of each row, one factor
};

}  // namespace gsr
