// Exact derivatives of basis functions with respect to the real constants inside them: one forward
// pass over the rows, one backward pass by the chain rule.
#pragma once

#include <array>

#include "gsr/dataset.hpp"
#include "gsr/encoding.hpp"

namespace gsr {

class Gradient {
 public:
  Gradient(const Dataset& data, const Table& table) : data_(data), table_(table) {}

  // Whether every transformation in the basis function has a derivative of its own.
  bool covers(const Basis& basis) const;
  // Column k of `out` becomes the derivative with respect to weight k; rows where it is not finite
  // (x^p at x = 0) count as 0.
  void evaluate(const Basis& basis, Columns& out);

 private:
  struct RowValues {
    Buffer argument, value, adjoint;
  };

  void forward(const Basis& basis);
  void fill_argument(const Basis& basis, int i);
  void seed(const Basis& basis);
  void backward(const Basis& basis, int i, Columns& out);
  void to_argument(const Row& row, RowValues& values);
  void pass_on(const Basis& basis, int i, int position, Columns& out);
  const double* operand(int v) const;

  const Dataset& data_;
  const Table& table_;
  std::array<RowValues, kMaxRows> rows_;
  Buffer ones_, slope_;
};

}  // namespace gsr
