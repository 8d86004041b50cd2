#include "gsr/evaluate.hpp"

#include <algorithm>
#include <cmath>

namespace gsr {
namespace {

void multiply_into(const double* a, double* out, Index n) {
  for (Index i = 0; i < n; ++i) out[i] *= a[i];
}

void divide_into(const double* a, double* out, Index n) {
  for (Index i = 0; i < n; ++i) out[i] /= a[i];
}

void add_into(const double* a, double* out, Index n) {
  for (Index i = 0; i < n; ++i) out[i] += a[i];
}

void add_into(const double* a, double weight, double* out, Index n) {
  for (Index i = 0; i < n; ++i) out[i] += weight * a[i];
}

// x - x is 0 for finite values and NaN otherwise, and a sum keeps a NaN. Eight sums, since
// additions in a row would wait for each other.
double not_finite(const double* x, Index n) {
  double sums[8] = {};
  Index i = 0;
  for (; i + 8 <= n; i += 8)
    for (Index k = 0; k < 8; ++k) sums[k] += x[i + k] - x[i + k];
  for (; i < n; ++i) sums[0] += x[i] - x[i];
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

constexpr Index kBlock = 1024;
constexpr std::size_t kFactorSlot = 2 * kMaxRows;

}  // namespace

Evaluator::Evaluator(const Dataset& data, const Table& table, std::size_t max_bytes)
    : data_(data), table_(table) {
  const auto stride = static_cast<std::size_t>(data.features.stride());
  max_rows_ = std::max<std::size_t>(1, max_bytes / (stride * sizeof(double) + 128));
}

// Columns are worked through in blocks that stay in the first-level cache.
bool Evaluator::evaluate(const Basis& basis, double* out) {
  if (kept_.size() > max_rows_) kept_.clear();
  basis_ = basis;
  for (Row& row : basis_) row = canonical(row, table_);
  const bool plain = basis_.is_plain();
  n_factors_ = 0;
  for (int i = 0; i < basis.size; ++i)
    if (row(i).code() != table_.constant() && (plain || !basis_.is_inner(i))) add_factor(i);

  const Index n = data_.n_rows();
  const Index block = block_size();
  double poison = 0.0;
  for (Index start = 0; start < n; start += block) {
    const Index size = std::min(block, n - start);
    multiply_factors({start, size}, out + start);
    poison += not_finite(out + start, size);
  }
  std::fill(out + n, out + data_.features.stride(), 0.0);
  return poison == 0.0;
}

void Evaluator::add_factor(int i) {
  Factor& factor = factors_[n_factors_++];
  factor = {i, nullptr};
  if (!row(i).self_contained()) return;
  const auto found = kept_.find(row(i));
  if (found != kept_.end()) {
    factor.kept = found->second.data();
  } else if (is_worth_keeping(row(i))) {
    factor.kept = keep(i);
  }
}

// Many rows come up once and never again: keeping them costs more memory traffic than their values.
// An own transformation sees whole columns, so its rows are kept at once.
bool Evaluator::is_worth_keeping(const Row& row) {
  if (table_[row.code()].custom) return true;
  const std::size_t hash = RowHash()(row) | 1;  // never the empty slot
  std::size_t& slot = seen_[(hash >> 8) % seen_.size()];
  const bool again = slot == hash;
  slot = hash;
  return again;
}

const double* Evaluator::keep(int i) {
  const Index n = data_.n_rows();
  Buffer values(data_.features.stride(), 0.0);
  const Index block = table_[row(i).code()].custom ? n : kBlock;
  for (Index start = 0; start < n; start += block)
    evaluate_row(i, {start, std::min(block, n - start)}, values.data() + start);
  return kept_.emplace(row(i), std::move(values)).first->second.data();
}

// An own transformation that is not kept sees whole columns too.
Index Evaluator::block_size() const {
  const bool whole = !basis_.is_plain() &&
                     std::any_of(basis_.begin(), basis_.end(),
                                 [&](const Row& each) { return table_[each.code()].custom; });
  return whole ? data_.n_rows() : kBlock;
}

void Evaluator::multiply_factors(Span span, double* out) {
  if (n_factors_ == 0) std::fill_n(out, span.size, 1.0);
  for (std::size_t k = 0; k < n_factors_; ++k) {
    const Factor& factor = factors_[k];
    const double* values = factor.kept == nullptr ? nullptr : factor.kept + span.start;
    if (k == 0) {
      values == nullptr ? evaluate_row(factor.row, span, out)
                        : static_cast<void>(std::copy_n(values, span.size, out));
      continue;
    }
    if (values == nullptr) {
      double* made = scratch(kFactorSlot, span.size);
      evaluate_row(factor.row, span, made);
      values = made;
    }
    multiply_into(values, out, span.size);
  }
}

void Evaluator::evaluate_row(int i, Span span, double* out) {
  const Row& row = this->row(i);
  if (row.code() == table_.constant()) {
    std::fill_n(out, span.size, 1.0);
    return;
  }
  table_[row.code()].value(argument(i, span), out, static_cast<std::size_t>(span.size));
  if (!row.reciprocal()) return;
  for (Index k = 0; k < span.size; ++k) out[k] = 1.0 / out[k];
}

const double* Evaluator::argument(int i, Span span) {
  const Row& row = this->row(i);
  const bool product = row.argument == ArgumentType::product;
  const bool lone = row.argument == ArgumentType::variable;
  if (lone && row.variables[0] > 0) return operand(row.variables[0], i, span);
  double* out = scratch(2 * static_cast<std::size_t>(i), span.size);
  auto weight = static_cast<std::size_t>(basis_.first_weight(i));
  bool first = true;
  for (const std::int16_t v : row.variables) {
    if (v == 0) continue;
    const double* next = operand(std::abs(v), i, span);
    if (row.argument == ArgumentType::weighted) {
      if (first) std::fill_n(out, span.size, 0.0);
      add_into(next, basis_.weights[weight++], out, span.size);
    } else if (first && v > 0) {
      std::copy_n(next, span.size, out);
    } else if (product) {
      if (first) std::fill_n(out, span.size, 1.0);
      v > 0 ? multiply_into(next, out, span.size) : divide_into(next, out, span.size);
    } else {
      if (first) std::fill_n(out, span.size, 0.0);
      v > 0 ? add_into(next, out, span.size) : add_into(next, -1.0, out, span.size);
    }
    first = false;
    if (lone) break;
  }
  return out;
}

const double* Evaluator::operand(int v, int user, Span span) {
  if (v < kOne) return data_.features[v - 1] + span.start;
  double* out = scratch(2 * static_cast<std::size_t>(user) + 1, span.size);
  if (v == kOne) {
    std::fill_n(out, span.size, 1.0);
  } else {
    evaluate_row(v - kOne - 1, span, out);
  }
  return out;
}

// Values of row i's argument lie in slot 2 i, those of its current operand in slot 2 i + 1.
double* Evaluator::scratch(std::size_t slot, Index size) {
  Buffer& buffer = scratch_[slot];
  if (buffer.size() < static_cast<std::size_t>(size)) buffer.resize(padded(size));
  return buffer.data();
}

}  // namespace gsr
