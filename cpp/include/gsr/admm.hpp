// The constrained lasso (paper, Equation 6) by ADMM (Algorithm 1).
//
// `solve_printed` is Algorithm 1 to the letter. `solve_well_posed` is the form that docs/method.md
// derives: the unit constraint stands on the centred transformed target,
//     min 1/2 ||X a - Y b||^2 + lambda ||a||_1   s.t.  ||Y b|| = 1,
// with X and Y centred, the columns of X of unit norm, and Y orthonormalised, so that the
// constrained step is exact.
#pragma once

#include <Eigen/Core>

#include "gsr/least_squares.hpp"

namespace gsr::admm {

enum class Status { converged, max_iterations, degenerate };

struct Settings {
  double lambda = 0.4;
  double rho = 0.1;
  double delta = 1e-5;  // stop when ||w_k - w_{k-1}|| < delta
  int max_iterations = 5000;
  double relaxation = 1.0;
};

// The paper's hyper-parameters, and ours for the well-posed form (lambda / rho well below the
// entries of a unit vector, over-relaxed).
Settings printed_settings();
Settings well_posed_settings();

struct Info {
  Status status = Status::converged;
  int iterations = 0;
  double change = 0.0;  // ||w_k - w_{k-1}|| at the end
};

// Vectors of the iteration; the start of the next solve if that is `warm`. Sized once.
struct Workspace {
  Matrix inverse;  // (2 A'A + rho I)^{-1}, or (X'X + rho I)^{-1}
  Vector w, z, u, previous, right;
  // Well-posed form only.
  Matrix gain;     // inverse X'Y
  Matrix reduced;  // H: the quadratic left for b once a is eliminated
  Matrix modes;    // eigenvectors of H
  Vector curvature, b, pull, rotated;
  Vector pulled;  // X'Y b

  void resize(Index n_features, Index n_targets);
  Index n = 0, p = 0;
};

// Problem of the printed form: A'A with A = [X, -Y].
// On return workspace.w is the unit vector w, workspace.z its sparse copy.
Info solve_printed(const Eigen::Ref<const Matrix>& gram, const Settings& settings,
                   Workspace& workspace, bool warm = false);

// Problem of the well-posed form: X'X and X'Y.
// On return workspace.z is the sparse a, workspace.b the unit vector b.
Info solve_well_posed(const Eigen::Ref<const Matrix>& gram, const Eigen::Ref<const Matrix>& cross,
                      const Settings& settings, Workspace& workspace, bool warm = false);

const char* name(Status status);

}  // namespace gsr::admm
