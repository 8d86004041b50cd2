// Genetic programming (Algorithm 2).
#pragma once

#include <atomic>
#include <chrono>
#include <limits>
#include <memory>
#include <stdexcept>
#include <vector>

#include "gsr/archive.hpp"
#include "gsr/fitness.hpp"
#include "gsr/guide.hpp"
#include "gsr/state.hpp"
#include "gsr/thread_pool.hpp"
#include "gsr/variation.hpp"

namespace gsr {

// A search is for one thread at a time. A second one is told, whatever it wants, before it reads
// what the first is writing.
class InUse {
 public:
  explicit InUse(std::atomic<bool>& flag) : flag_(flag) {
    if (flag.exchange(true)) throw std::logic_error("another thread is using this search");
  }
  ~InUse() { flag_ = false; }
  InUse(const InUse&) = delete;
  InUse& operator=(const InUse&) = delete;

 private:
  std::atomic<bool>& flag_;
};

class Evolution {
 public:
  enum class Status { running, exact, threshold, max_generations, max_evals };

  explicit Evolution(Problem problem);

  // A known law to start from: its constants are fitted, it is offered to the archive and joins the
  // population. False if the data or the constraints do not allow it.
  bool start_from(const std::vector<Basis>& psi, std::vector<Basis> phi);
  // Limits from here on, of an evolution that goes on after it has ended; 0: none.
  void extend(int generations, long evaluations);
  // Until the search is done, the time is used up, or so much work is done in all (whole
  // generations); a piece of work that is interrupted is begun anew when the search goes on.
  Status run(double seconds, double work = std::numeric_limits<double>::infinity());
  // Makes `run` return soon, from any thread: the next one, if none is under way.
  void interrupt() { interrupted_ = true; }

  int generation() const { return generation_; }
  long evaluations() const { return evaluations_; }
  double work() const { return work_; }  // in individuals
  Status status() const { return status_; }
  // Whether the guide has gone through all stages of pursuit.
  // Number of the guide's stage.
  int stage() const { return guide_ == nullptr ? 0 : guide_->stage(); }
  bool pursuits_done() const { return guide_ != nullptr && guide_->pursuits_done(); }
  // Features that the guide combines with each other, numbered from 1; empty if there is no guide.
  std::vector<int> scanned_features() const {
    return guide_ != nullptr ? guide_->scanned_features() : std::vector<int>();
  }
  const Archive& archive() const { return archive_; }
  // With the laws of scans that are not all done yet.
  Archive archive_so_far() const;
  const Problem& problem() const { return *problem_; }
  long n_unconverged() const;  // ADMM solves that hit their limit
  // The error threshold at the current generation.
  double epsilon() const;

 protected:
  void select_survivors();
  Individual solved(Individual individual);
  // Best first.
  std::vector<Individual>& population() { return population_; }
  Archive& archive() { return archive_; }
  Guide* guide() { return guide_.get(); }
  State state() const;
  void restore(State state);

  mutable std::atomic<bool> in_use_{false};

 private:
  using Clock = std::chrono::steady_clock;
  struct Birth {
    Individual individual;
    std::vector<Law> laws;
  };

  void archive_constant();
  void follow_guide(Clock::time_point deadline);
  void begin_generation();
  void breed_some();
  void finish_generation();
  void bear(IndividualSolver& solver, int index, Birth& birth) const;
  void archive_births(int first, int end);
  void advance(Clock::time_point deadline);
  Status check();
  Status within_limits() const;
  bool reaches_threshold() const;
  double bound() const;
  double accepted() const;  // bits
  double evidence() const;  // bits that the rows are worth
  bool may_be_roundabout(const Law& law) const;

  std::unique_ptr<const Problem> problem_;
  std::vector<std::unique_ptr<IndividualSolver>> solvers_;
  std::unique_ptr<IndividualSolver> guests_;  // solves individuals from elsewhere
  ThreadPool pool_;
  std::unique_ptr<Guide> guide_;        // nullptr: unguided
  double guided_work_ = 0.0;            // in individuals
  std::vector<Individual> population_;  // survivors first
  std::vector<Birth> births_;
  Archive archive_;
  Sublibrary sublibrary_;
  int generation_ = -1;  // none yet
  int first_birth_ = 0;
  int next_birth_ = -1;  // -1: between generations
  int batch_ = 1;
  int exact_since_ = -1;
  int max_generations_;
  long max_evaluations_;
  long evaluations_ = 0;
  long bred_ = 0;  // of them by the genetic programming
  double work_ = 0.0;
  long unconverged_before_ = 0;  // when the state was saved
  std::atomic<bool> interrupted_{false};
  Status status_ = Status::running;
};

const char* name(Evolution::Status status);

}  // namespace gsr
