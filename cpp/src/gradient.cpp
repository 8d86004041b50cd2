#include "gsr/gradient.hpp"

#include <algorithm>
#include <cmath>

namespace gsr {

bool Gradient::covers(const Basis& basis) const {
  return std::all_of(basis.begin(), basis.end(), [&](const Row& row) {
    return static_cast<bool>(table_[row.code()].derivative);
  });
}

void Gradient::evaluate(const Basis& basis, Columns& out) {
  const auto n = static_cast<std::size_t>(data_.n_rows());
  out.resize(data_.n_rows(), basis.n_weights());
  if (ones_.size() != n) ones_.assign(n, 1.0);
  slope_.resize(n);
  forward(basis);
  seed(basis);
  for (int i = 0; i < basis.size; ++i) backward(basis, i, out);
  for (Index k = 0; k < out.n_columns(); ++k)
    for (std::size_t r = 0; r < n; ++r)
      if (!std::isfinite(out[k][r])) out[k][r] = 0.0;
}

const double* Gradient::operand(int v) const {
  const int size = std::abs(v);
  if (size < kOne) return data_.features[size - 1];
  if (size == kOne) return ones_.data();
  return rows_[size - kOne - 1].value.data();
}

// Rows refer to rows below them only.
void Gradient::forward(const Basis& basis) {
  const auto n = static_cast<std::size_t>(data_.n_rows());
  for (int i = basis.size - 1; i >= 0; --i) {
    const Row& row = basis.rows[i];
    RowValues& values = rows_[i];
    values.argument.assign(n, 0.0);
    values.value.assign(n, 1.0);
    values.adjoint.assign(n, 0.0);
    if (row.code() == table_.constant()) continue;
    fill_argument(basis, i);
    table_[row.code()].value(values.argument.data(), values.value.data(), n);
    if (!row.reciprocal()) continue;
    for (double& v : values.value) v = 1.0 / v;
  }
}

void Gradient::fill_argument(const Basis& basis, int i) {
  const Row& row = basis.rows[i];
  Buffer& out = rows_[i].argument;
  const bool product = row.argument == ArgumentType::product;
  if (product) std::fill(out.begin(), out.end(), 1.0);
  auto weight = static_cast<std::size_t>(basis.first_weight(i));
  for (const std::int16_t v : row.variables) {
    if (v == 0) continue;
    const double* next = operand(v);
    double factor = v < 0 ? -1.0 : 1.0;
    if (row.argument == ArgumentType::weighted) factor = basis.weights[weight++];
    for (std::size_t r = 0; r < out.size(); ++r) {
      if (!product) {
        out[r] += factor * next[r];
      } else {
        out[r] = v > 0 ? out[r] * next[r] : out[r] / next[r];
      }
    }
    if (row.argument == ArgumentType::variable) break;
  }
}

// The derivative of the product with respect to each of its factors.
void Gradient::seed(const Basis& basis) {
  for (int i = 0; i < basis.size; ++i) {
    if (basis.is_inner(i)) continue;
    Buffer& adjoint = rows_[i].adjoint;
    std::fill(adjoint.begin(), adjoint.end(), 1.0);
    for (int other = 0; other < basis.size; ++other) {
      if (other == i || basis.is_inner(other)) continue;
      const Buffer& value = rows_[other].value;
      for (std::size_t r = 0; r < adjoint.size(); ++r) adjoint[r] *= value[r];
    }
  }
}

// From the derivative with respect to a row's value to that with respect to its argument.
void Gradient::to_argument(const Row& row, RowValues& values) {
  table_[row.code()].derivative(values.argument.data(), slope_.data(), slope_.size());
  for (std::size_t r = 0; r < slope_.size(); ++r) {
    values.adjoint[r] *= slope_[r];
    if (row.reciprocal()) values.adjoint[r] *= -values.value[r] * values.value[r];
  }
}

void Gradient::backward(const Basis& basis, int i, Columns& out) {
  const Row& row = basis.rows[i];
  const bool ends_here = row.argument != ArgumentType::weighted && !row.refers_to_rows();
  if (row.code() == table_.constant() || ends_here) return;
  to_argument(row, rows_[i]);
  for (int position = 0; position < kMaxVariables; ++position) {
    if (row.variables[position] == 0) continue;
    pass_on(basis, i, position, out);
    if (row.argument == ArgumentType::variable) return;
  }
}

// To the weight of an operand, and to the operand itself if it is a row.
void Gradient::pass_on(const Basis& basis, int i, int position, Columns& out) {
  const Row& row = basis.rows[i];
  const RowValues& values = rows_[i];
  const int v = row.variables[position];
  double factor = v < 0 ? -1.0 : 1.0;
  if (row.argument == ArgumentType::weighted) {
    int place = basis.first_weight(i);
    for (int before = 0; before < position; ++before) place += row.variables[before] != 0 ? 1 : 0;
    const double* value = operand(v);
    double* column = out[place];
    for (std::size_t r = 0; r < values.adjoint.size(); ++r)
      column[r] += values.adjoint[r] * value[r];
    factor = basis.weights[place];
  }
  if (std::abs(v) <= kOne) return;
  RowValues& inner = rows_[std::abs(v) - kOne - 1];
  const bool product = row.argument == ArgumentType::product;
  for (std::size_t r = 0; r < inner.adjoint.size(); ++r)
    inner.adjoint[r] +=
        values.adjoint[r] * factor * (product ? values.argument[r] / inner.value[r] : 1.0);
}

}  // namespace gsr
