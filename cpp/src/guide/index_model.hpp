// A function of few directions: target = F(B' z) + a' z, in which z are logarithms. Then the
// target, if it is a logarithm too, stands for a monomial times a function of the monomials in the
// columns of B.
#pragma once

#include <Eigen/Core>
#include <vector>

#include "gsr/least_squares.hpp"

namespace gsr::guide {

class IndexModel {
 public:
  // The columns of z are centred and vary. With `linear`, a' z is part of the model.
  IndexModel(Matrix z, Vector target, bool linear);

  struct Fit {
    Matrix directions;  // B
    Vector linear;      // a
    double left = 1.0;  // share of the target's variance
  };
  // The best directions, from those in which a quadratic fit is curved most and from some at
  // random; F is a polynomial.
  Fit fit(Index n_directions) const;
  // What a quadratic function of all z leaves.
  double left_by_quadratic() const { return left_by_quadratic_; }

 private:
  struct Step;
  Step evaluate(const Matrix& directions) const;
  void improve(Matrix& directions, Step& step, int n_steps) const;
  void fit_quadratic();

  Matrix z_;  // scaled to unit variance
  Vector scale_;
  Vector target_;  // scaled to unit norm
  double size_;    // its norm before
  bool linear_;
  Matrix curvature_;  // eigenvectors of the quadratic part, most curved first
  double left_by_quadratic_ = 1.0;
};

// Directions as small whole numbers that span the same space, and `linear` less what they may take
// of it, in halves.
struct Exponents {
  Eigen::MatrixXi directions;
  Eigen::VectorXi twice_linear;

  friend bool operator==(const Exponents& a, const Exponents& b) {
    return a.directions == b.directions && a.twice_linear == b.twice_linear;
  }
};
// The ways to round a fit, smallest numbers first.
std::vector<Exponents> rounded(const IndexModel::Fit& fit);

}  // namespace gsr::guide
