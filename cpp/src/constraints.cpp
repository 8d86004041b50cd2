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
      rows_[i] = *dimension;
      if (!basis_.is_inner(i)) whole.add(*dimension);
    }
    return whole;
  }

 private:
  Dimension operand(int v) const {
    if (v == kOne) return {};
    return v > kOne ? rows_[v - kOne - 1] : leaf_(v);
  }

  std::optional<Dimension> row(int i) const {
    const Row& row = basis_.rows[i];
    const Transformation& t = table_[row.code()];
    if (row.code() == table_.constant()) return Dimension{};
    const auto inside = row.argument == ArgumentType::product ? product(row) : sum(row, i);
    if (!inside) return std::nullopt;
    const double power = t.name == "abs" ? 1.0 : t.power;  // |u| has the unit of u
    if (power == 0.0) {  // no power: it takes a pure number
      if (!inside->any && !inside->is_one()) return std::nullopt;
      return Dimension{};
    }
    Dimension out;
    out.add(*inside, row.reciprocal() ? -power : power);
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
  for (const std::int16_t v : basis.rows[i].variables) {
    const int operand = std::abs(v);
    if (operand > kOne) collect_features(basis, operand - kOne - 1, out);
    if (operand > 0 && operand < kOne) out.insert(operand);
  }
}

using Powers = std::map<int, double>;

// Powers of the features in row i raised to a power. In a sum each feature counts as if it stood
// alone: (x + 1)(x + 2) is a square of x, too.
void collect_powers(const Basis& basis, const Table& table, int i, double power, Powers& out);

void collect_operands(const Basis& basis, const Table& table, int i, double power, Powers& out) {
  const Row& row = basis.rows[i];
  const bool product = row.argument == ArgumentType::product;
  Powers largest;
  for (const std::int16_t v : row.variables) {
    const int operand = std::abs(v);
    if (operand == 0 || operand == kOne) continue;
    Powers& into = product ? out : largest;
    Powers found;
    const double here = product && v < 0 ? -power : power;
    if (operand > kOne) {
      collect_powers(basis, table, operand - kOne - 1, here, found);
    } else {
      found[operand] = here;
    }
    for (const auto& [feature, p] : found) {
      double& sofar = into[feature];
      sofar = product ? sofar + p : std::abs(p) > std::abs(sofar) ? p : sofar;
    }
  }
  for (const auto& [feature, p] : largest) out[feature] += p;
}

void collect_powers(const Basis& basis, const Table& table, int i, double power, Powers& out) {
  const Row& row = basis.rows[i];
  const double q = table[row.code()].power;
  if (q != 0.0) collect_operands(basis, table, i, row.reciprocal() ? -q * power : q * power, out);
}

bool admits_powers(const Powers& powers, const std::vector<Forbidden>& forbidden) {
  return std::all_of(powers.begin(), powers.end(), [&](const auto& entry) {
    const Forbidden& rule = forbidden[entry.first - 1];
    const double size = std::abs(entry.second);
    const bool whole = std::abs(size - std::round(size)) < kSame;
    const auto n = static_cast<int>(std::lround(size));
    return !(entry.second < -kSame && rule.division) &&
           !(whole && n >= 2 && n % 2 == 0 && rule.squares) &&
           !(whole && n >= 3 && n % 2 == 1 && rule.cubes);
  });
}

// Powers in the product as a whole, and inside every argument.
bool admits_all_powers(const Basis& basis, const Table& table,
                       const std::vector<Forbidden>& forbidden) {
  Powers whole;
  for (int i = 0; i < basis.size; ++i) {
    if (!basis.is_inner(i)) collect_powers(basis, table, i, 1.0, whole);
    Powers inside;
    collect_operands(basis, table, i, 1.0, inside);
    if (!admits_powers(inside, forbidden)) return false;
  }
  return admits_powers(whole, forbidden);
}

bool admits_transformations(const Basis& basis, const Table& table,
                            const std::vector<Forbidden>& forbidden) {
  if (!admits_all_powers(basis, table, forbidden)) return false;
  for (int i = 0; i < basis.size; ++i) {
    const Row& row = basis.rows[i];
    std::set<int> features;
    collect_features(basis, i, features);
    for (const int f : features) {
      const Forbidden& rule = forbidden[f - 1];
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
  const auto leaf = [this](int v) { return units->features[v - 1]; };
  return DimensionReader(phi, table, leaf, units->constants_carry_units).read();
}

std::optional<Dimension> Constraints::target_dimension(const Basis& psi, const Table& table) const {
  const auto leaf = [this](int) { return units->target; };
  return DimensionReader(psi, table, leaf, units->constants_carry_units).read();
}

bool Constraints::admits(const Basis& phi, const Table& table) const {
  if (!forbidden.empty() && !admits_transformations(phi, table, forbidden)) return false;
  return !units || dimension(phi, table).has_value();
}

bool Constraints::admits_target(const Basis& psi, const Table& table) const {
  if (!forbidden_target.empty() && !admits_transformations(psi, table, forbidden_target))
    return false;
  return !units || target_dimension(psi, table).has_value();
}

bool Constraints::admits_law(const Law& law, const Table& table, const Table& target_table) const {
  int n_terms = 0;
  for (const Basis& phi : law.phi) {
    if (!admits(phi, table)) return false;
    n_terms += is_constant(phi, table) ? 0 : 1;
  }
  for (const Basis& psi : law.psi)
    if (!admits_target(psi, target_table)) return false;
  const auto has = [&](const Basis& wanted) {
    return std::find(law.phi.begin(), law.phi.end(), wanted) != law.phi.end();
  };
  if (!std::all_of(required.begin(), required.end(), has) || !admits_size(law, n_terms))
    return false;
  if (!restricts_units() || law.psi.empty()) return true;
  const Dimension wanted = *target_dimension(law.psi[0], target_table);
  return std::all_of(law.psi.begin(), law.psi.end(),
                     [&](const Basis& psi) {
                       return target_dimension(psi, target_table)->matches(wanted);
                     }) &&
         std::all_of(law.phi.begin(), law.phi.end(),
                     [&](const Basis& phi) { return dimension(phi, table)->matches(wanted); });
}

bool Constraints::admits_size(const Law& law, int n_terms) const {
  return (max_terms == 0 || n_terms <= max_terms) &&
         (max_complexity == 0 || law.complexity <= max_complexity);
}

}  // namespace gsr
