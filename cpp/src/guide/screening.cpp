#include "screening.hpp"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <numeric>
#include <utility>

#include "gsr/least_squares.hpp"
#include "tuning.hpp"

namespace gsr::guide {
namespace {

using namespace tuning;
using Map = Eigen::Map<const Vector>;

// ---- functions of one feature
// --------------------------------------------------------------------

// Ranks between -1 and 1, equal values in the middle of theirs: no row is far from the others.
Vector even_ranks(const double* x, Index n) {
  std::vector<Index> order(n);
  std::iota(order.begin(), order.end(), Index{0});
  std::sort(order.begin(), order.end(), [x](Index a, Index b) { return x[a] < x[b]; });
  Vector out(n);
  for (Index first = 0, last = 0; first < n; first = last) {
    while (last < n && x[order[last]] == x[order[first]]) ++last;
    const double rank = static_cast<double>(first + last) / static_cast<double>(n) - 1.0;
    for (Index i = first; i < last; ++i) out(order[i]) = rank;
  }
  return out;
}

void standardise(Vector& column) {
  const double largest = column.cwiseAbs().maxCoeff();
  if (largest > 0.0) column /= largest;
  column.array() -= column.mean();
  const double size = column.norm();
  if (size > 0.0) column *= std::sqrt(static_cast<double>(column.size())) / size;
}

// The feature as it is, but for rows far out.
Vector clipped(const double* x, Index n) {
  std::vector<double> sorted(x, x + n);
  std::sort(sorted.begin(), sorted.end());
  const Index cut = static_cast<Index>(kClippedPart * static_cast<double>(n));
  Vector out = Map(x, n).cwiseMax(sorted[cut]).cwiseMin(sorted[n - 1 - cut]);
  standardise(out);
  if (out.squaredNorm() > 0.0) return out;
  out = even_ranks(x, n);  // nearly always the same value
  standardise(out);
  return out;
}

// Legendre polynomials of the ranks, from degree 1 on; nearly orthogonal, of any shape together.
Matrix polynomials(const Vector& rank, Index degree) {
  Matrix out(rank.size(), degree);
  Vector before = Vector::Ones(rank.size()), current = rank;
  for (Index k = 1; k <= degree; ++k) {
    Vector column = current;
    standardise(column);
    out.col(k - 1) = column;
    const auto number = static_cast<double>(k);
    const Vector next =
        ((2.0 * number + 1.0) * rank.cwiseProduct(current) - number * before) / (number + 1.0);
    before = std::exchange(current, next);
  }
  return out;
}

// ---- evidence
// ------------------------------------------------------------------------------------

// How far below what chance does (Chernoff's bound for chi squared): nats by which `n` rows of
// which `n_functions` explain this share say that it is no accident among so many candidates.
double evidence(double share, Index n_functions, Index n, double n_candidates) {
  const auto k = static_cast<double>(std::max<Index>(n_functions, 1));
  const double rest = std::max(1.0 - share, std::numeric_limits<double>::min());
  const double seen = -static_cast<double>(n) * std::log(rest);
  const double tail = seen <= k ? 0.0 : 0.5 * (seen - k - k * std::log(seen / k));
  return tail - std::log(n_candidates);
}

struct Finding {
  double evidence = -std::numeric_limits<double>::infinity();
  std::vector<Index> features;
};

// ---- the choice
// ----------------------------------------------------------------------------------

class Screening {
 public:
  Screening(const Columns& x, const double* y, const std::vector<int>& features, std::size_t most);
  std::vector<Index> choose();

 private:
  void make_functions(const Columns& x, const std::vector<int>& features);
  void choose_paired();
  void measure_products();

  Finding strongest();
  void look_at_single(Index target, Finding& best);
  void look_at_differences(Index target, Finding& best);
  void look_at_products(Index target, Finding& best);
  void look_at_triples(Index target, Finding& best);
  void note(double evidence, std::initializer_list<Index> features, Finding& best);
  bool is_chosen(Index f) const {
    return std::find(chosen_.begin(), chosen_.end(), f) != chosen_.end();
  }

  void add(const Finding& found);
  void project_out(const Matrix& functions);
  void normalise_targets();
  void orthonormalise(Index feature);
  void add_products_of(const std::vector<Index>& features);

  Index n_left() const { return n_ - n_free_; }
  Index product_feature(Index j) const { return paired_[j % ssize(paired_)]; }

  const Index n_, d_, degree_;
  const std::size_t most_;
  Matrix values_;             // the features, clipped
  Matrix line_, bow_;         // first and second polynomial of each
  std::vector<Matrix> own_;   // orthonormal functions of each beside the free ones; 0 if dependent
  std::vector<Index> n_own_;  // that are not 0
  Matrix targets_;            // what is left of y and of its ranks, of norm 1 unless it is nothing
  double left_[2] = {1.0, 1.0};  // parts of their norms
  Matrix free_;                  // orthonormal functions that are explained already
  Index n_free_ = 0;
  std::vector<Index> paired_;  // features of which pairs are looked at
  Matrix factors_, norms_;     // of products of two, and what they are divided by
  std::vector<double> score_;  // evidence of each feature at the last look
  std::vector<Index> chosen_;
};

Screening::Screening(const Columns& x, const double* y, const std::vector<int>& features,
                     std::size_t most)
    : n_(x.n_rows()),
      d_(ssize(features)),
      degree_(std::clamp<Index>(n_ / kRowsPerShape, 1, kShapes)),
      most_(most),
      score_(d_, -std::numeric_limits<double>::infinity()) {
  Vector target = Map(y, n_);
  standardise(target);
  targets_.resize(n_, 2);
  targets_ << target, even_ranks(y, n_);
  targets_.colwise().normalize();
  make_functions(x, features);
  free_.resize(n_, std::min(n_ / kRowsPerExplained + 1, kMostExplained));
  project_out(Matrix::Ones(n_, 1));
  choose_paired();
  measure_products();
}

void Screening::make_functions(const Columns& x, const std::vector<int>& features) {
  values_.resize(n_, d_);
  line_.resize(n_, d_);
  bow_.resize(n_, d_);
  for (Index f = 0; f < d_; ++f) {
    const double* column = x[features[f] - 1];
    values_.col(f) = clipped(column, n_);
    const Matrix shapes = polynomials(even_ranks(column, n_), std::max<Index>(degree_, 2));
    line_.col(f) = shapes.col(0);
    bow_.col(f) = shapes.col(1);
    Matrix own(n_, degree_ + 1);
    own << values_.col(f), shapes.leftCols(degree_);
    own_.push_back(own / std::sqrt(static_cast<double>(n_)));
  }
  n_own_.assign(d_, 0);
}

// Time grows with the square of their number.
void Screening::choose_paired() {
  paired_.resize(d_);
  std::iota(paired_.begin(), paired_.end(), Index{0});
  if (d_ <= kMostPairedFeatures) return;
  Finding best;
  for (Index target = 0; target < targets_.cols(); ++target) look_at_single(target, best);
  std::stable_sort(paired_.begin(), paired_.end(),
                   [&](Index a, Index b) { return score_[a] > score_[b]; });
  paired_.resize(kMostPairedFeatures);
  std::sort(paired_.begin(), paired_.end());
}

void Screening::measure_products() {
  const Index m = ssize(paired_);
  factors_.resize(n_, 2 * m);
  for (Index j = 0; j < m; ++j) {
    factors_.col(j) = line_.col(paired_[j]);
    factors_.col(m + j) = bow_.col(paired_[j]);
  }
  const Matrix squares = factors_.cwiseAbs2();
  norms_ = squares.transpose() * squares;
  const Matrix means = factors_.transpose() * factors_ / std::sqrt(static_cast<double>(n_));
  norms_ -= means.cwiseAbs2();
}

// ---- looks

void Screening::note(double found, std::initializer_list<Index> features, Finding& best) {
  for (const Index f : features) score_[f] = std::max(score_[f], found);
  if (found <= best.evidence) return;
  const auto n_new =
      std::count_if(features.begin(), features.end(), [this](Index f) { return !is_chosen(f); });
  if (chosen_.size() + static_cast<std::size_t>(n_new) <= most_) best = {found, features};
}

void Screening::look_at_single(Index target, Finding& best) {
  const auto n_candidates = static_cast<double>(targets_.cols() * 2 * d_);
  for (Index f = 0; f < d_; ++f) {
    const Vector inside = own_[f].transpose() * targets_.col(target);
    const double line = inside(0) * inside(0);
    note(evidence(line, 1, n_left(), n_candidates), {f}, best);
    note(evidence(inside.squaredNorm(), n_own_[f], n_left(), n_candidates), {f}, best);
  }
}

// Two features that are much alike may explain together what neither does alone. A partner of one
// that does must beat chance, too.
void Screening::look_at_differences(Index target, Finding& best) {
  const Index m = ssize(paired_);
  Matrix lines(n_, m);
  for (Index j = 0; j < m; ++j) lines.col(j) = own_[paired_[j]].col(0);
  const Matrix alike = lines.transpose() * lines;
  const Vector a = lines.transpose() * targets_.col(target);
  const double n_candidates = static_cast<double>(targets_.cols() * m * (m - 1)) / 2.0;
  for (Index i = 0; i < m; ++i)
    for (Index j = i + 1; j < m; ++j) {
      const double c = alike(i, j);
      if (1.0 - c * c < kSameFeature) continue;
      const double share = (a(i) * a(i) + a(j) * a(j) - 2.0 * a(i) * a(j) * c) / (1.0 - c * c);
      note(evidence(share, 2, n_left(), n_candidates) - kLeastEvidence, {paired_[i], paired_[j]},
           best);
    }
}

void Screening::look_at_products(Index target, Finding& best) {
  const Index m = ssize(paired_);
  const Matrix scaled = targets_.col(target).asDiagonal() * factors_;
  const Matrix explained = factors_.transpose() * scaled;
  const double n_candidates = static_cast<double>(targets_.cols() * 4 * m * (m - 1)) / 2.0;
  for (Index i = 0; i < 2 * m; ++i)
    for (Index j = i + 1; j < 2 * m; ++j) {
      if (j == i + m || norms_(i, j) <= kSameFeature * static_cast<double>(n_)) continue;
      const double share = explained(i, j) * explained(i, j) / norms_(i, j);
      note(evidence(share, 1, n_left(), n_candidates), {product_feature(i), product_feature(j)},
           best);
    }
}

// Of the ranks alone, and of those features that explain most otherwise if there are many.
void Screening::look_at_triples(Index target, Finding& best) {
  std::vector<Index> among = paired_;
  std::stable_sort(among.begin(), among.end(),
                   [&](Index a, Index b) { return score_[a] > score_[b]; });
  const double operations = 3.0 * kTripleOperations / static_cast<double>(n_);
  among.resize(std::min<std::size_t>(among.size(), std::size_t(std::cbrt(operations))));
  const Index m = ssize(among);
  const double n_candidates = static_cast<double>(targets_.cols() * m * (m - 1) * (m - 2)) / 6.0;
  Matrix lines(n_, m);
  for (Index j = 0; j < m; ++j) lines.col(j) = line_.col(among[j]);
  for (Index k = 2; k < m; ++k) {
    const auto earlier = lines.leftCols(k);
    const Vector weighted = targets_.col(target).cwiseProduct(lines.col(k));
    const Matrix explained = earlier.transpose() * (weighted.asDiagonal() * earlier);
    for (Index i = 0; i < k; ++i)
      for (Index j = i + 1; j < k; ++j) {
        const double share = explained(i, j) * explained(i, j) / static_cast<double>(n_);
        note(evidence(share, 1, n_left(), n_candidates), {among[i], among[j], among[k]}, best);
      }
  }
}

Finding Screening::strongest() {
  std::fill(score_.begin(), score_.end(), -std::numeric_limits<double>::infinity());
  Finding best;
  for (Index target = 0; target < targets_.cols(); ++target) {
    look_at_single(target, best);
    look_at_differences(target, best);
    look_at_products(target, best);
  }
  if (best.evidence >= kLeastEvidence) return best;
  for (Index target = 0; target < targets_.cols(); ++target) look_at_triples(target, best);
  return best;
}

// ---- what is explained

void Screening::add(const Finding& found) {
  for (const Index f : found.features) {
    if (is_chosen(f)) continue;
    chosen_.push_back(f);
    project_out(Matrix(own_[f]));
  }
  if (found.features.size() > 1) add_products_of(found.features);
}

void Screening::add_products_of(const std::vector<Index>& features) {
  const Index n_functions = Index{1} << features.size();
  Matrix products = Matrix::Ones(n_, n_functions + 1);
  for (std::size_t k = 0; k < features.size(); ++k)
    for (Index j = 0; j < n_functions; ++j)
      products.col(j).array() *= ((j >> k) % 2 == 0 ? line_ : bow_).col(features[k]).array();
  for (const Index f : features) products.col(n_functions).array() *= values_.col(f).array();
  project_out(products);
}

void Screening::project_out(const Matrix& functions) {
  const Index first = n_free_;
  for (Index j = 0; j < functions.cols() && n_free_ < free_.cols(); ++j) {
    Vector column = functions.col(j);
    const double size = column.norm();
    for (int pass = 0; pass < 2; ++pass)
      column -= free_.leftCols(n_free_) * (free_.leftCols(n_free_).transpose() * column);
    const double left = column.norm();
    if (left > kSameFunction * size) free_.col(n_free_++) = column / left;
  }
  const auto added = free_.middleCols(first, n_free_ - first);
  targets_ -= added * (added.transpose() * targets_);
  normalise_targets();
  for (Index f = 0; f < d_; ++f) {
    own_[f] -= added * (added.transpose() * own_[f]);
    orthonormalise(f);
  }
}

void Screening::normalise_targets() {
  for (Index target = 0; target < targets_.cols(); ++target) {
    const double left = targets_.col(target).norm();
    left_[target] *= left;
    targets_.col(target) *= left_[target] > kAllExplained ? 1.0 / left : 0.0;
  }
}

void Screening::orthonormalise(Index feature) {
  Matrix& own = own_[feature];
  n_own_[feature] = 0;
  for (Index j = 0; j < own.cols(); ++j) {
    const auto earlier = own.leftCols(j);
    own.col(j) -= earlier * (earlier.transpose() * own.col(j));
    const double left = own.col(j).norm();
    if (left > kSameFunction) {
      own.col(j) /= left;
      ++n_own_[feature];
    } else {
      own.col(j).setZero();
    }
  }
}

std::vector<Index> Screening::choose() {
  for (int step = 0; step < kScreeningSteps; ++step) {
    const Finding found = strongest();
    if (found.evidence < kLeastEvidence) break;
    add(found);
    if (chosen_.size() == most_ || n_free_ == free_.cols()) break;
  }
  std::vector<Index> others(d_);
  std::iota(others.begin(), others.end(), Index{0});
  std::stable_sort(others.begin(), others.end(),
                   [&](Index a, Index b) { return score_[a] > score_[b]; });
  for (const Index f : others)
    if (chosen_.size() < most_ && !is_chosen(f)) chosen_.push_back(f);
  return chosen_;
}

}  // namespace

std::vector<int> screen_features(const Columns& x, const double* y,
                                 const std::vector<int>& features, std::size_t most) {
  std::vector<int> out;
  for (const Index f : Screening(x, y, features, most).choose()) out.push_back(features[f]);
  return out;
}

}  // namespace gsr::guide
