#include "groups.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <numeric>

#include "gsr/interrupt.hpp"
#include "gsr/least_squares.hpp"
#include "tuning.hpp"

namespace gsr::guide {
namespace {

using namespace tuning;

// Columns of a model that are tested together: functions of one feature, or of two.
struct Block {
  int first, second;  // features; the second is 0 for functions of one
  Index begin, end;
};

struct Model {
  std::vector<Buffer> columns;
  std::vector<Block> blocks;

  void add(int first, int second, std::vector<Buffer> some) {
    const Index begin = ssize(columns);
    for (Buffer& column : some) columns.push_back(std::move(column));
    blocks.push_back({first, second, begin, ssize(columns)});
  }
};

// Functions of each feature, and products of two; with few rows only of first degree.
Model interactions(const Polynomials& polynomials, const std::vector<int>& features, Index n_rows) {
  const auto d = ssize(features);
  const Index n_pairs = d * (d - 1) / 2, n_single = kGroupSingleDegree * d;
  const bool cubic = kGroupRowsPerColumn * (n_single + 3 * n_pairs) <= n_rows;
  Model model;
  if (kGroupRowsPerColumn * (n_single + n_pairs) > n_rows) return model;
  for (const int f : features) {
    std::vector<Buffer> columns;
    polynomials.add_all({f}, kGroupSingleDegree, columns);
    model.add(f, 0, std::move(columns));
  }
  for (Index i = 0; i < d; ++i)
    for (Index j = 0; j < i; ++j) {
      const int a = features[j], b = features[i];
      std::vector<Buffer> columns{polynomials.column({{a, 1}, {b, 1}})};
      if (cubic) {
        columns.push_back(polynomials.column({{a, 2}, {b, 1}}));
        columns.push_back(polynomials.column({{a, 1}, {b, 2}}));
      }
      model.add(a, b, std::move(columns));
    }
  return model;
}

// F statistics of the blocks.
std::vector<double> tested(const Model& model, const Buffer& target, Index n_rows) {
  std::vector<Buffer> all = model.columns;
  all.emplace_back(target.size(), 0.0);
  std::fill_n(all.back().begin(), n_rows, 1.0);
  const Columns columns = as_columns(all, n_rows);
  const Index p = columns.n_columns();
  const Eigen::Map<const Matrix> x(columns[0], columns.stride(), p);
  const Eigen::Map<const Vector> t(target.data(), columns.stride());
  Matrix gram = x.transpose() * x;
  gram.diagonal().array() += kGroupRidge * static_cast<double>(n_rows);
  const Eigen::LLT<Matrix> factor(gram);
  if (factor.info() != Eigen::Success) return {};
  const Vector beta = factor.solve(x.transpose() * t);
  const Matrix inverse = factor.solve(Matrix::Identity(p, p));
  const double variance = (t - x * beta).squaredNorm() / static_cast<double>(n_rows - p);
  std::vector<double> out;
  for (const Block& block : model.blocks) {
    const Index size = block.end - block.begin;
    const Vector part = beta.segment(block.begin, size);
    const Matrix covariance = inverse.block(block.begin, block.begin, size, size);
    out.push_back(part.dot(covariance.ldlt().solve(part)) /
                  (static_cast<double>(size) * std::max(variance, 1e-300)));
  }
  return out;
}

std::vector<int> varying(const Dataset& x, const std::vector<int>& features) {
  std::vector<int> out;
  for (const int f : features) {
    const double* values = x.features[f - 1];
    const auto [low, high] = std::minmax_element(values, values + x.n_rows());
    if (*low < *high) out.push_back(f);
  }
  return out;
}

// Connected by products that the target needs.
class Components {
 public:
  int root(int f) {
    while (parent_[f] != f) f = parent_[f];
    return f;
  }
  void join(int a, int b) { parent_[root(a)] = root(b); }
  explicit Components(int n) : parent_(n) { std::iota(parent_.begin(), parent_.end(), 0); }

 private:
  std::vector<int> parent_;
};

}  // namespace

Buffer Polynomials::column(const Degrees& degrees) const {
  const Index n = x_.n_rows();
  Buffer out(x_.features.stride(), 0.0);
  std::fill_n(out.begin(), n, 1.0);
  for (const auto& [feature, degree] : degrees) {
    const double* x = x_.features[feature - 1];
    const auto [low, high] = std::minmax_element(x, x + n);
    const double centre = 0.5 * (*low + *high), half = 0.5 * (*high - *low);
    for (Index i = 0; i < n; ++i)
      out[i] *= std::cos(degree * std::acos(std::clamp((x[i] - centre) / half, -1.0, 1.0)));
  }
  return out;
}

void Polynomials::add_all(const Group& features, int degree, std::vector<Buffer>& out) const {
  Degrees degrees;
  const auto grow = [&](const auto& self, std::size_t from, int left) -> void {
    if (!degrees.empty()) out.push_back(column(degrees));
    for (std::size_t f = from; f < features.size(); ++f)
      for (int k = 1; k <= left; ++k) {
        degrees.emplace_back(features[f], k);
        self(self, f + 1, left - k);
        degrees.pop_back();
      }
  };
  grow(grow, 0, degree);
}

Columns as_columns(const std::vector<Buffer>& list, Index n_rows) {
  Columns out(n_rows, ssize(list));
  for (Index j = 0; j < ssize(list); ++j) std::copy(list[j].begin(), list[j].end(), out[j]);
  return out;
}

std::vector<Group> find_groups(const Dataset& x, const std::vector<int>& features,
                               const Buffer& target) {
  stop_if_asked();
  const Model model = interactions(Polynomials(x), varying(x, features), x.n_rows());
  const std::vector<double> tests = tested(model, target, x.n_rows());
  if (tests.empty()) return {};
  Components components(x.n_features() + 1);
  std::vector<char> relevant(x.n_features() + 1, 0);
  for (std::size_t b = 0; b < tests.size(); ++b) {
    const Block& block = model.blocks[b];
    if (!(tests[b] >= kInteraction)) continue;
    relevant[block.first] = 1;
    if (block.second == 0) continue;
    relevant[block.second] = 1;
    components.join(block.first, block.second);
  }
  std::vector<Group> groups(x.n_features() + 1);
  for (int f = 1; f <= x.n_features(); ++f)
    if (relevant[f]) groups[components.root(f)].push_back(f);
  groups.erase(std::remove_if(groups.begin(), groups.end(),
                              [](const Group& group) { return group.empty(); }),
               groups.end());
  std::stable_sort(groups.begin(), groups.end(),
                   [](const Group& a, const Group& b) { return a.size() > b.size(); });
  return groups;
}

}  // namespace gsr::guide
