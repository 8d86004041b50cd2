#include "gsr/lasso.hpp"

namespace gsr {

void ConstrainedLasso::resize(Index max_columns, Index max_targets) {
  const Index n = padded(max_columns - 1);  // the constant is free; whole vectors are faster
  gram_.setZero(n, n);
  columns_.setZero(n, n);
  cross_.setZero(n, max_targets);
  targets_.setZero(n, max_targets);
}

void ConstrainedLasso::start_from(const Reduced& problem, const double* z, const double* u) {
  workspace_.resize(gram_.rows(), problem.n_targets());
  workspace_.z.setZero();
  workspace_.u.setZero();
  for (Index j = 1; j < problem.n_columns(); ++j) {
    workspace_.z(j - 1) = z[problem.member(j)];
    workspace_.u(j - 1) = u[problem.member(j)];
  }
}

admm::Info ConstrainedLasso::select(const Reduced& problem, const admm::Settings& settings,
                                    std::vector<Index>& subset, bool warm) {
  form_gram(problem);
  form_cross(problem);
  const admm::Info info = admm::solve_well_posed(gram_, cross_.leftCols(problem.n_targets()),
                                                 settings, workspace_, warm);
  subset.assign(1, 0);
  for (Index j = 0; j + 1 < problem.n_columns(); ++j)
    if (workspace_.z(j) != 0.0) subset.push_back(j + 1);
  return info;
}

// Columns centred (the coordinate of the constant left out) and of unit norm. Columns that were
// dropped stay as zeros, so that all sizes are fixed.
void ConstrainedLasso::form_gram(const Reduced& problem) {
  const Index k = problem.n_columns() - 1;
  const auto centred = problem.r().bottomRightCorner(k, k);
  auto x = columns_.topLeftCorner(k, k);
  x.triangularView<Eigen::Upper>() = centred;
  for (Index j = 0; j < k; ++j) x.col(j).head(j + 1).normalize();
  gram_.setZero();
  for (Index j = 0; j < k; ++j)
    for (Index i = 0; i <= j; ++i)
      gram_(i, j) = gram_(j, i) = x.col(i).head(i + 1).dot(x.col(j).head(i + 1));
}

void ConstrainedLasso::form_cross(const Reduced& problem) {
  const Index k = problem.n_columns() - 1;
  const Index p = problem.n_targets();
  auto y = targets_.topLeftCorner(k, p);
  for (Index t = 0; t < p; ++t) y.col(t) = Eigen::Map<const Vector>(problem.targets()[t] + 1, k);
  problem.whitening().triangularView<Eigen::Upper>().solveInPlace<Eigen::OnTheRight>(y);
  cross_.setZero();
  for (Index t = 0; t < p; ++t)
    for (Index j = 0; j < k; ++j)
      cross_(j, t) = columns_.col(j).head(j + 1).dot(y.col(t).head(j + 1));
}

}  // namespace gsr
