#include "gsr/library.hpp"

#include <cmath>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "gsr/vector_math.hpp"

namespace gsr {
namespace {

const vector_math::Kernels& vm() { return vector_math::kernels(); }

constexpr double kPi = 3.14159265358979323846;

// Applies a scalar rule to every element.
template <typename Rule>
ElementWise each(Rule rule) {
  return [rule](const double* x, double* out, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) out[i] = rule(x[i]);
  };
}

// Applies a vector function, then a scalar rule to its result.
template <typename Rule>
ElementWise then(vector_math::Function function, Rule rule) {
  return [function, rule](const double* x, double* out, std::size_t n) {
    function(x, out, n);
    for (std::size_t i = 0; i < n; ++i) out[i] = rule(out[i]);
  };
}

void negate(const double* x, double* out, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) out[i] = -x[i];
}

void exp_negative(const double* x, double* out, std::size_t n) {
  negate(x, out, n);
  vm().exp(out, out, n);
}

Transformation one() {
  Transformation t;
  t.name = "one";
  t.text = t.sympy = "1";
  t.code = "1.0";
  t.domain = "any t";
  t.family = Family::constant;
  t.cost = 0;
  t.value = each([](double) { return 1.0; });
  t.derivative = each([](double) { return 0.0; });
  return t;
}

Transformation identity() {
  Transformation t;
  t.name = "identity";
  t.parity = -1;
  t.text = t.sympy = t.code = t.inverse_sympy = "{}";
  t.domain = "any t";
  t.family = Family::polynomial;
  t.cost = 0;
  t.power = 1.0;
  t.value = t.inverse = each([](double x) { return x; });
  t.derivative = each([](double) { return 1.0; });
  return t;
}

Transformation inverse() {
  Transformation t;
  t.name = "inverse";
  t.parity = -1;
  t.text = "1/{}";
  t.sympy = t.inverse_sympy = "1/{}";
  t.code = "1.0/({})";
  t.domain = "t != 0";
  t.power = -1.0;
  t.value = t.inverse = each([](double x) { return 1.0 / x; });
  t.derivative = each([](double x) { return -1.0 / (x * x); });
  return t;
}

Transformation square() {
  Transformation t;
  t.name = "square";
  t.parity = 1;
  t.text = "{}^2";
  t.sympy = "{}**2";
  t.code = "({})*({})";
  t.inverse_sympy = "sqrt({})";
  t.domain = "any t";
  t.family = Family::polynomial;
  t.power = 2.0;
  t.value = each([](double x) { return x * x; });
  t.derivative = each([](double x) { return 2.0 * x; });
  t.inverse = each([](double v) { return std::sqrt(v); });
  t.mirror = 0.0;
  return t;
}

Transformation cube() {
  Transformation t;
  t.name = "cube";
  t.parity = -1;
  t.text = "{}^3";
  t.sympy = "{}**3";
  t.code = "({})*({})*({})";
  t.inverse_sympy = "real_root({}, 3)";
  t.domain = "any t";
  t.family = Family::polynomial;
  t.power = 3.0;
  t.value = each([](double x) { return x * x * x; });
  t.derivative = each([](double x) { return 3.0 * x * x; });
  t.inverse = each([](double v) { return std::cbrt(v); });
  return t;
}

Transformation sqrt() {
  Transformation t;
  t.name = "sqrt";
  t.text = t.sympy = t.code = "sqrt({})";
  t.inverse_sympy = "{}**2";
  t.domain = "t >= 0";
  t.power = 0.5;
  t.value = each([](double x) { return std::sqrt(x); });
  t.derivative = each([](double x) { return 0.5 / std::sqrt(x); });
  t.inverse = each([](double v) { return v < 0.0 ? std::nan("") : v * v; });
  return t;
}

// Of negative numbers, too.
Transformation cbrt() {
  Transformation t;
  t.name = "cbrt";
  t.parity = -1;
  t.text = t.code = "cbrt({})";
  t.sympy = "sign({})*Abs({})**Rational(1, 3)";
  t.inverse_sympy = "{}**3";
  t.domain = "any t";
  t.power = 1.0 / 3.0;
  t.value = each([](double x) { return std::cbrt(x); });
  t.derivative = each([](double x) {
    const double root = std::cbrt(x);
    return 1.0 / (3.0 * root * root);
  });
  t.inverse = each([](double v) { return v * v * v; });
  return t;
}

Transformation abs() {
  Transformation t;
  t.name = "abs";
  t.parity = 1;
  t.text = "abs({})";
  t.sympy = "Abs({})";
  t.code = "fabs({})";
  t.inverse_sympy = "{}";
  t.domain = "any t";
  t.value = each([](double x) { return std::abs(x); });
  t.derivative = each([](double x) { return x < 0.0 ? -1.0 : x > 0.0 ? 1.0 : x; });
  t.inverse = each([](double v) { return v < 0.0 ? std::nan("") : v; });
  t.mirror = 0.0;
  return t;
}

Transformation cos() {
  Transformation t;
  t.name = "cos";
  t.parity = 1;
  t.text = t.sympy = t.code = "cos({})";
  t.inverse_sympy = "acos({})";
  t.domain = "any t";
  t.family = Family::trigonometric;
  t.value = vm().cos;
  t.derivative = then(vm().sin, [](double s) { return -s; });
  t.inverse = each([](double v) { return std::acos(v); });
  t.mirror = 0.0;
  t.period = 2.0 * kPi;
  return t;
}

Transformation sin() {
  Transformation t;
  t.name = "sin";
  t.parity = -1;
  t.text = t.sympy = t.code = "sin({})";
  t.inverse_sympy = "asin({})";
  t.domain = "any t";
  t.family = Family::trigonometric;
  t.value = vm().sin;
  t.derivative = vm().cos;
  t.inverse = each([](double v) { return std::asin(v); });
  t.mirror = kPi;
  t.period = 2.0 * kPi;
  return t;
}

Transformation tan() {
  Transformation t;
  t.name = "tan";
  t.parity = -1;
  t.text = t.sympy = t.code = "tan({})";
  t.inverse_sympy = "atan({})";
  t.domain = "cos(t) != 0";
  t.family = Family::trigonometric;
  t.value = vm().tan;
  t.derivative = then(vm().tan, [](double v) { return 1.0 + v * v; });
  t.inverse = each([](double v) { return std::atan(v); });
  t.period = kPi;
  return t;
}

Transformation tanh() {
  Transformation t;
  t.name = "tanh";
  t.parity = -1;
  t.text = t.sympy = t.code = "tanh({})";
  t.inverse_sympy = "atanh({})";
  t.domain = "any t";
  t.value = vm().tanh;
  t.derivative = then(vm().tanh, [](double v) { return 1.0 - v * v; });
  t.inverse = each([](double v) { return std::atanh(v); });
  return t;
}

Transformation arctan() {
  Transformation t;
  t.name = "arctan";
  t.parity = -1;
  t.text = "arctan({})";
  t.sympy = t.code = "atan({})";
  t.inverse_sympy = "tan({})";
  t.domain = "any t";
  t.value = each([](double x) { return std::atan(x); });
  t.derivative = each([](double x) { return 1.0 / (1.0 + x * x); });
  t.inverse = each([](double v) { return 2.0 * std::abs(v) < kPi ? std::tan(v) : std::nan(""); });
  return t;
}

Transformation exp() {
  Transformation t;
  t.name = "exp";
  t.text = t.sympy = t.code = "exp({})";
  t.inverse_sympy = "log({})";
  t.domain = "any t";
  t.value = t.derivative = vm().exp;
  t.inverse = each([](double v) { return std::log(v); });
  return t;
}

Transformation exp_neg() {
  Transformation t;
  t.name = "exp_neg";
  t.text = "exp(-{})";
  t.sympy = "exp(-{})";
  t.code = "exp(-({}))";
  t.inverse_sympy = "-log({})";
  t.domain = "any t";
  t.value = exp_negative;
  t.derivative = then(exp_negative, [](double e) { return -e; });
  t.inverse = each([](double v) { return -std::log(v); });
  return t;
}

// ln|t|, since targets and arguments that change sign are fitted too; prediction restores the sign.
Transformation ln() {
  Transformation t;
  t.name = "ln";
  t.parity = 1;
  t.text = "ln({})";
  t.sympy = "log({})";
  t.code = "log(fabs({}))";
  t.inverse_sympy = "exp({})";
  t.domain = "t != 0";
  t.value = vm().log;
  t.derivative = each([](double x) { return 1.0 / x; });
  t.inverse = vm().exp;
  t.mirror = 0.0;
  return t;
}

}  // namespace

const std::vector<Transformation>& builtin_transformations() {
  static const std::vector<Transformation> table{
      one(), identity(), inverse(), square(), cube(),    sqrt(), cos(), sin(),
      tan(), tanh(),     exp(),     ln(),     exp_neg(), cbrt(), abs(), arctan(),
  };
  return table;
}

const Transformation& builtin_transformation(const std::string& name) {
  for (const Transformation& t : builtin_transformations())
    if (t.name == name) return t;
  throw std::invalid_argument("no transformation is called '" + name + "'");
}

Table::Table(std::vector<Transformation> entries) : entries_(std::move(entries)) {
  for (int code = 0; code < size(); ++code) {
    if ((*this)[code].family == Family::constant) constant_ = code;
    if ((*this)[code].name == "identity") identity_ = code;
  }
  if (constant_ < 0) throw std::invalid_argument("a mapping table needs the transformation 'one'");
}

int Table::find(const std::string& name) const {
  for (int code = 0; code < size(); ++code)
    if ((*this)[code].name == name) return code;
  return -1;
}

std::vector<int> Table::with_family(bool (*keep)(Family)) const {
  std::vector<int> codes;
  bool useful = false;
  for (int code = 0; code < size(); ++code) {
    if (!keep((*this)[code].family)) continue;
    codes.push_back(code);
    useful = useful || code != constant_;
  }
  return useful ? codes : all();
}

std::vector<int> Table::polynomial() const {
  return with_family([](Family f) { return f == Family::constant || f == Family::polynomial; });
}

std::vector<int> Table::trigonometric() const {
  for (int code = 0; code < size(); ++code)
    if ((*this)[code].family == Family::trigonometric)
      return with_family([](Family f) { return f != Family::other; });
  return all();
}

std::vector<int> Table::all() const {
  std::vector<int> codes(entries_.size());
  std::iota(codes.begin(), codes.end(), 0);
  return codes;
}

}  // namespace gsr
