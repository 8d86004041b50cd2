#include "gsr/dictionary.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "gsr/interrupt.hpp"
#include "guide/tuning.hpp"

namespace gsr {
namespace {

using composition::combine;
using composition::Operand;
using composition::Tree;
using namespace tuning;

constexpr double kPi = 3.14159265358979323846;

Operand weighted(Operand operand, double weight) {
  operand.weight = weight;
  return operand;
}

}  // namespace

Dictionary::Dictionary(const Dataset& data, const Table& table, const std::vector<int>& features,
                       const Rule& usable, Maker make, const Extent& extent)
    : data_(data),
      table_(table),
      make_(std::move(make)),
      evaluator_(data, table, 1 << 20),
      most_columns_(extent.columns),
      n_features_(features.size()),
      more_multiplied_(extent.multiplied) {
  std::vector<Monomial> monomials;
  const std::vector<int> powers =
      extent.multiplied ? std::vector<int>{1, 2, 4, -1} : std::vector<int>{1, -1};
  for (const int power : powers)
    for (const int f : features) monomials.push_back({{f, power}});
  if (extent.products)
    for (Monomial& monomial : list_monomials(features, 2, kArguments))
      if (monomial.size() > 1) monomials.push_back(std::move(monomial));
  for (const Monomial& monomial : monomials)
    if (usable(monomial_tree(table, monomial))) read_argument(monomial);
  add_plain_terms(features);
  for (const bool multiplying : {false, true}) {
    multiplying_ = multiplying;
    for (const Argument& u : arguments_) add_functions_of(u);
  }
}

void Dictionary::add_functions_of(const Argument& u) {
  choose_multipliers(u);
  add_exponentials(u);
  add_shifts(u);
  if (!u.feature) return;
  add_powers(u);
  add_saturation(u);
  add_peaks(u);
  add_nested(u);
  add_oscillations(u);
  add_powers_times_others(u);
}

// Powers of the feature itself, and the other features.
void Dictionary::choose_multipliers(const Argument& u) {
  multipliers_.clear();
  const int own = composition::only_feature(u.tree);
  const bool is_power = more_multiplied_ && own != 0 && u.tree.operands[0].feature > 0;
  if (!u.feature && !is_power) return;
  const auto add = [&](const Monomial& monomial) {
    multipliers_.push_back(monomial_tree(table_, monomial));
  };
  for (const int power : {1, -1, 2, 3}) add({{own, power}});
  for (const Argument& v : arguments_) {
    const int other = v.tree.operands[0].feature;
    if (!v.feature || other == own) continue;
    add({{other, 1}});
    if (more_multiplied_) add({{own, 1}, {other, 1}});
  }
}

void Dictionary::read_argument(const Monomial& monomial) {
  const Tree tree = monomial_tree(table_, monomial);
  Basis basis;
  Buffer values(data_.features.stride(), 0.0);
  if (!composition::write({tree}, basis) || !evaluator_.evaluate(basis, values.data())) return;
  const auto [low, high] = std::minmax_element(values.begin(), values.begin() + data_.n_rows());
  const double range = *high - *low;
  if (!(range > 1e-9 * std::max(std::abs(*low), std::abs(*high)))) return;
  const bool feature = monomial.size() == 1 && monomial[0].second == 1;
  Argument argument{tree, *low, *high, range, feature, *low >= 0.0, {}};
  values.resize(data_.n_rows());
  std::sort(values.begin(), values.end());
  const auto quantile = [&](double part) {
    return values[static_cast<Index>(part * static_cast<double>(values.size() - 1))];
  };
  if (argument.positive && quantile(0.5) < kSkewed * range)
    for (const double part : kQuantiles)
      if (quantile(part) > 0.0) argument.sizes.push_back(quantile(part));
  arguments_.push_back(std::move(argument));
}

// ---- grids -----------------------------------------------------------------------------------

// Parts of the range, and where an argument spans decades, the sizes that it usually has.

std::vector<double> Dictionary::rates(const Argument& u) const {
  std::vector<double> out;
  for (const double rate : kRates) out.push_back(rate / u.range);
  for (const double size : u.sizes) out.push_back(1.0 / size);
  return out;
}

// What is added to an argument so that it stays positive.
std::vector<double> Dictionary::shifts_below(const Argument& u) const {
  std::vector<double> out;
  for (const double away : kShifts) out.push_back(away * u.range - u.low);
  for (const double size : u.sizes) out.push_back(size);
  return out;
}

std::vector<double> Dictionary::centres(const Argument& u) const {
  std::vector<double> out;
  for (const double at : kCentres) out.push_back(u.low + at * u.range);
  out.insert(out.end(), u.sizes.begin(), u.sizes.end());
  return out;
}

// ---- entries ---------------------------------------------------------------------------------

bool Dictionary::add_entry(const Trees& factors, int family, bool oscillates) {
  const std::optional<Basis> made = make_(factors);
  if (!made) return false;
  Entry entry{*made, family, 0, -1, n_columns_};
  for (int k = 0; k < made->n_weights(); ++k) {
    entry.inner += made->weights[k] != 1.0 ? 1 : 0;
    if (oscillates && made->weights[k] == 0.0) entry.phase = k;
  }
  const Index stride = data_.features.stride();
  const Index start = ssize(values_);
  const int columns = oscillates ? 2 : 1;
  if (n_columns_ + columns > most_columns_) return false;
  values_.resize(start + columns * stride, 0.0);
  Basis basis = *made;
  bool finite = true;
  for (int c = 0; c < columns && finite; ++c) {
    if (c == 1) basis.weights[entry.phase] = 0.5 * kPi;
    double* out = values_.data() + start + c * stride;
    finite = evaluator_.evaluate(basis, out);
  }
  if (!finite) {
    values_.resize(start);
    return true;
  }
  n_columns_ += columns;
  entries_.push_back(std::move(entry));
  return true;
}

void Dictionary::add_plain(const std::vector<Basis>& bases) {
  const Index stride = data_.features.stride();
  for (const Basis& basis : bases) {
    const std::size_t start = values_.size();
    values_.resize(start + stride, 0.0);
    if (!evaluator_.evaluate(basis, values_.data() + start)) {
      values_.resize(start);
      continue;
    }
    entries_.push_back({basis, n_families_++, 0, -1, n_columns_++});
  }
}

// What is not allowed for one set of constants is not allowed for any.
void Dictionary::add_members(const std::vector<Constants>& grid, const Build& build,
                             bool oscillates) {
  stop_if_asked();
  for (const Constants& constants : grid)
    if (!add_entry(build(constants), n_families_, oscillates)) break;
  ++n_families_;
}

void Dictionary::add_family(const std::vector<Constants>& grid, const Build& build,
                            bool oscillates) {
  if (!multiplying_) add_members(grid, build, oscillates);
}

void Dictionary::add_often(const std::vector<Constants>& grid, const Build& build,
                           bool oscillates) {
  if (more_multiplied_) return add_multiplied(grid, build, oscillates);
  add_family(grid, build, oscillates);
}

void Dictionary::add_multiplied(const std::vector<Constants>& grid, const Build& build,
                                bool oscillates) {
  if (!multiplying_) return add_members(grid, build, oscillates);
  for (const Tree& multiplier : multipliers_)
    add_members(
        grid,
        [&](const Constants& c) {
          Trees factors = build(c);
          factors.push_back(multiplier);
          return factors;
        },
        oscillates);
}

// ---- trees -----------------------------------------------------------------------------------

Tree Dictionary::of(const char* name, const Tree& tree) const {
  return composition::apply(table_, table_.find(name), tree);
}

Tree Dictionary::scaled(const Argument& u, double factor) const {
  return composition::scaled(table_, u.tree, factor);
}

Tree Dictionary::affine(const Tree& tree, double scale, double shift) const {
  return combine(table_, ArgumentType::weighted,
                 {weighted(composition::row(tree), scale), weighted(composition::one(), shift)});
}

// tree^p as exp(p ln tree)
Tree Dictionary::power(const Tree& tree, double exponent) const {
  return of("exp", composition::scaled(table_, of("ln", tree), exponent));
}

// ---- families --------------------------------------------------------------------------------

void Dictionary::add_plain_terms(const std::vector<int>& features) {
  const auto add = [&](const Trees& factors) { add_entry(factors, n_families_++, false); };
  for (const Monomial& monomial : list_monomials(features, 3, kPlainTerms))
    add({monomial_tree(table_, monomial)});
  for (const int f : features) {
    const Tree feature = monomial_tree(table_, {{f, 1}});
    if (has("ln")) add({of("ln", feature)});
    if (!has("sqrt")) continue;
    const Tree root = of("sqrt", feature);
    add({root});
    add({composition::reciprocal(root)});
    add({root, feature});
  }
}

void Dictionary::add_exponentials(const Argument& u) {
  if (!has("exp")) return;
  std::vector<Constants> grid;
  for (const double rate : rates(u))
    for (const double sign : {-1.0, 1.0}) grid.push_back({sign * rate});
  add_multiplied(grid, [&](const Constants& c) { return Trees{of("exp", scaled(u, c[0]))}; });
  if (u.low <= 0.0 && u.high >= 0.0) return;
  // 1/(exp(c u) - 1), and ln(exp(c u) - 1) for tables of logarithms.
  const auto less_one = [&](double rate) {
    return combine(table_, ArgumentType::sum,
                   {composition::row(of("exp", scaled(u, rate))), composition::one(true)});
  };
  add_multiplied(
      grid, [&](const Constants& c) { return Trees{composition::reciprocal(less_one(c[0]))}; });
  if (has("ln"))
    add_family(grid, [&](const Constants& c) { return Trees{of("ln", less_one(c[0]))}; });
}

void Dictionary::add_powers(const Argument& u) {
  if (!u.positive || !has("exp") || !has("ln")) return;
  std::vector<Constants> grid;
  for (const double p : kPowers) grid.push_back({p});
  add_multiplied(grid, [&](const Constants& c) { return Trees{power(u.tree, c[0])}; });
}

void Dictionary::add_oscillations(const Argument& u) {
  if (!has("sin")) return;
  const auto d = static_cast<int>(n_features_);
  const int resolved = static_cast<int>(data_.n_rows()) / kRowsPerCycle;
  const int cycles = std::min(std::max(kMostCycles / d, 1), resolved);
  const int damped_cycles = std::max(kDampedCycles / d, 1);
  const double step = 2.0 * kPi / (kFrequenciesPerCycle * u.range);
  const auto wave = [&](double frequency) { return of("sin", affine(u.tree, frequency, 0.0)); };
  const int last = cycles * kFrequenciesPerCycle;
  for (int first = 1; first <= last; first += kBand) {
    std::vector<Constants> plain, damped;
    for (int k = first; k < std::min(first + kBand, last + 1); ++k) {
      plain.push_back({k * step});
      if (k > damped_cycles * kFrequenciesPerCycle) continue;
      for (const double rate : kDampings) damped.push_back({k * step, rate / u.range});
    }
    if (!multiplying_ || first <= damped_cycles * kFrequenciesPerCycle)
      add_often(plain, [&](const Constants& c) { return Trees{wave(c[0])}; }, true);
    if (!has("exp") || damped.empty()) continue;
    add_family(
        damped, [&](const Constants& c) { return Trees{wave(c[0]), of("exp", scaled(u, c[1]))}; },
        true);
  }
}

void Dictionary::add_shifts(const Argument& u) {
  std::vector<Constants> either, below, powers;
  for (const double shift : shifts_below(u)) {
    either.push_back({shift});
    below.push_back({shift});
    for (const double p : kShiftedPowers) powers.push_back({p, shift});
  }
  for (const double away : kShifts) either.push_back({-away * u.range - u.high});
  const auto shifted = [&](double shift) { return affine(u.tree, 1.0, shift); };
  add_multiplied(either,
                 [&](const Constants& c) { return Trees{composition::reciprocal(shifted(c[0]))}; });
  if (!u.feature) return;
  if (has("ln")) {
    add_often(either, [&](const Constants& c) { return Trees{of("ln", shifted(c[0]))}; });
    if (has("exp"))
      add_family(powers, [&](const Constants& c) { return Trees{power(shifted(c[1]), c[0])}; });
  }
  if (has("sqrt"))
    add_often(below, [&](const Constants& c) { return Trees{of("sqrt", shifted(c[0]))}; });
}

// 1/(1 + exp(a + b u)), and the same of ln u: Hill's u^n/(K^n + u^n).
void Dictionary::add_saturation(const Argument& u) {
  if (!has("exp")) return;
  const auto sigmoid = [&](const Tree& tree, double scale, double shift) {
    return composition::reciprocal(
        combine(table_, ArgumentType::sum,
                {composition::one(), composition::row(of("exp", affine(tree, scale, shift)))}));
  };
  std::vector<Constants> grid, hill;
  for (const double centre : centres(u)) {
    for (const double width : kWidths)
      grid.push_back({-1.0 / (width * u.range), centre / (width * u.range)});
    for (const double n : kSteepness)
      if (centre > 0.0) hill.push_back({-n, n * std::log(centre)});
  }
  add_multiplied(grid, [&](const Constants& c) { return Trees{sigmoid(u.tree, c[0], c[1])}; });
  if (!u.positive || !has("ln")) return;
  const Tree logarithm = of("ln", u.tree);
  add_often(hill, [&](const Constants& c) { return Trees{sigmoid(logarithm, c[0], c[1])}; });
}

void Dictionary::add_peaks(const Argument& u) {
  if (!has("square")) return;
  std::vector<Constants> gauss, lorentz;
  for (const double at : kCentres)
    for (const double width : kWidths) {
      const double centre = u.low + at * u.range, w = width * u.range;
      gauss.push_back({-0.5 / (w * w), -centre});
      lorentz.push_back({w * w, -centre});
    }
  const auto squared = [&](double shift) { return of("square", affine(u.tree, 1.0, shift)); };
  if (has("exp"))
    add_family(gauss, [&](const Constants& c) {
      return Trees{of("exp", composition::scaled(table_, squared(c[1]), c[0]))};
    });
  add_family(lorentz, [&](const Constants& c) {
    return Trees{composition::reciprocal(affine(squared(c[1]), 1.0, c[0]))};
  });
}

// exp(-b exp(c u)) and exp(-k u^p).
void Dictionary::add_nested(const Argument& u) {
  if (!has("exp")) return;
  std::vector<Constants> gompertz, stretched;
  for (std::size_t at = 1; at < std::size(kCentres); at += 2) {
    const double centre = u.low + kCentres[at] * u.range;
    for (const double rate : kNestedRates)
      for (const double sign : {-1.0, 1.0}) {
        const double c = sign * rate / u.range;
        gompertz.push_back({-std::exp(-c * centre), c});
      }
    for (const double p : kStretches)
      if (centre > 0.0) stretched.push_back({-std::pow(centre, -p), p});
  }
  add_family(gompertz, [&](const Constants& c) {
    return Trees{of("exp", composition::scaled(table_, of("exp", scaled(u, c[1])), c[0]))};
  });
  if (!u.positive || !has("ln")) return;
  add_family(stretched, [&](const Constants& c) {
    return Trees{of("exp", composition::scaled(table_, power(u.tree, c[1]), c[0]))};
  });
}

// Times an exponential of any feature or its reciprocal, or a power of another.
void Dictionary::add_powers_times_others(const Argument& u) {
  if (!u.positive || !has("exp") || !has("ln")) return;
  for (const Argument& v : arguments_) {
    std::vector<Constants> exponential, powers;
    for (const double p : kPowers) {
      for (const double rate : kRatesBesidePowers)
        for (const double sign : {-1.0, 1.0}) exponential.push_back({p, sign * rate / v.range});
      for (const double q : kPowers) powers.push_back({p, q});
    }
    add_family(exponential, [&](const Constants& c) {
      return Trees{power(u.tree, c[0]), of("exp", scaled(v, c[1]))};
    });
    if (!v.feature || !v.positive || &v <= &u) continue;
    add_family(powers,
               [&](const Constants& c) { return Trees{power(u.tree, c[0]), power(v.tree, c[1])}; });
  }
}

}  // namespace gsr
