// The constrained lasso of an individual, in reduced coordinates: picks the support.
#pragma once

#include <vector>

#include "gsr/admm.hpp"
#include "gsr/reduced.hpp"

namespace gsr {

class ConstrainedLasso {
 public:
  void resize(Index max_columns, Index max_targets);

  // `subset` becomes the constant and the columns with a non-zero coefficient.
  admm::Info select(const Reduced& problem, const admm::Settings& settings,
                    std::vector<Index>& subset, bool warm = false);
  // The penalised coefficients of the columns (centred, of unit norm) after the constant.
  const Vector& coefficients() const { return workspace_.z; }

 private:
  void form_gram(const Reduced& problem);
  void form_cross(const Reduced& problem);

  admm::Workspace workspace_;
  Matrix gram_, cross_, columns_, targets_;
};

}  // namespace gsr
