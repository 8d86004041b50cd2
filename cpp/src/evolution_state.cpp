#include <algorithm>
#include <utility>

#include "gsr/evolution.hpp"
#include "guide/tuning.hpp"

namespace gsr {
namespace {

constexpr int kExact = 1, kThreshold = 2;

}  // namespace

State Evolution::state() const {
  State out;
  out.generation = generation_;
  out.exact_since = exact_since_;
  out.first_birth = first_birth_;
  out.next_birth = next_birth_;
  out.evaluations = evaluations_;
  out.bred = bred_;
  out.n_unconverged = n_unconverged();
  out.guided_work = guided_work_;
  out.work = work_;
  out.ended = status_ == Status::exact ? kExact : status_ == Status::threshold ? kThreshold : 0;
  out.population = population_;
  for (int i = first_birth_; i < next_birth_; ++i) out.births.push_back(births_[i].individual);
  out.front = archive_.front();
  out.runners_up = archive_.runners_up();
  out.refused = archive_.refused();
  if (guide_ != nullptr) out.guide = guide_->state();
  return out;
}

void Evolution::restore(State state) {
  const int n_births = state.next_birth - state.first_birth;
  const bool between = state.next_birth < 0;
  if (between && !state.births.empty()) throw DamagedBytes("births between generations");
  if (!between && (n_births != static_cast<int>(state.births.size()) ||
                   state.next_birth > problem_->settings.population_size))
    throw DamagedBytes("the generation under way does not fit");
  generation_ = state.generation;
  exact_since_ = state.exact_since;
  first_birth_ = state.first_birth;
  next_birth_ = state.next_birth;
  evaluations_ = state.evaluations;
  bred_ = state.bred;
  unconverged_before_ += state.n_unconverged - n_unconverged();
  guided_work_ = state.guided_work;
  work_ = state.work;
  status_ = state.ended == kExact       ? Status::exact
            : state.ended == kThreshold ? Status::threshold
            : between                   ? within_limits()
                                        : Status::running;
  population_ = std::move(state.population);
  for (std::size_t i = 0; i < state.births.size(); ++i)
    births_[first_birth_ + i].individual = std::move(state.births[i]);
  archive_.restore(std::move(state.front), std::move(state.runners_up), std::move(state.refused));
  if (guide_ != nullptr && state.guide) guide_->restore(*state.guide);
  if (!between) sublibrary_ = choose_sublibrary(generation_, *problem_);
}

// An individual from elsewhere has its laws offered to the archive.
Individual Evolution::solved(Individual individual) {
  if (guests_ == nullptr)
    guests_ =
        std::make_unique<IndividualSolver>(*problem_, problem_->settings.max_bytes / 8,
                                           std::max(tuning::kColumns, problem_->settings.n_phi),
                                           std::max(tuning::kPsi, problem_->settings.n_psi));
  guests_->psi().clear();
  guests_->phi().clear();
  for (const Basis& basis : individual.psi) guests_->psi().add(basis);
  for (const Basis& basis : individual.phi) guests_->phi().add(basis);
  individual.fitness = std::numeric_limits<double>::infinity();
  if (guests_->psi().size() == 0) return individual;
  individual.fitness = guests_->solve(std::numeric_limits<double>::infinity(), tuning::kAnyBits);
  ++evaluations_;
  if (!std::isfinite(individual.fitness)) return individual;
  std::vector<Law> laws;
  guests_->collect(archive_, laws);
  for (const Law& law : laws)
    if (std::isfinite(law.rmse)) archive_.offer(law);
  individual.psi = guests_->psi().bases();
  individual.phi = guests_->phi().bases();
  return individual;
}

}  // namespace gsr
