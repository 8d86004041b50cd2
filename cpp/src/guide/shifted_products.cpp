#include "shifted_products.hpp"

#include <algorithm>
#include <cmath>

#include "gsr/interrupt.hpp"
#include "gsr/least_squares.hpp"
#include "gsr/targets.hpp"
#include "gsr/vector_math.hpp"
#include "terms.hpp"

namespace gsr::guide {
namespace {

using namespace tuning;

struct Shift {
  Index target;  // among the powers of y
  Monomial prefactor;
  double shift;
  double left;  // by logarithms of the features
};

// One feature, its reciprocal, a prefactor that was found, and that with one more feature.
std::vector<Monomial> likely_prefactors(const std::vector<int>& features,
                                        const std::vector<Monomial>& prefactors) {
  std::vector<Monomial> out;
  for (const int f : features)
    for (const int sign : {1, -1}) out.push_back({{f, sign}});
  for (const Monomial& found : prefactors) {
    out.push_back(found);
    for (const int f : features)
      for (const int sign : {1, -1}) {
        const auto known = [f](const auto& power) { return power.first == f; };
        if (std::any_of(found.begin(), found.end(), known)) continue;
        out.push_back(found);
        out.back().emplace_back(f, sign);
      }
  }
  return out;
}

double spread_of(Eigen::Ref<const Vector> values) {
  return (values.array() - values.mean()).matrix().squaredNorm();
}

// What logarithms of the features leave of ln|psi(y)/p + shift|.
class LogFit {
 public:
  explicit LogFit(const Sample& sample) : x_(sample.rows.x) {
    const Index n = x_.n_rows();
    for (Buffer* buffer : {&divisor_, &rest_, &unshifted_})
      buffer->assign(x_.features.stride(), 0.0);
    qr_.reset(n, 1 + ssize(sample.features));
    inside_.setZero(1 + ssize(sample.features));
    Buffer column(x_.features.stride(), 0.0);
    std::fill_n(column.begin(), n, 1.0);
    qr_.push(column.data());
    for (const int f : sample.features) {
      vector_math::kernels().log(x_.features[f - 1], column.data(), static_cast<std::size_t>(n));
      const bool finite = std::all_of(column.begin(), column.begin() + n,
                                      [](double v) { return std::isfinite(v); });
      if (!finite) continue;
      qr_.push(column.data());
      features_.push_back(f);
    }
  }

  // Those that are never 0, and may be in a prefactor.
  const std::vector<int>& features() const { return features_; }

  void divide_by(const Monomial& prefactor) {
    const Index n = x_.n_rows();
    std::fill_n(divisor_.begin(), n, 1.0);
    for (const auto& [f, p] : prefactor) {
      const double* x = x_.features[f - 1];
      for (int k = 0; k < std::abs(p); ++k)
        for (Index i = 0; i < n; ++i) divisor_[i] = p > 0 ? divisor_[i] / x[i] : divisor_[i] * x[i];
    }
  }

  // Values of the left side; false if it is not finite.
  bool write(const Buffer& psi, double shift, Buffer& out) const {
    const Index n = x_.n_rows();
    for (Index i = 0; i < n; ++i) out[i] = psi[i] * divisor_[i] + shift;
    vector_math::kernels().log(out.data(), out.data(), static_cast<std::size_t>(n));
    return std::all_of(out.begin(), out.begin() + n, [](double v) { return std::isfinite(v); });
  }

  // Relative to the spread of the left side, or to that of what the shift changes in it if that is
  // less: where |psi| is far larger than p, the left side is hardly more than ln|psi| - ln p.
  double left(const Buffer& psi, double shift) {
    if (!write(psi, shift, rest_) || !write(psi, 0.0, unshifted_)) return 1.0;
    const Index n = x_.n_rows();
    const Eigen::Map<const Vector> rest(rest_.data(), n), unshifted(unshifted_.data(), n);
    const double spread = std::min(spread_of(rest), spread_of(rest - unshifted));
    qr_.project(rest_.data(), inside_.data());
    return spread > 0.0 ? rest.squaredNorm() / spread : 1.0;
  }

 private:
  const Dataset& x_;
  std::vector<int> features_;
  Orthogonalizer qr_;
  Vector inside_;
  Buffer divisor_, rest_, unshifted_;
};

// The best of all monomials up to some cost, for each power of y.
std::vector<Shift> best_shifts(LogFit& fit, const std::vector<Buffer>& powers) {
  std::vector<Shift> out;
  for (const Monomial& prefactor :
       list_monomials(fit.features(), kShiftedDegree, kMostShiftedPrefactors)) {
    stop_if_asked();
    fit.divide_by(prefactor);
    for (Index k = 0; k < ssize(powers); ++k)
      for (const double shift : {-1.0, 1.0}) {
        const double left = fit.left(powers[k], shift);
        if (left < kShiftedLeft) out.push_back({k, prefactor, shift, left});
      }
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const Shift& a, const Shift& b) { return a.left < b.left; });
  if (out.size() > kShiftedGlanced) out.resize(kShiftedGlanced);
  return out;
}

}  // namespace

ShiftedProducts shifted_products(const Sample& sample, const std::vector<Monomial>& prefactors,
                                 const Goal& logarithm) {
  const Problem& problem = sample.problem;
  LogFit fit(sample);
  ShiftedProducts out;
  const auto add = [&](const Basis& psi, const Buffer& values, const Monomial& prefactor,
                       double shift, std::vector<Goal>& goals) {
    Goal goal;
    goal.form = Form::product;
    goal.psi = logarithm.psi;
    goal.plain = psi;
    goal.prefactor = prefactor;
    goal.values.assign(values.size(), 0.0);
    fit.divide_by(prefactor);
    if (fit.write(values, shift, goal.values)) goals.push_back(std::move(goal));
  };
  std::vector<Basis> psi;
  std::vector<Buffer> powers;
  for (const Basis& power : power_targets(problem.target_table, problem.settings)) {
    Buffer values = values_of(power, sample.rows.y, problem.target_table);
    if (values.empty()) continue;
    psi.push_back(power);
    powers.push_back(std::move(values));
  }
  if (psi.empty()) return out;
  for (const Monomial& prefactor : likely_prefactors(sample.features, prefactors))
    for (Index k = 0; k < std::min(ssize(psi), kLikelyShifted); ++k)
      for (const double shift : {-1.0, 1.0}) add(psi[k], powers[k], prefactor, shift, out.likely);
  std::size_t n = 0;
  for (const Shift& shift : best_shifts(fit, powers))
    add(psi[shift.target], powers[shift.target], shift.prefactor, shift.shift,
        n++ < kShiftedKept ? out.likely : out.others);
  return out;
}

}  // namespace gsr::guide
