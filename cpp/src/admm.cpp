#include "gsr/admm.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>

namespace gsr::admm {
namespace {

// S_kappa (Equation 11).
double soft_threshold(double a, double kappa) {
  return a > kappa ? a - kappa : (a < -kappa ? a + kappa : 0.0);
}

// (2 A'A + rho I)^{-1}. Columns as they come may differ by many orders of magnitude.
void invert_printed(const Eigen::Ref<const Matrix>& gram, double rho, Matrix& inverse) {
  Matrix shifted = 2.0 * gram;
  shifted.diagonal().array() += rho;
  inverse.setIdentity();
  Eigen::LLT<Matrix>(shifted).solveInPlace(inverse);
}

// (X'X + rho I)^{-1} by sweeping one pivot after the other: with unit columns none is below rho.
void invert_well_posed(const Eigen::Ref<const Matrix>& gram, double rho, Matrix& a) {
  a = gram;
  a.diagonal().array() += rho;
  const Index n = a.rows();
  for (Index k = 0; k < n; ++k) {
    const double pivot = 1.0 / a(k, k);
    a.col(k) *= pivot;
    a(k, k) = pivot;
    for (Index j = 0; j < n; ++j) {
      if (j == k) continue;
      const double factor = a(k, j);
      a(k, j) = 0.0;
      a.col(j).noalias() -= factor * a.col(k);
    }
  }
}

void update_w_printed(Workspace& s, double rho) {
  s.right.noalias() = rho * (s.z - s.u);
  s.w.noalias() = s.inverse * s.right;
}

bool normalise(Vector& w) {
  const double norm = w.norm();
  if (!(norm > 0.0) || !std::isfinite(norm)) return false;
  w /= norm;
  return true;
}

void update_z(Workspace& s, double kappa) {
  for (Index i = 0; i < s.n; ++i) s.z(i) = soft_threshold(s.w(i) + s.u(i), kappa);
}

void update_u(Workspace& s) { s.u += s.w - s.z; }

// b(mu) = (H + mu I)^{-1} h in the eigenbasis of H.
double norm_at(double mu, const Workspace& s) {
  return (s.rotated.array() / (s.curvature.array() + mu)).matrix().norm();
}

// The hard case of the secular equation: what is missing goes along the lowest mode.
void complete_along_lowest_mode(double mu, Workspace& s) {
  s.rotated.array() /= s.curvature.array() + mu;
  const double side = s.rotated(0);
  s.rotated(0) = 0.0;
  s.rotated(0) = std::copysign(std::sqrt(std::max(0.0, 1.0 - s.rotated.squaredNorm())), side);
  s.b.noalias() = s.modes * s.rotated;
}

// min 1/2 b'Hb - h'b on the unit sphere: (H + mu I) b = h with mu >= -min eigenvalue and
// ||b|| = 1, a secular equation in mu.
void update_b(Workspace& s) {
  s.rotated.noalias() = s.modes.transpose() * s.pull;
  const double lowest = s.curvature(0);
  const double margin = 1e-14 * (1.0 + std::abs(lowest));
  double low = -lowest + margin;
  if (norm_at(low, s) < 1.0) return complete_along_lowest_mode(low, s);
  double high = -lowest + s.rotated.norm() + margin;
  for (int i = 0; i < 60 && high - low > 1e-15 * std::abs(high); ++i) {
    const double middle = 0.5 * (low + high);
    (norm_at(middle, s) > 1.0 ? low : high) = middle;
  }
  s.rotated.array() /= s.curvature.array() + high;
  s.b.noalias() = s.modes * s.rotated;
  s.b.normalize();
}

// The exact minimiser over (a, b) with ||b|| = 1: a is eliminated, b solved, a put back.
void update_w_well_posed(const Eigen::Ref<const Matrix>& cross, Workspace& s, double rho) {
  if (s.p > 1) {
    s.right = s.z - s.u;
    s.pull.noalias() = rho * (s.gain.transpose() * s.right);
    update_b(s);
    s.pulled.noalias() = cross * s.b;
  }
  s.right = s.pulled + rho * (s.z - s.u);
  s.w.noalias() = s.inverse * s.right;
}

void prepare_target_step(const Eigen::Ref<const Matrix>& cross, Workspace& s) {
  s.gain.noalias() = s.inverse * cross;
  s.reduced.setIdentity();  // Y'Y = I
  s.reduced.noalias() -= cross.transpose() * s.gain;
  const Eigen::SelfAdjointEigenSolver<Matrix> eigen(s.reduced);
  s.modes = eigen.eigenvectors();
  s.curvature = eigen.eigenvalues();
}

template <typename Step>
Info iterate(const Settings& settings, Workspace& s, Step step) {
  Info info;
  info.status = Status::max_iterations;
  while (info.iterations < settings.max_iterations) {
    ++info.iterations;
    s.previous = s.w;
    if (!step()) {
      info.status = Status::degenerate;
      break;
    }
    info.change = (s.w - s.previous).norm();
    if (info.change < settings.delta) {
      info.status = Status::converged;
      break;
    }
  }
  return info;
}

}  // namespace

Settings printed_settings() { return Settings{}; }

Settings well_posed_settings() {
  Settings settings;
  settings.lambda = 0.02;
  settings.rho = 0.1;
  settings.max_iterations = 300;
  settings.relaxation = 1.6;
  return settings;
}

void Workspace::resize(Index n_features, Index n_targets) {
  if (n == n_features && p == n_targets) return;
  n = n_features;
  p = n_targets;
  inverse.resize(n, n);
  for (Vector* v : {&w, &z, &u, &previous, &right, &pulled}) v->setZero(n);
  gain.setZero(n, p);
  reduced.setZero(p, p);
  modes.setIdentity(p, p);
  for (Vector* v : {&curvature, &b, &pull, &rotated}) v->setZero(p);
}

Info solve_printed(const Eigen::Ref<const Matrix>& gram, const Settings& settings, Workspace& s,
                   bool warm) {
  s.resize(gram.rows(), 0);
  invert_printed(gram, settings.rho, s.inverse);
  if (!warm) {
    s.w.setConstant(1.0 / std::sqrt(static_cast<double>(s.n)));
    s.z.setOnes();
    s.u.setZero();
  }
  return iterate(settings, s, [&] {
    update_w_printed(s, settings.rho);
    if (!normalise(s.w)) return false;
    update_z(s, settings.lambda / settings.rho);
    update_u(s);
    return true;
  });
}

Info solve_well_posed(const Eigen::Ref<const Matrix>& gram, const Eigen::Ref<const Matrix>& cross,
                      const Settings& settings, Workspace& s, bool warm) {
  s.resize(gram.rows(), cross.cols());
  invert_well_posed(gram, settings.rho, s.inverse);
  if (s.p > 1) prepare_target_step(cross, s);
  if (!warm) {
    s.w.setZero();
    s.z.setZero();
    s.u.setZero();
  }
  s.b.setZero();  // with several targets b follows from z and u
  s.b(0) = 1.0;
  s.pulled.noalias() = cross * s.b;
  const double kappa = settings.lambda / settings.rho;
  const double over = settings.relaxation;
  return iterate(settings, s, [&] {
    update_w_well_posed(cross, s, settings.rho);
    s.w = over * s.w + (1.0 - over) * s.z;
    update_z(s, kappa);
    update_u(s);
    return true;
  });
}

const char* name(Status status) {
  switch (status) {
    case Status::converged: return "converged";
    case Status::max_iterations: return "max_iterations";
    default: return "degenerate";
  }
}

}  // namespace gsr::admm
