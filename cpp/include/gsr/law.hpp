// A law sum_j beta_j psi_j(y) = sum_j alpha_j phi_j(x), and how good it is on the scale of y.
#pragma once

#include <Eigen/Core>
#include <limits>
#include <map>
#include <vector>

#include "gsr/dataset.hpp"
#include "gsr/encoding.hpp"

namespace gsr {

struct Law {
  std::vector<Basis> psi;
  std::vector<double> beta;  // beta[0] = 1
  std::vector<Basis> phi;
  std::vector<double> alpha;
  int complexity = 0;
  double transformed_error = std::numeric_limits<double>::infinity();  // relative to g(y)'s spread
  double rmse = std::numeric_limits<double>::infinity();               // on the scale of y
  bool exact = false;  // the residual is at rounding level
  double bits = 0.0;   // description length of structure and constants
};

// Nodes that a term adds besides its basis function: coefficient, product and sum sign; the
// constant basis function is a coefficient alone.
inline constexpr int kTerm = 3;
inline constexpr int kConstantTerm = 2;

// Scales a law so that its costliest psi comes first with coefficient 1; returns the divisor.
double normalise(Law& law, const Table& target_table);

// Lowers sizes whose products with the roots of the rows' weights exceed `factor` times the median
// of these, so that a steep spot of g does not let one row rule the others; what the weights alone
// do is left as it is. Returns whether the median is positive: otherwise nothing is changed.
bool bound_sizes(std::vector<double>& sizes, const Buffer& row_weights, double factor);

// g(y) of a law, and what rounding can do to it in each row, in units of epsilon.
struct TargetSizes {
  Eigen::VectorXd values;  // sum_k beta_k psi_k(y)
  Eigen::VectorXd sizes;   // sum_k |beta_k| (|psi_k(y)| + |psi_k'(y) y|)
};

// The target seen through its transformations.
class TargetScale {
 public:
  // `strict`: a law that leaves open which of many solutions is meant has no error unless it is
  // nearly exact. `row_weights` are square roots with a mean square of 1; empty: all rows alike.
  TargetScale(const Dataset& y, const Table& table, bool strict = false, Buffer row_weights = {});

  double spread() const { return spread_; }  // standard deviation of y
  double mean() const { return mean_; }

  // Size of what rounding does to psi(y): ||psi(y)|| + ||psi'(y) y||, in units of epsilon.
  double rounding_norm(const Basis& psi) { return info(psi).rounding_norm; }

  // The same row by row.
  TargetSizes sizes(const Law& law);

  // 1 / |psi'(y)|: by which a residual of psi becomes one of y, limited where psi is flat; times
  // the row's own weight. 0 where noise may have changed the sign that psi does not see.
  Buffer weights(const Basis& psi);

  // Whether y and its mirror image solve the law alike, and the data have both; ln|y| does not
  // count: there the signs of the factors tell.
  bool leaves_sign_open(const Law& law);

  bool has_inverse(const Basis& psi);
  bool is_identity(const Basis& psi) const;
  // The norm of f - psi(y), relative to that of the centred psi(y).
  double transformed_error(const Basis& psi, const double* f);
  // The solution of psi(y) = f nearest to y, or on the side of the mirror where most rows are, and
  // dy/df there; psi must have an inverse.
  void solve(const Basis& psi, const double* f, double* solution, double* slope);

  // Root mean square of y - g^{-1}(f), with the solution nearest to y; to first order where g has
  // no closed inverse. A law that is not nearly exact is solved on the side of the mirror where
  // most rows are. Infinite if a row has no solution, or such a law leaves the branch open.
  double rmse(const Law& law, const double* f);

 private:
  // One step of a factor of psi that is a chain: T(scale u + shift), or 1 / T.
  struct Link {
    const Transformation* t = nullptr;
    bool reciprocal = false;
    double scale = 1.0, shift = 0.0;
    Buffer argument, value;
  };
  using Chain = std::vector<Link>;  // innermost first; empty: not a chain
  struct Info {
    Buffer values, derivative;
    double rounding_norm = 0.0;
    Chain chain;  // of a psi of one factor
  };
  const Info& info(const Basis& psi);
  Info make_info(const Basis& psi) const;
  Chain chain_of(const Basis& psi, int row) const;
  bool add_link(const Basis& psi, int row, Chain& chain) const;
  bool differentiate(const Basis& psi, Buffer& out) const;
  void differentiate_by_steps(const Basis& psi, Buffer& out) const;
  bool uses_both_branches(const Chain& chain) const;
  bool repeats(const Chain& chain) const;
  static double share_above(const Link& link);
  bool is_one_sided(const Chain& chain) const;
  std::vector<char> rows_of_unknown_side(const Chain& chain) const;
  void solve(const Chain& chain, const double* f, bool one_sided);

  const Dataset& y_;
  const Table& table_;
  bool strict_;
  Buffer row_weights_;
  std::map<Basis, Info> infos_;
  Buffer scratch_, argument_, value_;
  double mean_, spread_;
};

}  // namespace gsr
