#include "gsr/variation.hpp"

#include <algorithm>
#include <numeric>

namespace gsr {
namespace {

constexpr int kTriesPerSlot = 6;

int pick(Random& random, const std::vector<int>& codes) {
  return codes[random.integer(0, static_cast<int>(codes.size()) - 1)];
}

void shuffle(Random& random, std::vector<int>& order) {
  for (int i = static_cast<int>(order.size()) - 1; i > 0; --i)
    std::swap(order[i], order[random.integer(0, i)]);
}

std::vector<int> random_order(Random& random, std::size_t n) {
  std::vector<int> order(n);
  std::iota(order.begin(), order.end(), 0);
  shuffle(random, order);
  return order;
}

Row random_row(Random& random, const std::vector<int>& codes, int n_features,
               const Settings& settings) {
  Row row;
  row.transformation = static_cast<std::int16_t>(pick(random, codes));
  row.argument = static_cast<ArgumentType>(random.integer(0, 2));
  const int n_v = random.integer(settings.min_multiplicity, settings.max_multiplicity);
  row.variables[0] = static_cast<std::int16_t>(random.integer(1, n_features));
  for (int k = 1; k < n_v; ++k)
    row.variables[k] = static_cast<std::int16_t>(random.integer(0, n_features));
  return row;
}

constexpr double kWidened = 0.35;    // basis functions that use more than the paper's encoding
constexpr double kReciprocal = 0.2;  // of their rows
constexpr double kNegative = 0.3;    // of their operands
constexpr double kUnit = 0.25;       // of their sums
constexpr double kComposed = 0.2;    // of their rows

void change_signs(Random& random, const Settings& settings, Row& row) {
  const bool allowed = row.argument == ArgumentType::sum       ? settings.differences
                       : row.argument == ArgumentType::product ? settings.division
                                                               : false;
  if (!allowed) return;
  for (std::size_t k = 1; k < row.variables.size(); ++k)
    if (random.uniform() < kNegative)
      row.variables[k] = static_cast<std::int16_t>(-row.variables[k]);
}

// Division, differences, the number 1 and one row inside another, where the settings allow them.
void widen(Random& random, const std::vector<int>& codes, int n_features, const Settings& settings,
           Basis& basis) {
  const int n = basis.size;
  for (int i = 0; i < n; ++i) {
    Row& row = basis.rows[i];
    change_signs(random, settings, row);
    if (settings.division && random.uniform() < kReciprocal)
      row.transformation = static_cast<std::int16_t>(-row.transformation);
    if (settings.one && row.argument == ArgumentType::sum && random.uniform() < kUnit)
      row.variables[1] =
          random.uniform() < 0.5 || !settings.differences ? kOne : static_cast<std::int16_t>(-kOne);
    if (settings.depth < 2 || basis.size == kMaxRows || random.uniform() >= kComposed) continue;
    Row inner = random_row(random, codes, n_features, settings);
    change_signs(random, settings, inner);
    basis.push(inner);
    basis.rows[i].variables[0] = static_cast<std::int16_t>(kOne + basis.size);
  }
}

bool is_wide(const Settings& s) { return s.division || s.differences || s.one || s.depth > 1; }

void inherit(Random& random, const std::vector<Basis>& a, const std::vector<Basis>& b,
             BasisSet& set) {
  const int n_a = static_cast<int>(a.size());
  for (const int i : random_order(random, a.size() + b.size()))
    set.add(i < n_a ? a[i] : b[i - n_a]);
}

// L_x, L_poly, L_trig in turn; longer stages later on.
std::vector<int> x_codes(int generation, const Table& table, const Settings& s) {
  if (!s.sublibraries || generation == 0) return table.all();
  const bool late = generation > s.late_after;
  const int full = late ? s.late_stage : s.cycle_full;
  const int polynomial = late ? s.late_stage : s.cycle_polynomial;
  const int trigonometric = late ? s.late_stage : s.cycle_trigonometric;
  const int start = late ? s.late_after : 0;
  const int place = (generation - start - 1) % (full + polynomial + trigonometric);
  if (place < full) return table.all();
  return place < full + polynomial ? table.polynomial() : table.trigonometric();
}

// L_poly and L_y in turn.
std::vector<int> y_codes(int generation, const Table& table, const Settings& s) {
  if (!s.transform_target) return {table.identity()};
  if (!s.sublibraries || generation == 0) return table.all();
  return (generation - 1) / s.target_stage % 2 == 0 ? table.polynomial() : table.all();
}

}  // namespace

Basis random_basis(Random& random, const std::vector<int>& codes, int n_features,
                   const Settings& settings) {
  Basis basis;
  const int n = random.integer(settings.min_factors, settings.max_factors);
  for (int i = 0; i < n; ++i) basis.push(random_row(random, codes, n_features, settings));
  if (is_wide(settings) && random.uniform() < kWidened)
    widen(random, codes, n_features, settings, basis);
  return basis;
}

Basis random_target_basis(Random& random, const std::vector<int>& codes, const Settings& settings) {
  Basis basis;
  for (int i = 0; i < settings.n_target_factors; ++i) {
    Row row;
    row.transformation = static_cast<std::int16_t>(pick(random, codes));
    row.variables[0] = 1;
    basis.push(row);
  }
  return basis;
}

void complete_at_random(Random& random, const Sublibrary& sublibrary, const Problem& problem,
                        BasisSet& phi, BasisSet& psi) {
  const Settings& settings = problem.settings;
  for (int i = 0; i < kTriesPerSlot * psi.capacity() + 10 && !psi.full(); ++i)
    psi.add(random_target_basis(random, sublibrary.y, settings));
  for (int i = 0; i < kTriesPerSlot * phi.capacity() && !phi.full(); ++i)
    phi.add(random_basis(random, sublibrary.x, problem.x.n_features(), settings));
}

void crossover(Random& random, const Individual& a, const Individual& b, BasisSet& phi,
               BasisSet& psi) {
  inherit(random, a.phi, b.phi, phi);
  inherit(random, a.psi, b.psi, psi);
}

void keep_unmutated(Random& random, const Individual& parent, int n_mutated, BasisSet& phi,
                    BasisSet& psi) {
  const std::size_t n_phi = parent.phi.size();
  const std::vector<int> order = random_order(random, n_phi + parent.psi.size());
  for (std::size_t i = static_cast<std::size_t>(n_mutated); i < order.size(); ++i) {
    const auto j = static_cast<std::size_t>(order[i]);
    if (j < n_phi) {
      phi.add(parent.phi[j]);
    } else {
      psi.add(parent.psi[j - n_phi]);
    }
  }
}

Sublibrary choose_sublibrary(int generation, const Problem& problem) {
  return {x_codes(generation, problem.table, problem.settings),
          y_codes(generation, problem.target_table, problem.settings)};
}

}  // namespace gsr
