// Which features act together. A target that is a sum of functions of different features needs no
// products of features from different functions: an F test of such products tells the groups apart.
#pragma once

#include <vector>

#include "gsr/dataset.hpp"

namespace gsr::guide {

using Group = std::vector<int>;  // of features, ascending

// Products of Chebyshev polynomials of the features, scaled to the range of the rows.
class Polynomials {
 public:
  explicit Polynomials(const Dataset& x) : x_(x) {}

  // Degrees of single features: T_degree(x_f) for each of them, multiplied.
  using Degrees = std::vector<std::pair<int, int>>;
  Buffer column(const Degrees& degrees) const;
  // All products up to a total degree, without the constant.
  void add_all(const Group& features, int degree, std::vector<Buffer>& out) const;

 private:
  const Dataset& x_;
};

Columns as_columns(const std::vector<Buffer>& list, Index n_rows);

// Groups of the features that the target depends on, larger ones first; none if there are too few
// rows to tell.
std::vector<Group> find_groups(const Dataset& x, const std::vector<int>& features,
                               const Buffer& target);

}  // namespace gsr::guide
