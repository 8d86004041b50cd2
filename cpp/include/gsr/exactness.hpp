// Whether a law at rounding level is so in every row, and beyond the rows it was fitted to. A norm
// over all rows says nothing about rows where y is small; and many smooth terms interpolate
// any curve.
#pragma once

#include <vector>

#include "gsr/law.hpp"
#include "gsr/least_squares.hpp"

namespace gsr {

// The two sides of a law, each row in units of what rounding can do in it.
struct RowWise {
  Matrix terms;   // alpha_j phi_j(x)
  Vector target;  // g(y)

  Vector residuals(const Vector& factors) const { return target - terms * factors; }
  // Whether all but a few rows are at rounding level, the terms multiplied by `factors`.
  bool hold(const Vector& factors) const;
  // Factors of the terms, fitted to some of the rows.
  Vector corrected(const std::vector<Index>& rows) const;
  // What the residual would be, in the root mean square, without the term that matters least.
  double least_term() const;
  // Whether the terms, fitted to the middle of x, predict the rows at its ends.
  bool ends_follow(const double* x) const;
};

// Where the target spans so many orders of magnitude that small terms do not show in a norm: fits
// the coefficients relative to the target in each row, and leaves out terms while all rows stay at
// rounding level. Returns the places of the terms that remain, with `law` reduced to them, and how
// far rounding may have moved each coefficient; nothing if not all rows are at rounding level.
struct RowWiseFit {
  std::vector<Index> terms;
  std::vector<double> tolerances;
};
RowWiseFit fit_in_every_row(Law& law, const Dataset& x, const Table& table,
                            const TargetSizes& target);

RowWise row_wise(const Law& law, const Dataset& x, const Table& table, const TargetSizes& target);

// Makes sure that a law at rounding level is at rounding level in all rows, if need be with
// corrected coefficients, and does not merely interpolate.
bool exact_in_every_row(Law& law, const Dataset& x, const Table& table, const TargetSizes& target);

}  // namespace gsr
