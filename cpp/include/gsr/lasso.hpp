// The constrained lasso of an individual, in reduced coordinates: picks the support.
#pragma once

#include <vector>

#include "gsr/admm.hpp"
#include "gsr/reduced.hpp"

namespace gsr {

class ConstrainedLasso {
 public:
  void resize(Index max_columns, Index max_targets);

  // Starts the next `select` from z and u of an earlier one, given in the order of the members.
  void start_from(const Reduced& problem, const double* z, const double* u);

  // `subset` becomes the constant and the columns with a non-zero coefficient.
  admm::Info select(const Reduced& problem, const admm::Settings& settings,
                    std::vector<Index>& subset, bool warm = false);
  // z, the penalised coefficients of the columns (centred, of unit norm) after the constant, and u.
  const Vector& coefficients() const { return workspace_.z; }
  const Vector& duals() const { return workspace_.u; }

 private:
  void form_gram(const Reduced& problem);
  void form_cross(const Reduced& problem);

  admm::Workspace workspace_;
  Matrix gram_, cross_, columns_, targets_;
};

}  // namespace gsr
