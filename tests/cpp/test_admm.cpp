#include <doctest/doctest.h>

#include <Eigen/Dense>

#include "gsr/admm.hpp"

using namespace gsr;

namespace {

// Columns of X of unit norm, and a target that is the first of them.
struct Lasso {
  Matrix gram, cross;
};

Lasso one_true_column() {
  std::srand(3);
  Matrix x = Matrix::Random(60, 5);
  x.rowwise() -= x.colwise().mean();
  x.colwise().normalize();
  const Matrix y = x.col(0);
  return {x.transpose() * x, x.transpose() * y};
}

}  // namespace

TEST_CASE("the lasso keeps the column that the target is") {
  const Lasso lasso = one_true_column();
  admm::Settings settings = admm::well_posed_settings();
  admm::Workspace workspace;
  workspace.resize(5, 1);
  const admm::Info info = admm::solve_well_posed(lasso.gram, lasso.cross, settings, workspace);
  CHECK(info.status == admm::Status::converged);
  CHECK(std::abs(workspace.b(0)) == doctest::Approx(1.0));
  CHECK(std::abs(workspace.z(0)) > 0.5);
  for (Index j = 1; j < 5; ++j) CHECK(std::abs(workspace.z(j)) < 0.05);
}

TEST_CASE("a heavier penalty shrinks the coefficients") {
  const Lasso lasso = one_true_column();
  admm::Settings settings = admm::well_posed_settings();
  const auto total = [&](double lambda) {
    settings.lambda = lambda;
    admm::Workspace workspace;
    workspace.resize(5, 1);
    admm::solve_well_posed(lasso.gram, lasso.cross, settings, workspace);
    return workspace.z.lpNorm<1>();
  };
  CHECK(total(0.2) < total(0.02));
}

TEST_CASE("a warm start takes no more iterations") {
  const Lasso lasso = one_true_column();
  const admm::Settings settings = admm::well_posed_settings();
  admm::Workspace workspace;
  workspace.resize(5, 1);
  const int cold = admm::solve_well_posed(lasso.gram, lasso.cross, settings, workspace).iterations;
  const int warm =
      admm::solve_well_posed(lasso.gram, lasso.cross, settings, workspace, true).iterations;
  CHECK(warm <= cold);
}
