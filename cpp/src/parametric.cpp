#include "gsr/parametric.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>

#include "gsr/interrupt.hpp"
#include "gsr/vector_math.hpp"

namespace gsr {
namespace {

using composition::combine;
using composition::Tree;

constexpr double kPi = 3.14159265358979323846;
constexpr int kRates = 9;    // of exponentials, on either side of zero
constexpr int kShifts = 13;  // outside either end of the range
constexpr std::size_t kMostBytes = std::size_t{64} << 20;
constexpr int kLogFrequencies = 48;
constexpr int kCentres = 9;
constexpr int kWidths = 5;

composition::Operand weighted(composition::Operand operand, double weight) {
  operand.weight = weight;
  return operand;
}

}  // namespace

Parametric::Parametric(const Dataset& data, const Table& table, const Rule& usable,
                       const std::vector<int>& features, const Extent& extent)
    : data_(data), table_(table) {
  std::vector<Monomial> all = list_monomials(features, 2, 4 * extent.arguments);
  all.erase(std::remove_if(all.begin(), all.end(),
                           [&](const Monomial& m) { return !usable(monomial_tree(table, m)); }),
            all.end());
  std::stable_sort(all.begin(), all.end(),
                   [](const Monomial& a, const Monomial& b) { return cost_of(a) < cost_of(b); });
  most_items_ = kMostBytes / (sizeof(double) * static_cast<std::size_t>(data.features.stride()));
  for (const Monomial& monomial : all) {
    if (arguments_.size() == extent.arguments || items_.size() >= most_items_) break;
    add_argument(monomial, extent);
  }
  add_multipliers(all, extent.multipliers);
}

bool Parametric::evaluate(const Monomial& monomial, Buffer& out) const {
  Basis basis;
  out.assign(data_.features.stride(), 0.0);
  return composition::write({monomial_tree(table_, monomial)}, basis) &&
         Evaluator(data_, table_, 1 << 16).evaluate(basis, out.data());
}

void Parametric::add(Shape shape, int argument, double first, double second) {
  items_.push_back({shape, argument, first, second, -1});
}

void Parametric::add_oscillations(int a, double range, int cycles) {
  if (!has("sin") || !has("cos")) return;
  for (int k = 1; k <= 8 * cycles; ++k) {
    const double frequency = k * kPi / (4.0 * range);
    add(Shape::sin, a, frequency);
    add(Shape::cos, a, frequency);
  }
}

void Parametric::add_logarithms(int a, double range) {
  if (has("sin") && has("cos") && cost_of(arguments_[a]) <= 4)
    for (int k = 1; k <= kLogFrequencies; ++k) {
      const double frequency = k * kPi / (4.0 * range);
      add(Shape::ln_sin, a, frequency);
      add(Shape::ln_cos, a, frequency);
    }
  for (int k = 0; k < kRates; ++k) {
    const double rate = 0.3 * std::pow(1.9, k) / range;
    if (has("tanh")) add(Shape::ln_tanh, a, rate);
    if (!has("exp")) continue;
    add(Shape::ln_exp_less, a, rate);
    for (const double sign : {1.0, -1.0}) add(Shape::ln_exp_more, a, sign * rate);
  }
}

void Parametric::add_argument(const Monomial& monomial, const Extent& extent) {
  Buffer values;
  if (!evaluate(monomial, values)) return;
  const auto [low, high] = std::minmax_element(values.begin(), values.begin() + data_.n_rows());
  const double range = *high - *low;
  if (!(range > 1e-9 * std::max(std::abs(*low), std::abs(*high)))) return;
  const int a = static_cast<int>(arguments_.size());
  const bool feature = monomial.size() == 1 && monomial[0].second == 1;
  arguments_.push_back(monomial);

  if (extent.logarithms) add_logarithms(a, range);
  add_oscillations(a, range, feature ? extent.cycles : std::min(extent.cycles, 12));
  for (int k = 0; k < kRates; ++k) {
    const double rate = 0.15 * std::pow(1.9, k) / range;
    for (const double sign : {1.0, -1.0})
      if (has("exp")) add(Shape::exp, a, sign * rate);
    if (has("tanh")) add(Shape::tanh, a, 2.0 * rate);
  }
  for (int k = 0; k < kShifts; ++k) {
    const double away = range * 0.002 * std::pow(2.0, k);
    for (const double shift : {away - *low, -away - *high}) {
      if (!extent.logarithms) add(Shape::inverse, a, shift);
      if (has("ln")) add(Shape::ln, a, shift);
      if (has("sqrt") && shift > -*low && !extent.logarithms) add(Shape::sqrt, a, shift);
    }
  }
  for (int c = 0; c < kCentres && feature; ++c)
    for (int w = 0; w < kWidths; ++w) {
      const double centre = *low + range * c / (kCentres - 1);
      const double width = range * 0.08 * std::pow(2.0, w);
      if (has("exp")) add(Shape::bell, a, centre, width);
      if (!extent.logarithms) add(Shape::lorentz, a, centre, width);
      if (has("ln")) add(Shape::ln_lorentz, a, centre, width);
    }
  values_.push_back(std::move(values));
}

// Slow oscillations, rates and shifts times a monomial.
void Parametric::add_multipliers(const std::vector<Monomial>& monomials, std::size_t count) {
  const std::size_t n = items_.size();
  for (const Monomial& monomial : monomials) {
    if (multipliers_.size() == count) return;
    Buffer values;
    if (!evaluate(monomial, values)) continue;
    const int m = static_cast<int>(multipliers_.size());
    multipliers_.push_back(monomial);
    multiplier_values_.push_back(std::move(values));
    for (std::size_t k = 0; k < n; ++k) {
      Item item = items_[k];
      const bool simple = cost_of(arguments_[item.argument]) <= 2 && item.shape != Shape::bell &&
                          item.shape != Shape::lorentz && item.shape != Shape::ln_lorentz &&
                          item.shape != Shape::sqrt;
      if (!simple || items_.size() >= most_items_) continue;
      item.multiplier = m;
      items_.push_back(item);
    }
  }
}

void Parametric::write(std::size_t index, double* out) const {
  const Item& item = items_[index];
  write_shape(item, out);
  if (item.multiplier < 0) return;
  const Buffer& factor = multiplier_values_[item.multiplier];
  for (Index i = 0; i < data_.n_rows(); ++i) out[i] *= factor[i];
}

long Parametric::family(std::size_t index) const {
  const Item& item = items_[index];
  return static_cast<long>(item.shape) + 32L * (item.argument + 4096L * (item.multiplier + 1));
}

std::vector<Tree> Parametric::factors(std::size_t index) const {
  const Item& item = items_[index];
  std::vector<Tree> out{tree(item)};
  if (item.multiplier >= 0) out.push_back(monomial_tree(table_, multipliers_[item.multiplier]));
  return out;
}

void Parametric::write_shape(const Item& it, double* out) const {
  stop_if_asked();
  const Buffer& u = values_[it.argument];
  const Index n = data_.n_rows();
  const vector_math::Kernels& vm = vector_math::kernels();
  const bool scaled = it.shape == Shape::sin || it.shape == Shape::cos || it.shape == Shape::exp ||
                      it.shape == Shape::tanh || it.shape == Shape::ln_sin ||
                      it.shape == Shape::ln_cos || it.shape == Shape::ln_tanh ||
                      it.shape == Shape::ln_exp_less || it.shape == Shape::ln_exp_more;
  const bool quadratic =
      it.shape == Shape::bell || it.shape == Shape::lorentz || it.shape == Shape::ln_lorentz;
  for (Index i = 0; i < n; ++i) {
    const double t = quadratic ? (u[i] - it.first) : 0.0;
    out[i] = scaled      ? it.first * u[i]
             : quadratic ? t * t + (it.shape == Shape::bell ? 0.0 : it.second * it.second)
                         : u[i] + it.first;
  }
  switch (it.shape) {
    case Shape::sin: vm.sin(out, out, n); break;
    case Shape::cos: vm.cos(out, out, n); break;
    case Shape::exp: vm.exp(out, out, n); break;
    case Shape::tanh: vm.tanh(out, out, n); break;
    case Shape::ln:
    case Shape::ln_lorentz: vm.log(out, out, n); break;
    case Shape::ln_sin:
      vm.sin(out, out, n);
      vm.log(out, out, n);
      break;
    case Shape::ln_cos:
      vm.cos(out, out, n);
      vm.log(out, out, n);
      break;
    case Shape::ln_tanh:
      vm.tanh(out, out, n);
      vm.log(out, out, n);
      break;
    case Shape::ln_exp_less:
    case Shape::ln_exp_more:
      vm.exp(out, out, n);
      for (Index i = 0; i < n; ++i) out[i] += it.shape == Shape::ln_exp_less ? -1.0 : 1.0;
      vm.log(out, out, n);
      break;
    case Shape::sqrt:
      for (Index i = 0; i < n; ++i) out[i] = std::sqrt(out[i]);
      break;
    case Shape::bell:
      for (Index i = 0; i < n; ++i) out[i] *= -1.0 / (it.second * it.second);
      vm.exp(out, out, n);
      break;
    default:
      for (Index i = 0; i < n; ++i) out[i] = 1.0 / out[i];
  }
}

Tree Parametric::shifted(int argument, double shift) const {
  const Tree u = monomial_tree(table_, arguments_[argument]);
  return combine(table_, ArgumentType::weighted,
                 {composition::row(u), weighted(composition::one(), shift)});
}

// (u - c)^2 + w^2 = u^2 - 2 c u + (c^2 + w^2)
Tree Parametric::quadratic(int argument, double centre, double width) const {
  const Monomial& m = arguments_[argument];
  Monomial square = m;
  for (auto& [f, p] : square) p *= 2;
  return combine(table_, ArgumentType::weighted,
                 {composition::row(monomial_tree(table_, square)),
                  weighted(composition::row(monomial_tree(table_, m)), -2.0 * centre),
                  weighted(composition::one(), centre * centre + width * width)});
}

Tree Parametric::tree(const Item& it) const {
  const auto of = [&](const char* name, const Tree& tree) {
    return composition::apply(table_, table_.find(name), tree);
  };
  const Tree u = monomial_tree(table_, arguments_[it.argument]);
  const Tree scaled = composition::scaled(table_, u, it.first);
  switch (it.shape) {
    case Shape::sin: return of("sin", scaled);
    case Shape::cos: return of("cos", scaled);
    case Shape::exp: return of("exp", scaled);
    case Shape::tanh: return of("tanh", scaled);
    case Shape::ln_sin: return of("ln", of("sin", scaled));
    case Shape::ln_cos: return of("ln", of("cos", scaled));
    case Shape::ln_tanh: return of("ln", of("tanh", scaled));
    case Shape::ln_exp_less:
    case Shape::ln_exp_more:
      return of("ln", combine(table_, ArgumentType::sum,
                              {composition::row(of("exp", scaled)),
                               composition::one(it.shape == Shape::ln_exp_less)}));
    case Shape::ln: return of("ln", shifted(it.argument, it.first));
    case Shape::sqrt: return of("sqrt", shifted(it.argument, it.first));
    case Shape::bell: {
      // exp(-(u - c)^2 / w^2) but for a factor
      const double rate = -1.0 / (it.second * it.second);
      Monomial square = arguments_[it.argument];
      for (auto& [f, p] : square) p *= 2;
      return of("exp", combine(table_, ArgumentType::weighted,
                               {weighted(composition::row(monomial_tree(table_, square)), rate),
                                weighted(composition::row(u), -2.0 * it.first * rate)}));
    }
    case Shape::lorentz:
      return composition::reciprocal(quadratic(it.argument, it.first, it.second));
    case Shape::ln_lorentz: return of("ln", quadratic(it.argument, it.first, it.second));
    default: return composition::reciprocal(shifted(it.argument, it.first));
  }
}

namespace {

struct Waves {
  Eigen::MatrixXd cosines, sines;  // rows by frequencies
  double step = 0.0;
};

Waves waves(const double* x, Index n, int cycles) {
  const auto [low, high] = std::minmax_element(x, x + n);
  Waves out;
  out.step = kPi / (2.0 * std::max(*high - *low, 1e-300));
  out.cosines.resize(n, 4 * cycles);
  out.sines.resize(n, 4 * cycles);
  for (Index k = 0; k < 4 * cycles; ++k) {
    stop_if_asked();
    const double frequency = static_cast<double>(k + 1) * out.step;
    Buffer argument(n);
    for (Index i = 0; i < n; ++i) argument[i] = frequency * x[i];
    vector_math::kernels().cos(argument.data(), out.cosines.col(k).data(), n);
    vector_math::kernels().sin(argument.data(), out.sines.col(k).data(), n);
  }
  return out;
}

}  // namespace

TwoFrequencies strongest_product(const double* x1, const double* x2, const double* target, Index n,
                                 int cycles) {
  const Waves a = waves(x1, n, cycles);
  const Waves b = waves(x2, n, cycles);
  const Eigen::Map<const Eigen::VectorXd> t(target, n);
  const Eigen::MatrixXd c = t.asDiagonal() * b.cosines;
  const Eigen::MatrixXd s = t.asDiagonal() * b.sines;
  Eigen::MatrixXd power = (a.cosines.transpose() * c).cwiseAbs2();
  power += (a.cosines.transpose() * s).cwiseAbs2();
  power += (a.sines.transpose() * c).cwiseAbs2();
  power += (a.sines.transpose() * s).cwiseAbs2();
  Index i = 0, j = 0;
  const double best = power.maxCoeff(&i, &j);
  return {static_cast<double>(i + 1) * a.step, static_cast<double>(j + 1) * b.step, best};
}

}  // namespace gsr
