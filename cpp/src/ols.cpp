#include "gsr/ols.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "gsr/interrupt.hpp"
#include "gsr/thread_pool.hpp"
#include "small_blas.hpp"

namespace gsr::ols {
namespace {

// A column of which less than this is left beside the free or chosen ones says nothing new.
constexpr double kNothingLeft = 1e-7;
// Pairs that are this nearly parallel are a difference quotient, not two terms.
constexpr double kParallel = 1e-9;
constexpr Index kPairBlock = 32;
// What a thread does at a time: blocks of pairs, columns.
constexpr Index kBlockPiece = 4;
constexpr Index kColumnPiece = 256;

void insert_best(const Choice& choice, std::size_t count, std::vector<Choice>& best) {
  const auto better = [](const Choice& a, const Choice& b) { return a.rest < b.rest; };
  best.insert(std::upper_bound(best.begin(), best.end(), choice, better), choice);
  if (best.size() > count) best.pop_back();
}

}  // namespace

// A set under construction: q_k are its orthonormalised columns.
struct Pool::Node {
  std::vector<Index> chosen;
  std::vector<Buffer> q;
  Buffer residual;
  Vector correlation;  // p_j . residual
  Vector left;         // squared norm of p_j outside the chosen columns
  double rest = 1.0;
};

Pool::Pool(Columns columns, const Columns& free) : columns_(std::move(columns)) {
  free_.reset(free.n_rows(), free.n_columns());
  for (Index j = 0; j < free.n_columns(); ++j) free_.push(free[j]);
  usable_.assign(size(), 0);
  in_pieces(size(), kColumnPiece, [this](Index begin, Index end) { orthogonalise(begin, end); });
}

void Pool::orthogonalise(Index begin, Index end) {
  const Index n_free = std::max<Index>(free_.size(), 1);
  Vector inside(n_free), space(n_free);
  for (Index j = begin; j < end; ++j) {
    stop_if_asked();
    double* p = columns_[j];
    const double full = std::sqrt(small_blas::dot(p, p, columns_.stride()));
    if (!(full > 0.0) || !std::isfinite(full)) continue;
    free_.project(p, inside.data(), space.data());
    const double left = std::sqrt(small_blas::dot(p, p, columns_.stride()));
    if (left <= kNothingLeft * full) continue;
    for (Index i = 0; i < columns_.stride(); ++i) p[i] /= left;
    usable_[j] = 1;
  }
  for (Index j = begin; j < end; ++j)
    if (!usable(j)) std::fill_n(columns_[j], columns_.stride(), 0.0);
}

double Pool::prepare(const double* target, Buffer& out) const {
  const Index stride = columns_.stride();
  out.assign(target, target + stride);
  const double full = std::sqrt(small_blas::dot(out.data(), out.data(), stride));
  const Index n_free = std::max<Index>(free_.size(), 1);
  Vector inside(n_free), space(n_free);
  free_.project(out.data(), inside.data(), space.data());
  const double left = std::sqrt(small_blas::dot(out.data(), out.data(), stride));
  if (!std::isfinite(left) || left <= 1e-13 * full) return 0.0;
  for (double& v : out) v /= left;
  return left;
}

Pool::Node Pool::root(const Buffer& target, const Buffer* given) const {
  Node node;
  node.residual = target;
  node.correlation.resize(size());
  small_blas::dots(columns_[0], columns_.stride(), size(), target.data(), node.correlation.data());
  node.left = Vector::Ones(size());
  if (given != nullptr) add_direction(node, *given);
  return node;
}

Pool::Node Pool::extended(const Node& node, Index j) const {
  Node out = node;
  add_direction(out, Buffer(columns_[j], columns_[j] + columns_.stride()));
  out.left(j) = 0.0;
  out.chosen.push_back(j);
  return out;
}

// One product with the whole pool for each column that is added.
void Pool::add_direction(Node& node, Buffer q) const {
  stop_if_asked();
  const Index stride = columns_.stride();
  for (int pass = 0; pass < 2; ++pass) {
    for (const Buffer& other : node.q) {
      const double overlap = small_blas::dot(other.data(), q.data(), stride);
      for (std::size_t i = 0; i < q.size(); ++i) q[i] -= overlap * other[i];
    }
  }
  const double norm = std::sqrt(small_blas::dot(q.data(), q.data(), stride));
  for (double& v : q) v /= norm;
  Vector overlap(size());
  small_blas::dots(columns_[0], stride, size(), q.data(), overlap.data());
  const double step = small_blas::dot(q.data(), node.residual.data(), stride);
  for (std::size_t i = 0; i < q.size(); ++i) node.residual[i] -= step * q[i];
  node.correlation -= step * overlap;
  node.left.array() -= overlap.array().square();
  node.rest = small_blas::dot(node.residual.data(), node.residual.data(), stride);
  node.q.push_back(std::move(q));
}

std::vector<Index> Pool::best_next(const Node& node, std::size_t count) const {
  Vector gain(size());
  for (Index j = 0; j < size(); ++j) {
    const double left = node.left(j);
    gain(j) =
        usable(j) && left > kNothingLeft ? node.correlation(j) * node.correlation(j) / left : -1.0;
  }
  std::vector<Index> order(size());
  std::iota(order.begin(), order.end(), Index{0});
  count = std::min(count, order.size());
  std::partial_sort(order.begin(), order.begin() + count, order.end(), [&](Index a, Index b) {
    return gain(a) != gain(b) ? gain(a) > gain(b) : a < b;
  });
  order.resize(count);
  while (!order.empty() && gain(order.back()) < 0.0) order.pop_back();
  return order;
}

std::vector<Choice> Pool::forward(const Buffer& target, int depth, int beam,
                                  const Buffer* given) const {
  std::vector<Choice> found;
  if (size() == 0) return found;
  std::vector<Node> nodes{root(target, given)};
  for (int step = 0; step < depth; ++step) {
    std::vector<Node> next;
    for (const Node& node : nodes)
      for (const Index j : best_next(node, beam)) next.push_back(extended(node, j));
    for (Node& node : next) std::sort(node.chosen.begin(), node.chosen.end());
    std::sort(next.begin(), next.end(), [](const Node& a, const Node& b) {
      return a.rest != b.rest ? a.rest < b.rest : a.chosen < b.chosen;
    });
    const auto last = std::unique(next.begin(), next.end(), [](const Node& a, const Node& b) {
      return a.chosen == b.chosen;
    });
    next.erase(last, next.end());
    if (ssize(next) > beam) next.resize(beam);
    for (const Node& node : next) found.push_back({node.chosen, node.rest});
    nodes = std::move(next);
    if (nodes.empty() || nodes[0].rest < 1e-24) break;
  }
  return found;
}

std::vector<Choice> Pool::singles(const Buffer& target, std::size_t count,
                                  const Buffer* given) const {
  const Node node = root(target, given);
  std::vector<Choice> found;
  for (const Index j : best_next(node, count))
    found.push_back({{j}, node.rest - node.correlation(j) * node.correlation(j) / node.left(j)});
  return found;
}

// Columns and targets have unit norm.
std::vector<Choice> Pool::singles(const std::vector<Buffer>& targets) const {
  std::vector<Choice> best(targets.size());
  if (size() == 0) return best;
  Matrix all(columns_.stride(), ssize(targets));
  for (Index t = 0; t < ssize(targets); ++t)
    all.col(t) = Eigen::Map<const Vector>(targets[t].data(), columns_.stride());
  for (Index begin = 0; begin < size(); begin += kColumnPiece) {
    stop_if_asked();
    const Index n = std::min(kColumnPiece, size() - begin);
    const Eigen::Map<const Matrix> some(columns_[begin], columns_.stride(), n);
    const Matrix shares = (some.transpose() * all).cwiseAbs2();
    for (Index t = 0; t < shares.cols(); ++t) {
      Index at = 0;
      const double rest = 1.0 - shares.col(t).maxCoeff(&at);
      if (rest < best[t].rest) best[t] = {{begin + at}, rest};
    }
  }
  return best;
}

void Pool::swap(const Buffer& target, Choice& choice, int passes, const Buffer* given) const {
  for (int pass = 0; pass < passes; ++pass) {
    bool better = false;
    for (std::size_t out = 0; out < choice.columns.size(); ++out) {
      Node node = root(target, given);
      for (std::size_t k = 0; k < choice.columns.size(); ++k)
        if (k != out) node = extended(node, choice.columns[k]);
      const std::vector<Index> best = best_next(node, 1);
      if (best.empty() || best[0] == choice.columns[out]) continue;
      const Node changed = extended(node, best[0]);
      if (changed.rest >= choice.rest * (1.0 - 1e-9)) continue;
      choice.columns[out] = best[0];
      choice.rest = changed.rest;
      better = true;
    }
    if (!better) return;
  }
}

// A pair's share with what the first column explains taken out of everything: its correlations b'
// to the target and c' to each other follow from the Gram matrix.
std::vector<Choice> Pool::triples(const Buffer& target, Index first, Index reach,
                                  std::size_t count) const {
  const Index n = std::min(reach, size()), cheap = std::min(first, n);
  std::vector<Choice> best;
  if (n < 3) return best;
  const Eigen::Map<const Matrix> pool(columns_[0], columns_.stride(), n);
  const Vector b = pool.transpose() * Eigen::Map<const Vector>(target.data(), columns_.stride());
  const Matrix gram = pool.transpose() * pool.leftCols(cheap);
  Vector left(n), b1(n), explained(n);
  for (Index i = 0; i < std::min(cheap, n - 2); ++i) {
    if (!usable(i)) continue;
    stop_if_asked();
    for (Index j = i + 1; j < n; ++j) {
      const double rest = 1.0 - gram(j, i) * gram(j, i);
      left(j) = usable(j) && rest > kParallel ? 1.0 / std::sqrt(rest) : 0.0;
      b1(j) = (b(j) - b(i) * gram(j, i)) * left(j);
    }
    for (Index j = i + 1; j < std::min(cheap, n - 1); ++j) {
      if (left(j) == 0.0) continue;
      const Index m = n - j - 1;
      const auto c = (gram.col(j).tail(m) - gram(j, i) * gram.col(i).tail(m)).array() *
                     left.tail(m).array() * left(j);
      const auto bk = b1.tail(m).array();
      const auto rest = (1.0 - c.square()).max(kParallel);
      explained.head(m) = (left.tail(m).array() > 0.0)
                              .select((b1(j) * b1(j) + bk * (bk - 2.0 * b1(j) * c)) / rest, 0.0);
      const double share = b(i) * b(i) + explained.head(m).maxCoeff();
      if (best.size() == count && 1.0 - share >= best.back().rest) continue;
      Index at = 0;
      explained.head(m).maxCoeff(&at);
      insert_best({{i, j, j + 1 + at}, 1.0 - share}, count, best);
    }
  }
  return best;
}

std::vector<std::vector<Choice>> Pool::pairs(const std::vector<Buffer>& targets, Index first,
                                             Index reach, std::size_t count, Part part) const {
  const Index n = std::min(reach, size());
  std::vector<std::vector<Choice>> best(targets.size());
  if (n < 2) return best;
  const Eigen::Map<const Matrix> pool(columns_[0], columns_.stride(), n);
  std::vector<Vector> correlations(targets.size());
  in_parallel(static_cast<int>(targets.size()), [&](int t) {
    correlations[t] =
        pool.transpose() * Eigen::Map<const Vector>(targets[t].data(), columns_.stride());
  });
  std::vector<Index> starts;
  for (Index start = part.part * kPairBlock; start < std::min(first, n);
       start += part.parts * kPairBlock)
    starts.push_back(start);
  std::vector<std::vector<std::vector<Choice>>> of_pieces(
      static_cast<std::size_t>((ssize(starts) + kBlockPiece - 1) / kBlockPiece), best);
  in_pieces(ssize(starts), kBlockPiece, [&](Index begin, Index end) {
    for (Index k = begin; k < end; ++k)
      pairs_of_block(correlations, starts[k], std::min(kPairBlock, std::min(first, n) - starts[k]),
                     n, count, of_pieces[begin / kBlockPiece]);
  });
  for (const auto& found : of_pieces)
    for (std::size_t t = 0; t < targets.size(); ++t)
      for (const Choice& choice : found[t]) insert_best(choice, count, best[t]);
  return best;
}

// The share that two unit columns with correlations a, b to the target and c to each other explain
// is (a^2 + b^2 - 2 a b c) / (1 - c^2).
void Pool::pairs_of_block(const std::vector<Vector>& correlations, Index start, Index width,
                          Index n, std::size_t count,
                          std::vector<std::vector<Choice>>& best) const {
  stop_if_asked();
  const Eigen::Map<const Matrix> pool(columns_[0], columns_.stride(), n);
  const Matrix gram = pool.rightCols(n - start).transpose() * pool.middleCols(start, width);
  Vector scale(n), explained(n);
  for (Index k = 0; k < width; ++k) {
    const Index i = start + k;
    const Index m = n - i - 1;
    if (!usable(i) || m == 0) continue;
    const auto c = gram.col(k).tail(m).array();
    scale.head(m) = 1.0 - c.square();
    scale.head(m) = (scale.head(m).array() > kParallel).select(scale.head(m).cwiseInverse(), 0.0);
    for (std::size_t t = 0; t < correlations.size(); ++t) {
      const double a = correlations[t](i);
      const auto b = correlations[t].segment(i + 1, m).array();
      explained.head(m) = (a * a + b * (b - 2.0 * a * c)) * scale.head(m).array();
      // One pair for each first column is enough: the others come with their own.
      const double share = explained.head(m).maxCoeff();
      if (best[t].size() == count && 1.0 - share >= best[t].back().rest) continue;
      Index at = 0;
      explained.head(m).maxCoeff(&at);
      insert_best({{i, i + 1 + at}, 1.0 - share}, count, best[t]);
    }
  }
}

std::vector<Choice> Pool::pairs(const Buffer& target, Index first, Index reach,
                                std::size_t count) const {
  return pairs(std::vector<Buffer>{target}, first, reach, count)[0];
}

}  // namespace gsr::ols
