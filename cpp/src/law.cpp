#include "gsr/law.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "gsr/evaluate.hpp"

namespace gsr {
namespace {

constexpr std::size_t kKeptTargets = 32;
constexpr std::size_t kKeptBytes = std::size_t{1} << 20;
// A law for y^2, ln|y| or tan(y) leaves open which solution is meant. The nearest solution flatters
// a poor one, so it must explain the transformed target this well.
constexpr double kOpenBranch = 0.1;
constexpr double kStrictOpenBranch = 0.01;
// With at least this share of the rows on one side of the mirror, noise put the others across it:
// the solution on that side is meant for all rows.
constexpr double kOneSide = 0.8;
constexpr double kLeastKnown = 0.2;  // share of the rows whose side is certain
// So does one whose left side repeats or turns within the range of y, to a greater degree.
constexpr double kTurningTarget = 1e-6;
constexpr double kLargestWeight = 100.0;  // relative to the median

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

double median(std::vector<double> values) {
  const auto middle = values.begin() + ssize(values) / 2;
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

bool bound_sizes(std::vector<double>& sizes, const Buffer& row_weights, double factor) {
  std::vector<double> known, weighted;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (!std::isfinite(sizes[i])) continue;
    known.push_back(sizes[i]);
    weighted.push_back(row_weights.empty() ? sizes[i] : row_weights[i] * sizes[i]);
  }
  if (known.empty()) return false;
  const double typical = median(std::move(known));
  const double most = factor * median(std::move(weighted));
  if (!(most > 0.0)) return false;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const double weight = row_weights.empty() ? 1.0 : row_weights[i];
    if (weight * sizes[i] > most) sizes[i] = std::max(most / weight, std::min(sizes[i], typical));
  }
  return true;
}

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

TargetScale::TargetScale(const Dataset& y, const Table& table, bool strict, Buffer row_weights)
    : y_(y), table_(table), strict_(strict), row_weights_(std::move(row_weights)) {
  const Eigen::Map<const Eigen::ArrayXd> values(y.features[0], y.n_rows());
  Eigen::ArrayXd w = Eigen::ArrayXd::Ones(y.n_rows());
  if (!row_weights_.empty())
    w = Eigen::Map<const Eigen::ArrayXd>(row_weights_.data(), y.n_rows()).square();
  mean_ = (w * values).mean();
  spread_ = std::sqrt((w * (values - mean_).square()).mean());
}

const TargetScale::Info& TargetScale::info(const Basis& psi) {
  const auto found = infos_.find(psi);
  if (found != infos_.end()) return found->second;
  if (infos_.size() >= kKeptTargets) infos_.clear();
  return infos_.emplace(psi, make_info(psi)).first->second;
}

// The derivative by the product rule over factors that are chains, else by differences.
TargetScale::Info TargetScale::make_info(const Basis& psi) const {
  const auto n = static_cast<std::size_t>(y_.n_rows());
  const double* y = y_.features[0];
  Evaluator evaluator(y_, table_, kKeptBytes);
  Info info;
  info.values.resize(y_.features.stride());
  evaluator.evaluate(psi, info.values.data());
  info.derivative.assign(info.values.size(), 0.0);
  if (!differentiate(psi, info.derivative)) differentiate_by_steps(psi, info.derivative);
  int factors = 0;
  for (int i = 0; i < psi.size; ++i) factors += psi.is_inner(i) ? 0 : 1;
  if (factors == 1) info.chain = chain_of(psi, 0);
  Buffer value(n), term(n);
  for (std::size_t i = 0; i < n; ++i) {
    const double root = row_weights_.empty() ? 1.0 : row_weights_[i];
    value[i] = root * info.values[i];
    term[i] = root * info.derivative[i] * y[i];
  }
  info.rounding_norm = norm(value) + norm(term);
  return info;
}

TargetScale::Chain TargetScale::chain_of(const Basis& psi, int row) const {
  Chain chain;
  if (!add_link(psi, row, chain)) chain.clear();
  return chain;
}

// Follows the one operand that is not a number.
bool TargetScale::add_link(const Basis& psi, int i, Chain& chain) const {
  const Row& row = psi.rows[i];
  Link link;
  link.t = &table_[row.code()];
  link.reciprocal = row.reciprocal();
  auto weight = static_cast<std::size_t>(psi.first_weight(i));
  int inside = 0;
  bool divided = false;
  for (const std::int16_t v : row.variables) {
    if (v == 0) continue;
    double factor = v < 0 ? -1.0 : 1.0;
    if (row.argument == ArgumentType::weighted) factor = psi.weights[weight++];
    if (std::abs(v) == kOne) {
      if (row.argument == ArgumentType::product) continue;
      link.shift += factor;
      continue;
    }
    if (inside != 0) return false;
    inside = std::abs(v);
    divided = row.argument == ArgumentType::product && v < 0;
    link.scale = divided ? 1.0 : factor;
  }
  if (inside == 0) return false;
  const auto n = static_cast<std::size_t>(y_.n_rows());
  if (inside > kOne && !add_link(psi, inside - kOne - 1, chain)) return false;
  if (divided) {
    // T(1/u) is two steps, unless T passes 1/u on.
    if (row.code() != table_.identity()) return false;
    link.reciprocal = !link.reciprocal;
  }
  const double* u = inside > kOne ? chain.back().value.data() : y_.features[0];
  link.argument.resize(n);
  link.value.resize(n);
  for (std::size_t k = 0; k < n; ++k) link.argument[k] = link.scale * u[k] + link.shift;
  link.t->value(link.argument.data(), link.value.data(), n);
  if (link.reciprocal)
    for (double& v : link.value) v = 1.0 / v;
  chain.push_back(std::move(link));
  return true;
}

bool TargetScale::differentiate(const Basis& psi, Buffer& out) const {
  const auto n = static_cast<std::size_t>(y_.n_rows());
  std::vector<Buffer> values, slopes;
  for (int i = 0; i < psi.size; ++i) {
    if (psi.is_inner(i)) continue;
    const Chain chain = chain_of(psi, i);
    if (chain.empty()) return false;
    Buffer slope(n, 1.0), step(n);
    for (const Link& link : chain) {
      derivative(*link.t, link.argument.data(), step.data(), n);
      for (std::size_t k = 0; k < n; ++k) {
        slope[k] *= link.scale * step[k];
        if (link.reciprocal) slope[k] *= -link.value[k] * link.value[k];
      }
    }
    values.push_back(chain.back().value);
    slopes.push_back(std::move(slope));
  }
  for (std::size_t chosen = 0; chosen < slopes.size(); ++chosen) {
    for (std::size_t k = 0; k < n; ++k) {
      double term = slopes[chosen][k];
      for (std::size_t other = 0; other < values.size(); ++other)
        if (other != chosen) term *= values[other][k];
      out[k] += term;
    }
  }
  return true;
}

void TargetScale::differentiate_by_steps(const Basis& psi, Buffer& out) const {
  const auto n = static_cast<std::size_t>(y_.n_rows());
  const auto psi_at = [&](const double* y, double* values, std::size_t) {
    Columns column(y_.n_rows(), 1);
    std::copy_n(y, n, column[0]);
    const Dataset moved{std::move(column)};
    Buffer padded_values(y_.features.stride());
    Evaluator(moved, table_, kKeptBytes).evaluate(psi, padded_values.data());
    std::copy_n(padded_values.begin(), n, values);
  };
  central_difference(psi_at, y_.features[0], out.data(), n);
}

TargetSizes TargetScale::sizes(const Law& law) {
  const Index n = y_.n_rows();
  const Eigen::Map<const Eigen::ArrayXd> y(y_.features[0], n);
  TargetSizes out{Eigen::VectorXd::Zero(n), Eigen::VectorXd::Zero(n)};
  for (std::size_t k = 0; k < law.psi.size(); ++k) {
    const Info& psi = info(law.psi[k]);
    const Eigen::Map<const Eigen::ArrayXd> values(psi.values.data(), n);
    const Eigen::Map<const Eigen::ArrayXd> slope(psi.derivative.data(), n);
    out.values.array() += law.beta[k] * values;
    out.sizes.array() += std::abs(law.beta[k]) * (values.abs() + (slope * y).abs());
  }
  return out;
}

// Every step is undone on the branch that y itself is on, or on the one that most rows are on.
void TargetScale::solve(const Chain& chain, const double* f, bool one_sided) {
  const auto n = static_cast<std::size_t>(y_.n_rows());
  std::copy_n(f, n, scratch_.data());
  for (auto link = chain.rbegin(); link != chain.rend(); ++link) {
    const Transformation& t = *link->t;
    const bool most_above = one_sided && share_above(*link) >= 0.5;
    if (link->reciprocal)
      for (double& v : scratch_) v = 1.0 / v;
    t.inverse(scratch_.data(), scratch_.data(), n);
    for (std::size_t i = 0; i < n; ++i) {
      const double here = link->argument[i];
      const auto nearest_repeat = [&](double solution) {
        return t.period == 0.0 ? solution
                               : solution + t.period * std::round((here - solution) / t.period);
      };
      double best = nearest_repeat(scratch_[i]);
      if (!std::isnan(t.mirror)) {
        const double other = nearest_repeat(t.mirror - scratch_[i]);
        const bool nearer = std::abs(other - here) < std::abs(best - here);
        if (one_sided ? (other > best) == most_above : nearer) best = other;
      }
      scratch_[i] = (best - link->shift) / link->scale;
    }
  }
  const double* y = y_.features[0];
  for (std::size_t i = 0; i < n; ++i) scratch_[i] = y[i] - scratch_[i];
}

// Of the rows, above the point where the transformation is mirrored.
double TargetScale::share_above(const Link& link) {
  const double centre = 0.5 * link.t->mirror;
  const auto n = std::count_if(link.argument.begin(), link.argument.end(),
                               [centre](double v) { return v > centre; });
  return static_cast<double>(n) / static_cast<double>(link.argument.size());
}

bool TargetScale::is_one_sided(const Chain& chain) const {
  return std::all_of(chain.begin(), chain.end(), [](const Link& link) {
    if (std::isnan(link.t->mirror)) return true;
    const double above = share_above(link);
    return link.t->period == 0.0 && std::max(above, 1.0 - above) >= kOneSide;
  });
}

// A periodic function turns at every half period from its mirror on.
bool TargetScale::uses_both_branches(const Chain& chain) const {
  return std::any_of(chain.begin(), chain.end(), [](const Link& link) {
    if (std::isnan(link.t->mirror)) return false;
    const auto [low, high] = std::minmax_element(link.argument.begin(), link.argument.end());
    const double half = 0.5 * link.t->period;
    double centre = 0.5 * link.t->mirror;
    if (half > 0.0) centre += half * std::ceil((*low - centre) / half);
    return *low < centre && centre < *high;
  });
}

// Rows no farther from the mirror than noise has carried others across it: their side is unknown,
// and ln|y| of them is noise alone.
std::vector<char> TargetScale::rows_of_unknown_side(const Chain& chain) const {
  std::vector<char> unknown(y_.n_rows(), 0);
  if (!uses_both_branches(chain) || !is_one_sided(chain)) return unknown;
  for (const Link& link : chain) {
    if (std::isnan(link.t->mirror)) continue;
    const double centre = 0.5 * link.t->mirror;
    const double side = share_above(link) >= 0.5 ? 1.0 : -1.0;
    double reach = 0.0;
    for (const double v : link.argument) reach = std::max(reach, side * (centre - v));
    for (std::size_t i = 0; i < unknown.size(); ++i)
      if (std::abs(link.argument[i] - centre) <= reach) unknown[i] = 1;
  }
  const auto n_known = std::count(unknown.begin(), unknown.end(), 0);
  if (static_cast<double>(n_known) < kLeastKnown * static_cast<double>(unknown.size()))
    std::fill(unknown.begin(), unknown.end(), 0);
  return unknown;
}

Buffer TargetScale::weights(const Basis& psi) {
  const auto n = static_cast<std::size_t>(y_.n_rows());
  Buffer out(y_.features.stride(), 0.0);
  const Buffer& slope = info(psi).derivative;
  std::vector<double> sizes(n);
  for (std::size_t i = 0; i < n; ++i) {
    const double size = 1.0 / std::abs(slope[i]);
    sizes[i] = std::isnan(size) ? 0.0 : size;
  }
  if (!bound_sizes(sizes, row_weights_, kLargestWeight)) std::fill(sizes.begin(), sizes.end(), 1.0);
  for (std::size_t i = 0; i < n; ++i)
    out[i] = sizes[i] * (row_weights_.empty() ? 1.0 : row_weights_[i]);
  const std::vector<char> unknown = rows_of_unknown_side(info(psi).chain);
  for (std::size_t i = 0; i < n; ++i)
    if (unknown[i] != 0) out[i] = 0.0;
  return out;
}

// The nearest of many repeats is never far, whatever the law.
bool TargetScale::repeats(const Chain& chain) const {
  return std::any_of(chain.begin(), chain.end(), [](const Link& link) {
    const auto [low, high] = std::minmax_element(link.argument.begin(), link.argument.end());
    return link.t->period > 0.0 && *high - *low > 0.5 * link.t->period;
  });
}

bool TargetScale::leaves_sign_open(const Law& law) {
  if (law.psi.size() != 1) return false;
  const Chain& chain = info(law.psi[0]).chain;
  const bool logarithm = !chain.empty() && chain.back().t->name == "ln";
  return !chain.empty() && !logarithm && (uses_both_branches(chain) || repeats(chain));
}

bool TargetScale::has_inverse(const Basis& psi) {
  const Chain& chain = info(psi).chain;
  return !chain.empty() && std::all_of(chain.begin(), chain.end(), [](const Link& link) {
    return static_cast<bool>(link.t->inverse);
  });
}

bool TargetScale::is_identity(const Basis& psi) const {
  return psi.size == 1 && psi.rows[0].transformation == table_.identity() &&
         psi.rows[0].argument == ArgumentType::variable;
}

double TargetScale::transformed_error(const Basis& psi, const double* f) {
  const Index n = y_.n_rows();
  const Eigen::Map<const Eigen::ArrayXd> g(info(psi).values.data(), n);
  Eigen::ArrayXd w = Eigen::ArrayXd::Ones(n);
  if (!row_weights_.empty()) w = Eigen::Map<const Eigen::ArrayXd>(row_weights_.data(), n).square();
  const double left = (w * (g - Eigen::Map<const Eigen::ArrayXd>(f, n)).square()).sum();
  const double mean = (w * g).mean() / w.mean();
  return std::sqrt(left / (w * (g - mean).square()).sum());
}

void TargetScale::solve(const Basis& psi, const double* f, double* solution, double* slope) {
  const auto n = static_cast<std::size_t>(y_.n_rows());
  const Chain& chain = info(psi).chain;
  for (Buffer* buffer : {&scratch_, &argument_, &value_}) buffer->assign(n, 0.0);
  solve(chain, f, uses_both_branches(chain) && is_one_sided(chain));
  for (std::size_t i = 0; i < n; ++i) {
    solution[i] = y_.features[0][i] - scratch_[i];
    value_[i] = solution[i];
    slope[i] = 1.0;
  }
  for (const Link& link : chain) {
    for (std::size_t i = 0; i < n; ++i) argument_[i] = link.scale * value_[i] + link.shift;
    link.t->value(argument_.data(), value_.data(), n);
    derivative(*link.t, argument_.data(), scratch_.data(), n);
    for (std::size_t i = 0; i < n; ++i) {
      slope[i] /= link.scale * scratch_[i];
      if (!link.reciprocal) continue;
      slope[i] *= -value_[i] * value_[i];
      value_[i] = 1.0 / value_[i];
    }
  }
}

double TargetScale::rmse(const Law& law, const double* f) {
  const auto n = static_cast<std::size_t>(y_.n_rows());
  scratch_.assign(n, 0.0);
  if (law.psi.size() == 1 && has_inverse(law.psi[0])) {
    const Chain* chain = &info(law.psi[0]).chain;
    const double open = strict_ ? kStrictOpenBranch : kOpenBranch;
    const bool undecided = law.transformed_error > open && uses_both_branches(*chain);
    if ((undecided && !is_one_sided(*chain)) ||
        (strict_ && law.transformed_error > kTurningTarget && repeats(*chain)))
      return std::numeric_limits<double>::infinity();
    solve(*chain, f, undecided);
  } else {
    Buffer slope(n, 0.0);
    for (std::size_t k = 0; k < law.psi.size(); ++k) {
      const Info& psi = info(law.psi[k]);
      for (std::size_t i = 0; i < n; ++i) {
        scratch_[i] += law.beta[k] * psi.values[i];
        slope[i] += law.beta[k] * psi.derivative[i];
      }
    }
    const auto rising = [](double v) { return v > 0.0; };
    const auto n_rising = std::count_if(slope.begin(), slope.end(), rising);
    const bool turns = n_rising != 0 && n_rising != static_cast<std::ptrdiff_t>(n);
    if (strict_ && turns && law.transformed_error > kTurningTarget)
      return std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < n; ++i) scratch_[i] = (scratch_[i] - f[i]) / slope[i];
  }
  if (!row_weights_.empty())
    for (std::size_t i = 0; i < n; ++i) scratch_[i] *= row_weights_[i];
  const double square = std::inner_product(scratch_.begin(), scratch_.end(), scratch_.begin(), 0.0);
  return std::isfinite(square) ? std::sqrt(square / static_cast<double>(n))
                               : std::numeric_limits<double>::infinity();
}

}  // namespace gsr
