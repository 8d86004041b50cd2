#include "gsr/evaluate.hpp"

#include <algorithm>
#include <cmath>

namespace gsr {
namespace {

void multiply_into(const double* a, double* out, Index n) {
  for (Index i = 0; i < n; ++i) out[i] *= a[i];
}

void add_into(const double* a, double* out, Index n) {
  for (Index i = 0; i < n; ++i) out[i] += a[i];
}

}  // namespace

bool all_finite(const double* x, Index n) {
  // x - x is 0 for finite values and NaN otherwise, and the sum keeps a NaN.
  double sum = 0.0;
  for (Index i = 0; i < n; ++i) sum += x[i] - x[i];
  return sum == 0.0;
}

Evaluator::Evaluator(const Dataset& data, const Table& table, std::size_t max_bytes)
    : data_(data), table_(table) {
  const auto stride = static_cast<std::size_t>(data.features.stride());
  max_rows_ = std::max<std::size_t>(1, max_bytes / (stride * sizeof(double) + 128));
  scratch_.resize(stride);
}

bool Evaluator::evaluate(const Basis& basis, double* out) {
  const Index n = data_.n_rows();
  const Index stride = data_.features.stride();
  bool empty = true;
  for (const Row& factor : basis) {
    if (factor.transformation == table_.constant()) continue;
    const Buffer& values = row(factor);
    if (empty) {
      std::copy_n(values.data(), stride, out);
    } else {
      multiply_into(values.data(), out, stride);
    }
    empty = false;
  }
  if (empty) {
    std::fill_n(out, n, 1.0);
    std::fill(out + n, out + stride, 0.0);
  }
  return all_finite(out, stride);
}

const Buffer& Evaluator::row(const Row& raw) {
  const Row key = canonical(raw, table_);
  const auto found = kept_.find(key);
  if (found != kept_.end()) return found->second;
  if (kept_.size() >= max_rows_) kept_.clear();

  const auto n = static_cast<std::size_t>(data_.n_rows());
  Buffer values(static_cast<std::size_t>(data_.features.stride()), 0.0);
  table_[key.transformation].value(argument(key), values.data(), n);
  return kept_.emplace(key, std::move(values)).first->second;
}

// `row` is canonical: the variables in use come first.
const double* Evaluator::argument(const Row& row) {
  const double* first = data_.features[row.variables[0] - 1];
  if (row.argument == ArgumentType::variable) return first;
  const Index n = data_.n_rows();
  std::copy_n(first, n, scratch_.data());
  for (std::size_t k = 1; k < row.variables.size() && row.variables[k] != 0; ++k) {
    const double* next = data_.features[row.variables[k] - 1];
    if (row.argument == ArgumentType::sum) {
      add_into(next, scratch_.data(), n);
    } else {
      multiply_into(next, scratch_.data(), n);
    }
  }
  return scratch_.data();
}

}  // namespace gsr
