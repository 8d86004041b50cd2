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

// x - x is 0 for finite values and NaN otherwise, and a sum keeps a NaN. Eight sums, since additions
// in a row would wait for each other.
double not_finite(const double* x, Index n) {
  double sums[8] = {};
  Index i = 0;
  for (; i + 8 <= n; i += 8)
    for (Index k = 0; k < 8; ++k) sums[k] += x[i + k] - x[i + k];
  for (; i < n; ++i) sums[0] += x[i] - x[i];
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

constexpr Index kBlock = 1024;

}  // namespace

Evaluator::Evaluator(const Dataset& data, const Table& table, std::size_t max_bytes)
    : data_(data), table_(table) {
  const auto stride = static_cast<std::size_t>(data.features.stride());
  max_rows_ = std::max<std::size_t>(1, max_bytes / (stride * sizeof(double) + 128));
  const auto block = std::min(static_cast<std::size_t>(kBlock), stride);
  argument_.resize(block);
  block_.resize(block);
}

// Columns are worked through in blocks that stay in the first-level cache.
bool Evaluator::evaluate(const Basis& basis, double* out) {
  if (kept_.size() > max_rows_) kept_.clear();
  n_factors_ = 0;
  for (const Row& row : basis)
    if (row.transformation != table_.constant()) add_factor(row);

  const Index n = data_.n_rows();
  double poison = 0.0;
  for (Index start = 0; start < n; start += kBlock) {
    const Index size = std::min(kBlock, n - start);
    multiply_factors(start, size, out + start);
    poison += not_finite(out + start, size);
  }
  std::fill(out + n, out + data_.features.stride(), 0.0);
  return poison == 0.0;
}

void Evaluator::add_factor(const Row& raw) {
  Factor& factor = factors_[n_factors_++];
  factor.row = canonical(raw, table_);
  const auto found = kept_.find(factor.row);
  if (found != kept_.end()) {
    factor.kept = found->second.data();
  } else {
    factor.kept = is_worth_keeping(factor.row) ? keep(factor.row) : nullptr;
  }
}

// Many rows come up once and never again: keeping them costs more memory traffic than their values.
// An own transformation sees whole columns, so its rows are kept at once.
bool Evaluator::is_worth_keeping(const Row& row) {
  if (table_[row.transformation].custom) return true;
  const std::size_t hash = RowHash()(row) | 1;  // never the empty slot
  std::size_t& slot = seen_[(hash >> 8) % seen_.size()];
  const bool again = slot == hash;
  slot = hash;
  return again;
}

const double* Evaluator::keep(const Row& row) {
  const Index n = data_.n_rows();
  Buffer values(static_cast<std::size_t>(data_.features.stride()), 0.0);
  const Index block = table_[row.transformation].custom ? n : kBlock;
  for (Index start = 0; start < n; start += block)
    evaluate_row(row, start, std::min(block, n - start), values.data() + start);
  return kept_.emplace(row, std::move(values)).first->second.data();
}

void Evaluator::multiply_factors(Index start, Index size, double* out) {
  if (n_factors_ == 0) std::fill_n(out, size, 1.0);
  for (std::size_t k = 0; k < n_factors_; ++k) {
    const Factor& factor = factors_[k];
    const double* values = factor.kept == nullptr ? nullptr : factor.kept + start;
    if (k == 0) {
      values == nullptr ? evaluate_row(factor.row, start, size, out)
                        : static_cast<void>(std::copy_n(values, size, out));
      continue;
    }
    if (values == nullptr) {
      evaluate_row(factor.row, start, size, block_.data());
      values = block_.data();
    }
    multiply_into(values, out, size);
  }
}

void Evaluator::evaluate_row(const Row& row, Index start, Index size, double* out) {
  table_[row.transformation].value(argument(row, start, size), out,
                                   static_cast<std::size_t>(size));
}

// `row` is canonical: the variables in use come first.
const double* Evaluator::argument(const Row& row, Index start, Index size) {
  const double* first = data_.features[row.variables[0] - 1] + start;
  if (row.argument == ArgumentType::variable) return first;
  if (argument_.size() < static_cast<std::size_t>(size)) argument_.resize(static_cast<std::size_t>(size));
  std::copy_n(first, size, argument_.data());
  for (std::size_t k = 1; k < row.variables.size() && row.variables[k] != 0; ++k) {
    const double* next = data_.features[row.variables[k] - 1] + start;
    if (row.argument == ArgumentType::sum) {
      add_into(next, argument_.data(), size);
    } else {
      multiply_into(next, argument_.data(), size);
    }
  }
  return argument_.data();
}

}  // namespace gsr
