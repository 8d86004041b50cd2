// Guided variation: individuals made by looking at the data. Pools of candidates grow from simple
// to complex; for every candidate psi the terms that explain it best are found by orthogonal least
// squares, in two spaces: sums of terms, and sums of logarithms with all monomials free.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "gsr/archive.hpp"
#include "gsr/fitness.hpp"
#include "gsr/state.hpp"
#include "gsr/thread_pool.hpp"

namespace gsr {
namespace guide {
class Stages;
}

class Guide {
 public:
  // The threads are the search's; only one of them calls the guide.
  Guide(const Problem& problem, std::size_t max_bytes, ThreadPool& threads);
  ~Guide();

  // One piece of work; returns its size in individuals of the genetic programming. Laws that the
  // archive would take are offered to it, good sets of basis functions are kept as individuals.
  // When all stages are done, neighbours of new laws are what is left. When time is up scans may be
  // left for the next step: then it returns 0, and nothing has changed.
  double step(Archive& archive, const std::function<bool()>& time_is_up);
  // Offers the laws of scans that a step has left unfinished.
  void show_unfinished(Archive& archive) const;
  // Whether the last step found nothing to do.
  bool idle() const { return idle_; }
  int stage() const;
  // Whether the stages that find most laws under noise are done: all pursuits.
  bool pursuits_done() const;
  // Whether simple candidates have all been looked at.
  bool simple_done() const;
  // Features that are combined with each other, numbered from 1.
  const std::vector<int>& scanned_features() const;
  std::vector<Individual> take_individuals();
  long evaluations() const;
  long n_unconverged() const;

  // What was learned about goals here, and elsewhere: it orders the goals of the next stage.
  Promises promises() const;
  void learn(const Promises& promises);
  // A law travels with the level at which its neighbours were looked at: 0 is never, else one more
  // than the level. An island looks at those of its own laws; of laws from elsewhere at which
  // nobody has looked yet, each belongs to one island.
  int neighbours_seen(const Law& law) const;
  void note_neighbours_seen(const Law& law, int seen);
  void note_from_elsewhere(const Law& law);

  // Pools are not saved but built again. A guide that was saved with another share of the work
  // begins its stage anew.
  GuideState state() const;
  void restore(const GuideState& state);

 private:
  double do_tasks(const std::function<bool()>& time_is_up);
  double scan_side_by_side(const std::function<bool()>& time_is_up);
  double look_around();

  ThreadPool& threads_;
  std::unique_ptr<guide::Stages> stages_;
  bool idle_ = false;
};

}  // namespace gsr
