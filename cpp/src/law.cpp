#include "gsr/law.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "gsr/evaluate.hpp"

namespace gsr {
namespace {

constexpr std::size_t kKeptTargets = 32;
constexpr std::size_t kKeptBytes = std::size_t{1} << 20;
// A law for y^2 or ln|y| leaves the sign of y open. The nearest solution flatters a poor one, so it
// must explain the transformed target this well.
constexpr double kOpenBranch = 0.1;

// Derivative of a transformation that brings none of its own.
void central_difference(const ElementWise& value, const double* x, double* out, std::size_t n) {
  Buffer up(n), down(n), step(n);
  for (std::size_t i = 0; i < n; ++i) {
    step[i] = 6e-6 * std::max(1.0, std::abs(x[i]));
    up[i] = x[i] + step[i];
    down[i] = x[i] - step[i];
  }
  value(up.data(), up.data(), n);
  value(down.data(), down.data(), n);
  for (std::size_t i = 0; i < n; ++i) out[i] = (up[i] - down[i]) / (2.0 * step[i]);
}

void derivative(const Transformation& t, const double* x, double* out, std::size_t n) {
  if (t.derivative) {
    t.derivative(x, out, n);
  } else {
    central_difference(t.value, x, out, n);
  }
}

double norm(const Buffer& x) {
  return std::sqrt(std::inner_product(x.begin(), x.end(), x.begin(), 0.0));
}

}  // namespace

double normalise(Law& law, const Table& target_table) {
  std::vector<std::size_t> order(law.psi.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return complexity(law.psi[a], target_table) > complexity(law.psi[b], target_table);
  });
  const Law old = law;
  const double lead = old.beta[order[0]];
  for (std::size_t k = 0; k < order.size(); ++k) {
    law.psi[k] = old.psi[order[k]];
    law.beta[k] = old.beta[order[k]] / lead;
  }
  for (double& a : law.alpha) a /= lead;
  return lead;
}

TargetScale::TargetScale(const Dataset& y, const Table& table) : y_(y), table_(table) {
  const Eigen::Map<const Eigen::ArrayXd> values(y.features[0], y.n_rows());
  spread_ = std::sqrt((values - values.mean()).square().mean());
}

const TargetScale::Info& TargetScale::info(const Basis& psi) {
  const auto found = infos_.find(psi);
  if (found != infos_.end()) return found->second;
  if (infos_.size() >= kKeptTargets) infos_.clear();
  return infos_.emplace(psi, make_info(psi)).first->second;
}

// psi' by the product rule: sum_i T_i' prod_{k != i} T_k.
TargetScale::Info TargetScale::make_info(const Basis& psi) const {
  const auto n = static_cast<std::size_t>(y_.n_rows());
  const double* y = y_.features[0];
  Evaluator evaluator(y_, table_, kKeptBytes);
  Info info;
  info.values.resize(static_cast<std::size_t>(y_.features.stride()));
  evaluator.evaluate(psi, info.values.data());
  info.derivative.assign(info.values.size(), 0.0);
  Buffer term(n), factor(n);
  for (const Row& chosen : psi) {
    derivative(table_[chosen.transformation], y, term.data(), n);
    for (const Row& other : psi) {
      if (&other == &chosen) continue;
      table_[other.transformation].value(y, factor.data(), n);
      for (std::size_t i = 0; i < n; ++i) term[i] *= factor[i];
    }
    for (std::size_t i = 0; i < n; ++i) info.derivative[i] += term[i];
  }
  for (std::size_t i = 0; i < n; ++i) term[i] = info.derivative[i] * y[i];
  info.rounding_norm = norm(info.values) + norm(term);
  return info;
}

void TargetScale::nearest_solution(const Transformation& t, const double* f) {
  const auto n = static_cast<std::size_t>(y_.n_rows());
  const double* y = y_.features[0];
  t.inverse(f, scratch_.data(), n);
  for (std::size_t i = 0; i < n; ++i) {
    double best = scratch_[i];
    const auto nearest_repeat = [&](double solution) {
      return t.period == 0.0 ? solution
                             : solution + t.period * std::round((y[i] - solution) / t.period);
    };
    best = nearest_repeat(best);
    if (!std::isnan(t.mirror)) {
      const double other = nearest_repeat(t.mirror - scratch_[i]);
      if (std::abs(other - y[i]) < std::abs(best - y[i])) best = other;
    }
    scratch_[i] = y[i] - best;
  }
}

bool TargetScale::uses_both_branches(const Transformation& t) const {
  const double* y = y_.features[0];
  const auto [low, high] = std::minmax_element(y, y + y_.n_rows());
  return !std::isnan(t.mirror) && *low < 0.5 * t.mirror && 0.5 * t.mirror < *high;
}

double TargetScale::rmse(const Law& law, const double* f) {
  const auto n = static_cast<std::size_t>(y_.n_rows());
  scratch_.assign(n, 0.0);
  const Transformation& t = table_[law.psi[0].rows[0].transformation];
  if (law.psi.size() == 1 && law.psi[0].size == 1 && t.inverse) {
    if (law.transformed_error > kOpenBranch && uses_both_branches(t))
      return std::numeric_limits<double>::infinity();
    nearest_solution(t, f);
  } else {
    Buffer slope(n, 0.0);
    for (std::size_t k = 0; k < law.psi.size(); ++k) {
      const Info& psi = info(law.psi[k]);
      for (std::size_t i = 0; i < n; ++i) {
        scratch_[i] += law.beta[k] * psi.values[i];
        slope[i] += law.beta[k] * psi.derivative[i];
      }
    }
    for (std::size_t i = 0; i < n; ++i) scratch_[i] = (scratch_[i] - f[i]) / slope[i];
  }
  const double square = std::inner_product(scratch_.begin(), scratch_.end(), scratch_.begin(), 0.0);
  return std::isfinite(square) ? std::sqrt(square / static_cast<double>(n))
                               : std::numeric_limits<double>::infinity();
}

}  // namespace gsr
