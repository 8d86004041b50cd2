// All that a search has to remember to go on as if it had never stopped.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "gsr/serialize.hpp"

namespace gsr {

// What the best set of terms leaves of a goal of the guide, by a fingerprint of the goal.
using Promises = std::map<std::uint64_t, double>;

struct GuideState {
  int share = 0, n_shares = 1;
  std::size_t stage = 0;
  std::size_t n_done = 0;  // tasks of the stage
  bool simple_done = false;
  double tidied = 0.0;
  long evaluations = 0;
  Promises promises, learned;
  std::vector<double> of_goals;      // promises now, sums and then logarithms
  std::set<std::uint64_t> extended;  // laws whose neighbours were looked at
  std::set<std::uint64_t> from_elsewhere;
  double since_neighbours = 0.0;
};

struct State {
  int generation = -1, exact_since = -1;
  int first_birth = 0, next_birth = -1;
  long evaluations = 0, bred = 0, n_unconverged = 0;
  double guided_work = 0.0, work = 0.0;
  int ended = 0;  // 1: with an exact law, 2: below the threshold
  std::vector<Individual> population, births;
  std::vector<Law> front, runners_up;
  std::set<std::uint64_t> refused;
  std::optional<GuideState> guide;
};

void write(Writer& writer, const Promises& promises);
Promises read_promises(Reader& reader);

void write(Writer& writer, const State& state);
State read_state(Reader& reader);

}  // namespace gsr
