// The Pareto front of error (on the scale of y) against complexity.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <vector>

#include "gsr/law.hpp"

namespace gsr {

class Archive {
 public:
  // With a number of rows, laws that are beaten by a little are kept apart: under noise the truth
  // is often among them, and what is chosen is decided when the search is over.
  explicit Archive(Index n_rows = 0) : n_rows_(static_cast<double>(n_rows)) {}

  // Laws that `accept` turns down are never kept.
  void ask(std::function<bool(const Law&)> accept) { accept_ = std::move(accept); }
  bool asks() const { return accept_ != nullptr; }

  // Keeps the law unless one that is no more complex has no larger error. Of exact laws, whose
  // errors are rounding, the one of the shortest description stays.
  bool offer(const Law& law);
  bool would_take(const Law& law) const;
  // Whether a law of the same terms is kept.
  bool holds(const Law& law) const;
  void restore(std::vector<Law> front, std::vector<Law> runners_up,
               std::set<std::uint64_t> refused);

  const std::vector<Law>& front() const { return front_; }  // by complexity, ascending
  const std::vector<Law>& runners_up() const { return runners_up_; }
  const std::set<std::uint64_t>& refused() const { return refused_; }
  // The exact law, or nullptr.
  const Law* best_exact() const;
  double best_rmse() const;

 private:
  bool joins_front(const Law& law) const;
  bool joins_runners_up(const Law& law) const;
  void keep_runner_up(const Law& law);
  double length(const Law& law) const;
  bool accepts(const Law& law);

  double n_rows_;
  std::function<bool(const Law&)> accept_;  // slow: asked once for each set of terms
  std::set<std::uint64_t> refused_;         // hashes of terms
  std::vector<Law> front_;
  std::vector<Law> runners_up_;  // shortest rough description of law and data first
};

}  // namespace gsr
