#include <algorithm>
#include <cmath>
#include <numeric>

#include "gsr/guide.hpp"
#include "guide_limits.hpp"

namespace gsr {
namespace {

using composition::Tree;
using namespace limits;

constexpr std::size_t kPartnered = 6;  // psi that may come two at once
constexpr Index kPrefactorRows = 1000;

}  // namespace

// In the order of what they promised one level earlier, so that good ones come first.
void Guide::make_goals() {
  note_promises();
  goals_.clear();
  log_goals_.clear();
  for (const LogTarget& target : log_targets(problem_.target_table, settings_)) {
    LogGoal goal{target, values_of(target.logarithm, y_, problem_.target_table), 1.0, {}, {}, 0};
    if (goal.values.empty()) continue;
    goal.promise = promised(key(goal));
    log_goals_.push_back(std::move(goal));
  }
  if (stage_ == 0) {
    find_prefactors();
    choose_rows(rows(level_, problem_.x.n_features()));
  }
  if (level_ < 2) add_shifted_log_goals();
  for (const Basis& psi : sum_targets(problem_.target_table, settings_)) {
    const Buffer values = values_of(psi, y_, problem_.target_table);
    if (values.empty()) continue;
    goals_.push_back({psi, {}, values, 1.0, {}, {}, {}, 0});
  }
  add_prefactor_goals();
  add_partner_goals();
  for (Goal& goal : goals_) goal.promise = promised(key(goal));
  number_goals();
  // What is left of psi says little about y where psi is steep: y, 1/y, y^2 and ln|y| stay in
  // front.
  const auto by_promise = [](const auto& a, const auto& b) { return a.promise < b.promise; };
  const auto n_first = static_cast<std::ptrdiff_t>(std::min<std::size_t>(3, goals_.size()));
  std::stable_sort(goals_.begin() + n_first, goals_.end(), by_promise);
  if (!log_goals_.empty()) std::stable_sort(log_goals_.begin() + 1, log_goals_.end(), by_promise);
}

// Scans of goals come before those that are given out in turn.
void Guide::number_goals() {
  for (Goal& goal : goals_) goal.number = n_planned_++;
  for (LogGoal& goal : log_goals_) goal.number = n_planned_++;
}

std::uint64_t Guide::key(const Goal& goal) {
  Writer writer;
  writer.basis(goal.psi);
  writer.monomial(goal.prefactor);
  writer.basis(goal.partner);
  return fingerprint(writer.bytes());
}

std::uint64_t Guide::key(const LogGoal& goal) {
  Writer writer;
  writer.basis(goal.target.logarithm);
  return ~fingerprint(writer.bytes());  // the same psi may be a goal of a sum
}

double Guide::promised(std::uint64_t key) const {
  const auto found = promises_.find(key);
  return found == promises_.end() ? 1.0 : found->second;
}

// Goals with shifted logarithms are new at every stage.
Promises Guide::promises() const {
  Promises out;
  for (const Goal& goal : goals_)
    if (goal.promise < 1.0) out[key(goal)] = goal.promise;
  for (const LogGoal& goal : log_goals_)
    if (goal.promise < 1.0 && goal.prefactor.empty()) out[key(goal)] = goal.promise;
  return out;
}

void Guide::learn(const Promises& promises) {
  for (const auto& [goal, promise] : promises) {
    const auto found = learned_.emplace(goal, promise).first;
    found->second = std::min(found->second, promise);
  }
}

void Guide::note_promises() {
  learn(promises());
  for (const auto& [goal, promise] : learned_) {
    const auto found = promises_.emplace(goal, promise).first;
    found->second = std::min(found->second, promise);
  }
  learned_.clear();
}

// Islands that share the work differ a little in what they favour: none should be missed by all.
std::size_t Guide::n_favoured() const { return settings_.n_shares > 1 ? 2 * kFavoured : kFavoured; }

void Guide::weigh_goals() {
  TargetScale scale(y_, problem_.target_table, false, row_weights_);
  for (Goal& goal : goals_) {
    goal.weights = scale.weights(goal.psi);
    const Buffer prefactor = goal.prefactor.empty() ? Buffer() : monomial_values(goal.prefactor);
    for (std::size_t i = 0; i < prefactor.size(); ++i) goal.weights[i] *= std::abs(prefactor[i]);
  }
  for (LogGoal& goal : log_goals_) goal.weights = scale.weights(goal.target.logarithm);
}

// y, 1/y and y^2 are divided by p, 1/p and p^2.
void Guide::add_prefactor_goals() {
  const std::size_t n_plain = std::min<std::size_t>(goals_.size(), 3);
  for (const Monomial& prefactor : prefactors_) {
    for (std::size_t k = 0; k < n_plain; ++k) {
      Monomial scaled = prefactor;
      for (auto& [f, p] : scaled) p *= k == 0 ? 1 : k == 1 ? -1 : 2;
      const Buffer divisor = monomial_values(scaled);
      if (divisor.empty()) continue;
      Goal goal{goals_[k].psi, scaled, goals_[k].values, 1.0, {}, {}, {}, 0};
      for (Index i = 0; i < x_.n_rows(); ++i)
        goal.values[static_cast<std::size_t>(i)] /= divisor[static_cast<std::size_t>(i)];
      goals_.push_back(std::move(goal));
    }
  }
}

// y = p (1 + product) and y = p (-1 + product), with one more feature in p.
void Guide::add_shifted_log_goals() {
  if (log_goals_.empty()) return;
  std::vector<Monomial> tried;
  for (const int f : features_)
    for (const int sign : {1, -1}) tried.push_back({{f, sign}});
  for (const Monomial& found : prefactors_) {
    tried.push_back(found);
    for (const int f : features_)
      for (const int sign : {1, -1}) {
        const auto known = [f](const auto& power) { return power.first == f; };
        if (std::any_of(found.begin(), found.end(), known)) continue;
        tried.push_back(found);
        tried.back().emplace_back(f, sign);
      }
  }
  for (const Monomial& prefactor : tried) {
    const Buffer divisor = monomial_values(prefactor);
    if (divisor.empty()) continue;
    for (const double shift : {-1.0, 1.0}) {
      LogGoal goal{log_goals_[0].target, divisor, 1.0, prefactor, {}, 0};
      bool finite = true;
      for (Index i = 0; i < x_.n_rows(); ++i) {
        double& v = goal.values[static_cast<std::size_t>(i)];
        v = std::log(std::abs(y_.features[0][i] / v + shift));
        finite = finite && std::isfinite(v);
      }
      if (finite) log_goals_.push_back(std::move(goal));
    }
  }
}

// Two psi at once: the second one stands beside the terms.
void Guide::add_partner_goals() {
  if (!settings_.transform_target || goals_.empty()) return;
  const std::size_t n = std::min(goals_.size(), kPartnered);
  for (std::size_t a = 1; a < n; ++a)
    for (std::size_t b = 0; b < std::min<std::size_t>(a, 2); ++b) {
      if (!goals_[a].prefactor.empty() || !goals_[b].prefactor.empty()) continue;
      Goal goal = goals_[a];
      goal.partner = goals_[b].psi;
      goal.partner_values = goals_[b].values;
      goals_.push_back(std::move(goal));
    }
}

// A feature that enters as a power shows a constant slope of ln|y| in ln|x|: in a quadratic fit its
// linear coefficient is a small number and its other coefficients vanish.
void Guide::find_prefactors() {
  choose_rows(kPrefactorRows);
  const Index n = x_.n_rows();
  const auto d = static_cast<Index>(features_.size());
  const Index n_columns = 1 + d + d * (d + 1) / 2;
  if (log_goals_.empty() || n < n_columns + 10) return;
  Columns logs(n, d);
  for (Index j = 0; j < d; ++j)
    for (Index i = 0; i < n; ++i) {
      const double v =
          std::log(std::abs(x_.features[features_[static_cast<std::size_t>(j)] - 1][i]));
      if (!std::isfinite(v)) return;
      logs[j][i] = v;
    }
  for (Index j = 0; j < d; ++j) {
    Eigen::Map<Vector> column(logs[j], n);
    column.array() -= column.mean();
  }
  Orthogonalizer qr;
  qr.reset(n, n_columns);
  std::vector<std::pair<Index, Index>> meaning;
  Buffer column(static_cast<std::size_t>(logs.stride()), 0.0);
  const auto push = [&](Index a, Index b) {
    for (Index i = 0; i < n; ++i)
      column[static_cast<std::size_t>(i)] = (a < 0 ? 1.0 : logs[a][i]) * (b < 0 ? 1.0 : logs[b][i]);
    if (qr.push(column.data(), 1e-6)) meaning.emplace_back(a, b);
  };
  push(-1, -1);
  for (Index j = 0; j < d; ++j) push(j, -1);
  for (Index j = 0; j < d; ++j)
    for (Index k = j; k < d; ++k) push(j, k);
  Buffer rest = values_of(log_goals_[0].target.logarithm, y_, problem_.target_table);
  if (rest.empty()) return;
  Vector projected(qr.size()), coefficient(qr.size()), error(qr.size());
  qr.project(rest.data(), projected.data());
  qr.solve(projected.data(), coefficient.data());
  qr.inverse_row_norms(error.data());
  const double left = std::sqrt(std::inner_product(rest.begin(), rest.end(), rest.begin(), 0.0) /
                                static_cast<double>(n - qr.size()));
  Monomial pure, doubtful;
  for (Index j = 0; j < d; ++j) {
    double slope = 0.0, slope_error = 0.0, worst = 0.0;
    for (Index k = 0; k < qr.size(); ++k) {
      const auto [a, b] = meaning[static_cast<std::size_t>(k)];
      const double sigma = left * error(k);
      if (a == j && b < 0) slope = coefficient(k), slope_error = sigma;
      if (b >= 0 && (a == j || b == j)) worst = std::max(worst, std::abs(coefficient(k)) / sigma);
    }
    const auto power = static_cast<int>(std::lround(slope));
    const bool near = std::abs(slope - power) < std::max(4.0 * slope_error, 1e-9);
    if (power == 0 || std::abs(power) > 4 || !near || slope_error > 0.2) continue;
    doubtful.emplace_back(features_[static_cast<std::size_t>(j)], power);
    if (worst < 4.0) pure.emplace_back(features_[static_cast<std::size_t>(j)], power);
  }
  for (const Monomial& found : {pure, doubtful})
    if (!found.empty() &&
        std::find(prefactors_.begin(), prefactors_.end(), found) == prefactors_.end())
      prefactors_.push_back(found);
}

}  // namespace gsr
