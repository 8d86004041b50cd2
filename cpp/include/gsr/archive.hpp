// The Pareto front of error (on the scale of y) against complexity.
#pragma once

#include <vector>

#include "gsr/law.hpp"

namespace gsr {

class Archive {
 public:
  // Keeps the law unless one that is no more complex has no larger error. Of exact laws, whose
  // errors are rounding, the one of the shortest description stays.
  bool offer(const Law& law);
  bool would_take(const Law& law) const;

  const std::vector<Law>& front() const { return front_; }  // by complexity, ascending
  // The exact law, or nullptr.
  const Law* best_exact() const;
  double best_rmse() const;

 private:
  std::vector<Law> front_;
};

}  // namespace gsr
