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

double not_finite(const double* x, Index n) {
  double sum = 0.0;
  for (Index i = 0; i < n; ++i) sum += x[i] - x[i];
  return sum;
}

constexpr Index kBlock = 1024;

}  // namespace

Evaluator::Evaluator(const Dataset& data, const Table& table, std::size_t max_bytes)
    : data_(data), table_(table) {
  const auto stride = static_cast<std::size_t>(data.features.stride());
  max_rows_ = std::max<std::size_t>(1, max_bytes / (stride * sizeof(double) + 128));
  // An own transformation sees all rows at once; a built-in one may see them in blocks.
  chunk_ = table.element_wise() ? static_cast<std::size_t>(kBlock) : stride;
  scratch_.resize(std::min(chunk_, stride));
}

// Long columns are worked through in blocks that stay in the first-level cache.
bool Evaluator::evaluate(const Basis& basis, double* out) {
  const Index n = data_.n_rows();
  const Index stride = data_.features.stride();
  if (kept_.size() > max_rows_) kept_.clear();
  std::size_t n_factors = 0;
  for (const Row& factor : basis)
    if (factor.transformation != table_.constant()) factors_[n_factors++] = hold(factor);
  if (n_factors == 0) {
    std::fill_n(out, n, 1.0);
    std::fill(out + n, out + stride, 0.0);
    return true;
  }
  double poison = 0.0;  // x - x is 0 for finite values and NaN otherwise, and the sum keeps a NaN
  for (Index start = 0; start < stride; start += kBlock) {
    const Index size = std::min(kBlock, stride - start);
    std::copy_n(factors_[0]->data() + start, size, out + start);
    for (std::size_t k = 1; k < n_factors; ++k)
      multiply_into(factors_[k]->data() + start, out + start, size);
    poison += not_finite(out + start, size);
  }
  return poison == 0.0;
}

// The values of a row, kept or made. Rows of one basis function are held together, so making room
// must not drop those in use: the limit is passed by a few.
const Buffer* Evaluator::hold(const Row& raw) {
  const Row key = canonical(raw, table_);
  const auto found = kept_.find(key);
  if (found != kept_.end()) return &found->second;

  const auto n = static_cast<std::size_t>(data_.n_rows());
  Buffer values(static_cast<std::size_t>(data_.features.stride()));
  const ElementWise& transform = table_[key.transformation].value;
  for (std::size_t start = 0; start < n; start += chunk_) {
    const std::size_t size = std::min(chunk_, n - start);
    transform(argument(key, start, size), values.data() + start, size);
  }
  std::fill(values.begin() + static_cast<std::ptrdiff_t>(n), values.end(), 0.0);
  return &kept_.emplace(key, std::move(values)).first->second;
}

// `row` is canonical: the variables in use come first.
const double* Evaluator::argument(const Row& row, std::size_t start, std::size_t size) {
  const double* first = data_.features[row.variables[0] - 1] + start;
  if (row.argument == ArgumentType::variable) return first;
  const auto n = static_cast<Index>(size);
  std::copy_n(first, n, scratch_.data());
  for (std::size_t k = 1; k < row.variables.size() && row.variables[k] != 0; ++k) {
    const double* next = data_.features[row.variables[k] - 1] + start;
    if (row.argument == ArgumentType::sum) {
      add_into(next, scratch_.data(), n);
    } else {
      multiply_into(next, scratch_.data(), n);
    }
  }
  return scratch_.data();
}

}  // namespace gsr
