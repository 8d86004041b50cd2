#include "gsr/constraints.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

namespace gsr {
namespace {

constexpr double kSame = 1e-9;
using Leaf = std::function<Dimension(int)>;

// The dimensions of rows, from the last up: a row refers to rows below it only.
class DimensionReader {
 public:
  DimensionReader(const Basis& basis, const Table& table, Leaf leaf, bool wild)
      : basis_(basis), table_(table), leaf_(std::move(leaf)), wild_(wild) {}

  std::optional<Dimension> read() {
    Dimension whole;
    for (int i = basis_.size - 1; i >= 0; --i) {
      const auto dimension = row(i);
      if (!dimension) return std::nullopt;
      rows_[static_cast<std::size_t>(i)] = *dimension;
      if (!basis_.is_inner(i)) whole.add(*dimension);
    }
    return whole;
  }

 private:
  Dimension operand(int v) const {
    if (v == kOne) return {};
    return v > kOne ? rows_[static_cast<std::size_t>(v - kOne - 1)] : leaf_(v);
  }

  std::optional<Dimension> row(int i) const {
    const Row& row = basis_.rows[static_cast<std::size_t>(i)];
    const Transformation& t = table_[row.code()];
    if (row.code() == table_.constant()) return Dimension{};
    const auto inside = row.argument == ArgumentType::product ? product(row) : sum(row, i);
    if (!inside) return std::nullopt;
    if (t.power == 0.0) {  // no power: it takes a pure number
      if (!inside->any && !inside->is_one()) return std::nullopt;
      return Dimension{};
    }
    Dimension out;
    out.add(*inside, row.reciprocal() ? -t.power : t.power);
    return out;
  }

  std::optional<Dimension> product(const Row& row) const {
    Dimension out;
    for (const std::int16_t v : row.variables)
      if (v != 0) out.add(operand(std::abs(v)), v < 0 ? -1.0 : 1.0);
    return out;
  }

  // A lone variable is a sum of one.
  std::optional<Dimension> sum(const Row& row, int i) const {
    auto weight = static_cast<std::size_t>(basis_.first_weight(i));
    std::optional<Dimension> out;
    for (const std::int16_t v : row.variables) {
      if (v == 0) continue;
      Dimension term = operand(std::abs(v));
      if (row.argument == ArgumentType::weighted && basis_.weights[weight++] != 1.0 && wild_)
        term.any = true;
      if (row.argument == ArgumentType::variable) return term;
      if (out && !out->matches(term)) return std::nullopt;
      if (!out || out->any) out = term;
    }
    return out;
  }

  const Basis& basis_;
  const Table& table_;
  Leaf leaf_;
  bool wild_;
  std::array<Dimension, kMaxRows> rows_{};
};

// Features that row i is a function of, through the rows that it uses.
void collect_features(const Basis& basis, int i, std::set<int>& out) {
  for (const std::int16_t v : basis.rows[static_cast<std::size_t>(i)].variables) {
    const int operand = std::abs(v);
    if (operand > kOne) collect_features(basis, operand - kOne - 1, out);
    if (operand > 0 && operand < kOne) out.insert(operand);
  }
}

// Powers that a product writes without a transformation: x x is a square, 1/x a division.
bool admits_powers(const Row& row, const std::vector<Forbidden>& forbidden) {
  if (row.argument != ArgumentType::product) return true;
  std::map<int, int> powers;
  for (const std::int16_t v : row.variables)
    if (v != 0 && std::abs(v) < kOne) powers[std::abs(v)] += v > 0 ? 1 : -1;
  return std::all_of(powers.begin(), powers.end(), [&](const auto& entry) {
    const Forbidden& rule = forbidden[static_cast<std::size_t>(entry.first - 1)];
    const int size = std::abs(entry.second);
    return !(entry.second < 0 && rule.division) && !(size == 2 && rule.squares) &&
           !(size > 2 && rule.cubes);
  });
}

bool admits_transformations(const Basis& basis, const std::vector<Forbidden>& forbidden) {
  for (int i = 0; i < basis.size; ++i) {
    const Row& row = basis.rows[static_cast<std::size_t>(i)];
    if (!admits_powers(row, forbidden)) return false;
    std::set<int> features;
    collect_features(basis, i, features);
    for (const int f : features) {
      const Forbidden& rule = forbidden[static_cast<std::size_t>(f - 1)];
      const auto code = static_cast<std::size_t>(row.code());
      if (!rule.codes.empty() && rule.codes[code]) return false;
      if (row.reciprocal() && rule.division) return false;
    }
  }
  return true;
}

}  // namespace

bool Dimension::is_one() const {
  return !any && std::all_of(exponents.begin(), exponents.end(),
                             [](double e) { return std::abs(e) <= kSame; });
}

bool Dimension::matches(const Dimension& other) const {
  if (any || other.any) return true;
  for (std::size_t k = 0; k < exponents.size(); ++k)
    if (std::abs(exponents[k] - other.exponents[k]) > kSame) return false;
  return true;
}

Dimension& Dimension::add(const Dimension& other, double times) {
  any = any || other.any;
  for (std::size_t k = 0; k < exponents.size(); ++k) exponents[k] += times * other.exponents[k];
  return *this;
}

std::optional<Dimension> Constraints::dimension(const Basis& phi, const Table& table) const {
  const auto leaf = [this](int v) { return units->features[static_cast<std::size_t>(v - 1)]; };
  return DimensionReader(phi, table, leaf, units->constants_carry_units).read();
}

std::optional<Dimension> Constraints::target_dimension(const Basis& psi, const Table& table) const {
  const auto leaf = [this](int) { return units->target; };
  return DimensionReader(psi, table, leaf, units->constants_carry_units).read();
}

bool Constraints::admits(const Basis& phi, const Table& table) const {
  if (!forbidden.empty() && !admits_transformations(phi, forbidden)) return false;
  return !units || dimension(phi, table).has_value();
}

bool Constraints::admits_target(const Basis& psi, const Table& table) const {
  return !units || target_dimension(psi, table).has_value();
}

bool Constraints::admits_size(const Law& law, int n_terms) const {
  return (max_terms == 0 || n_terms <= max_terms) &&
         (max_complexity == 0 || law.complexity <= max_complexity);
}

}  // namespace gsr
