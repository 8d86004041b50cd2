#include "similarity.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "gsr/thread_pool.hpp"
#include "index_model.hpp"
#include "substitution.hpp"

namespace gsr::guide {
namespace {

using namespace tuning;

// Features, with one difference in the place of two if `first` is not 0.
Trees bases_of(const std::vector<int>& features, const Table& table, int first, int second) {
  Trees out;
  for (const int f : features)
    if (f != first && f != second)
      out.push_back(composition::combine(table, ArgumentType::variable, {composition::feature(f)}));
  if (first != 0)
    out.push_back(composition::combine(
        table, ArgumentType::sum, {composition::feature(first), composition::feature(-second)}));
  return out;
}

// ln|base| and the sign of each base, a column each, with y and ln|y|.
struct Logarithms {
  Matrix size, sign;
  Vector y, size_of_y;

  Vector signs_of(const Eigen::VectorXi& exponents) const {
    Vector out = Vector::Ones(sign.rows());
    for (Index j = 0; j < exponents.size(); ++j)
      if (exponents(j) % 2 != 0) out.array() *= sign.col(j).array();
    return out;
  }
  Logarithms take(const std::vector<Index>& rows) const {
    return {size(rows, Eigen::all), sign(rows, Eigen::all), y(rows), size_of_y(rows)};
  }
  // Only rows in which everything is finite.
  Logarithms finite() const {
    std::vector<Index> rows;
    for (Index i = 0; i < size.rows(); ++i)
      if (size.row(i).allFinite() && std::isfinite(size_of_y(i))) rows.push_back(i);
    return take(rows);
  }
  // Only rows in which each base has the sign that it has in most: a function of the base is not
  // one of its logarithm where both signs occur.
  Logarithms of_usual_signs() const {
    const Eigen::RowVectorXd usual =
        sign.colwise().sum().unaryExpr([](double sum) { return sum < 0.0 ? -1.0 : 1.0; });
    std::vector<Index> rows;
    for (Index i = 0; i < sign.rows(); ++i)
      if (sign.row(i) == usual) rows.push_back(i);
    return take(rows);
  }
};

std::optional<Logarithms> logarithms_of(const Trees& bases, const Rows& rows, const Table& table) {
  const Index n = rows.x.n_rows();
  const Eigen::Map<const Vector> y(rows.y.features[0], n);
  Logarithms out{Matrix(n, ssize(bases)), Matrix(n, ssize(bases)), y, y.array().abs().log()};
  for (Index j = 0; j < ssize(bases); ++j) {
    Basis basis;
    if (!composition::write({bases[static_cast<std::size_t>(j)]}, basis)) return std::nullopt;
    const Buffer values = values_of(basis, rows.x, table);
    if (values.empty()) return std::nullopt;
    const Eigen::Map<const Vector> column(values.data(), n);
    out.size.col(j) = column.array().abs().log();
    out.sign.col(j) = column.array().sign();
  }
  return out.finite();
}

// The model, where there are enough rows and all bases vary.
std::optional<IndexModel> model_of(Matrix z, const Vector& target, bool linear) {
  const Index d = z.cols();
  if (z.rows() <= kIndexRowsPerColumn * (1 + d + d * (d + 1) / 2)) return std::nullopt;
  z.rowwise() -= z.colwise().mean().eval();
  if (!(z.colwise().squaredNorm().minCoeff() > 0.0) || !target.allFinite()) return std::nullopt;
  return IndexModel(std::move(z), target, linear);
}

std::vector<Index> order_of(const Vector& values) {
  std::vector<Index> order(static_cast<std::size_t>(values.size()));
  std::iota(order.begin(), order.end(), Index{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](Index a, Index b) { return values(a) < values(b); });
  return order;
}

// Ranks, scaled to unit variance.
Vector ranks_of(const Vector& values) {
  const Index n = values.size();
  const std::vector<Index> order = order_of(values);
  Vector out(n);
  for (Index i = 0; i < n; ++i)
    out(order[static_cast<std::size_t>(i)]) =
        std::sqrt(12.0) * (static_cast<double>(i) / static_cast<double>(n) - 0.5);
  return out;
}

// The row whose variables are nearest in ranks; along one variable, the next one.
std::vector<std::pair<Index, Index>> neighbours_of(const Matrix& variables) {
  const Index n = variables.rows();
  std::vector<std::pair<Index, Index>> out;
  if (variables.cols() == 1) {
    const std::vector<Index> order = order_of(variables.col(0));
    for (std::size_t i = 1; i < order.size(); ++i) out.emplace_back(order[i - 1], order[i]);
    return out;
  }
  Matrix places(n, variables.cols());
  for (Index j = 0; j < variables.cols(); ++j) places.col(j) = ranks_of(variables.col(j));
  for (Index i = 0; i < n; ++i) {
    Vector distance = (places.rowwise() - places.row(i)).rowwise().squaredNorm();
    distance(i) = std::numeric_limits<double>::infinity();
    Index nearest = 0;
    distance.minCoeff(&nearest);
    out.emplace_back(i, nearest);
  }
  return out;
}

// Half of the mean square by which the ranks of neighbours differ: near 0 for a smooth function of
// the variables, 1 for values that have nothing to do with them.
double roughness_of(const Vector& values, const Matrix& variables) {
  const Vector ranks = ranks_of(values);
  double sum = 0.0;
  const std::vector<std::pair<Index, Index>> neighbours = neighbours_of(variables);
  for (const auto& [i, j] : neighbours) sum += 0.5 * std::pow(ranks(i) - ranks(j), 2);
  return sum / static_cast<double>(neighbours.size());
}

// Numbers in the order of sign e^size, where these may overflow.
Vector in_order(const Vector& size, const Vector& sign) {
  return (sign.array() * (1.0 + size.array() - size.minCoeff())).matrix();
}

class Finder {
 public:
  Finder(const Problem& problem, const std::vector<Monomial>& prefactors)
      : rows_(choose_rows(problem, kIndexRows)), table_(problem.table), prefactors_(prefactors) {}

  // Of at most so many variables.
  Similarities look(const Trees& bases, Index most) const {
    Similarities out;
    const std::optional<Logarithms> z = logarithms_of(bases, rows_, table_);
    if (!z || z->y.size() == 0) return out;
    const Logarithms usual = z->of_usual_signs();
    const auto fit = [&](const Vector& target, bool linear, const Eigen::VectorXi& outer) {
      const std::optional<IndexModel> model = model_of(usual.size, target, linear);
      for (Index q = 1; model && q <= most; ++q) {
        ++out.n_fits;
        keep(smoothest(bases, *z, model->fit(q), model->left_by_quadratic(), outer), out);
      }
    };
    const Eigen::VectorXi nothing = Eigen::VectorXi::Zero(ssize(bases));
    fit(usual.size_of_y, true, nothing);
    fit(usual.y, false, nothing);
    for (const Monomial& prefactor : prefactors_) {
      const std::optional<Eigen::VectorXi> powers = powers_of(prefactor, bases);
      if (!powers) continue;
      const Vector divisor = (usual.size * powers->cast<double>()).array().exp();
      fit(usual.y.cwiseQuotient(divisor), false, *powers);
    }
    return out;
  }

 private:
  static void keep(const std::optional<Similarity>& similarity, Similarities& out) {
    if (similarity && similarity->is_certain()) out.found.push_back(*similarity);
  }

  // Of the ways to round a fit to y over a monomial.
  static std::optional<Similarity> smoothest(const Trees& bases, const Logarithms& z,
                                             const IndexModel::Fit& fit, double left_by_quadratic,
                                             const Eigen::VectorXi& outer) {
    std::optional<Similarity> best;
    if (fit.left > std::max(kWorseThanQuadratic * left_by_quadratic, kIndexedWell)) return best;
    const std::vector<Exponents> ways = rounded(fit);
    for (std::size_t k = 0; k < std::min(ways.size(), kMostRoundings); ++k) {
      Similarity similarity{bases, ways[k].directions, ways[k].twice_linear + 2 * outer, fit.left};
      similarity.roughness = roughness(similarity, z);
      if (!best || similarity.roughness < best->roughness) best = similarity;
    }
    return best;
  }

  static double roughness(const Similarity& similarity, const Logarithms& z) {
    const Eigen::VectorXi& twice = similarity.twice_outer;
    Matrix variables = z.size * similarity.exponents.cast<double>();
    for (Index j = 0; j < variables.cols(); ++j)
      variables.col(j) = in_order(variables.col(j), z.signs_of(similarity.exponents.col(j)));
    const Vector size = z.size_of_y - 0.5 * (z.size * twice.cast<double>());
    const Vector signs = z.y.array().sign().matrix().cwiseProduct(z.signs_of(twice / 2));
    return roughness_of(in_order(size, signs), variables);
  }

  // The exponents of a monomial among the bases; nothing if one of its features is not.
  static std::optional<Eigen::VectorXi> powers_of(const Monomial& monomial, const Trees& bases) {
    Eigen::VectorXi out = Eigen::VectorXi::Zero(ssize(bases));
    for (const auto& [f, p] : monomial) {
      const auto found = std::find_if(bases.begin(), bases.end(), [f = f](const Tree& base) {
        return base.operands.size() == 1 && base.operands[0].feature == f;
      });
      if (found == bases.end()) return std::nullopt;
      out(found - bases.begin()) += p;
    }
    return out;
  }

  const Rows rows_;
  const Table& table_;
  const std::vector<Monomial>& prefactors_;
};

bool is_same(const Similarity& a, const Similarity& b) {
  return a.bases.size() == b.bases.size() && a.n_variables() == b.n_variables() &&
         a.exponents == b.exponents && a.twice_outer == b.twice_outer && a.roughness == b.roughness;
}

void append(Similarities from, Similarities& to) {
  to.n_fits += from.n_fits;
  for (Similarity& similarity : from.found)
    if (std::none_of(to.found.begin(), to.found.end(),
                     [&](const Similarity& known) { return is_same(known, similarity); }))
      to.found.push_back(std::move(similarity));
}

Similarities with_differences(const Finder& finder, const std::vector<int>& features,
                              const Table& table, Index most) {
  std::vector<std::pair<int, int>> pairs;
  for (std::size_t i = 0; i < features.size(); ++i)
    for (std::size_t j = i + 1; j < features.size(); ++j)
      pairs.emplace_back(features[i], features[j]);
  std::vector<Similarities> each(pairs.size());
  in_parallel(static_cast<int>(pairs.size()), [&](int k) {
    const auto& [first, second] = pairs[static_cast<std::size_t>(k)];
    each[static_cast<std::size_t>(k)] = finder.look(bases_of(features, table, first, second), most);
  });
  Similarities out;
  for (Similarities& some : each) append(std::move(some), out);
  return out;
}

}  // namespace

Tree Similarity::variable(Index j, const Table& table) const {
  return product_of_powers(bases, exponents.col(j), table);
}

std::optional<Trees> Similarity::prefactor(int twice_power, const Table& table) const {
  const Eigen::VectorXi quarters = twice_outer * twice_power;
  if ((quarters - 2 * (quarters / 2)).any()) return std::nullopt;
  const Eigen::VectorXi halves = quarters / 2, whole = halves / 2, roots = halves - 2 * whole;
  Trees out;
  if (whole.any()) out.push_back(product_of_powers(bases, whole, table));
  if (!roots.any()) return out;
  if (table.find("sqrt") < 0) return std::nullopt;
  out.push_back(
      composition::apply(table, table.find("sqrt"), product_of_powers(bases, roots, table)));
  return out;
}

Similarities find_similarities(const Problem& problem, const std::vector<int>& features,
                               const std::vector<Monomial>& prefactors, int level) {
  const Finder finder(problem, prefactors);
  const Index most = std::min<Index>(2, ssize(features) - 1);
  Similarities out = finder.look(bases_of(features, problem.table, 0, 0), most);
  if (out.found.empty())
    append(with_differences(finder, features, problem.table, level == 0 ? 1 : most), out);
  std::stable_sort(out.found.begin(), out.found.end(),
                   [](const Similarity& a, const Similarity& b) {
                     return std::make_pair(a.n_variables(), a.roughness) <
                            std::make_pair(b.n_variables(), b.roughness);
                   });
  return out;
}

}  // namespace gsr::guide
