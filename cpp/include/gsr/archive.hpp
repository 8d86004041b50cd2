// The Pareto front of error (on the scale of y) against complexity.
#pragma once

#include <vector>

#include "gsr/law.hpp"

namespace gsr {

class Archive {
 public:
  // Keeps the law unless one that is no more complex has no larger error.
  bool offer(const Law& law);
  // Whether a law of this complexity and error could enter.
  bool would_take(int complexity, double rmse) const;

  const std::vector<Law>& front() const { return front_; }  // by complexity, ascending
  // The exact law of the shortest description, or nullptr.
  const Law* best_exact() const;
  double best_rmse() const;

 private:
  std::vector<Law> front_;
};

}  // namespace gsr
