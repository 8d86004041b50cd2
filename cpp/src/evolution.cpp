#include "gsr/evolution.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "gsr/description_length.hpp"
#include "gsr/interrupt.hpp"
#include "gsr/refine.hpp"

namespace gsr {
namespace {

constexpr int kBetweenGenerations = -1;
// Births between two looks at the clock: so many rows in all, within limits.
constexpr Index kRowsPerBatch = 500000;
constexpr int kLargestBatch = 256;
// Generations after an exact law was found: so many, and this part of those before.
constexpr int kGrace = 5;
constexpr int kGraceShare = 4;
constexpr int kShortGrace = 2;      // where little can be gained
constexpr double kPlainLaw = 60.0;  // bits
constexpr double kShortLaw = 100.0;
constexpr int kFirstPursuit = 1;  // stage of the guide
// Work given to the guide for each unit of the genetic programming, and ahead of it.
constexpr double kGuidedShare = 32.0;
constexpr double kGuidedLead = 300.0;
// Scans that threads do side by side are not left before: threads would wait for each other too
// often.
constexpr std::chrono::milliseconds kLeastStep{250};
constexpr int kStartSteps = 60;
constexpr double kAnyBits = 1e9;

void require(bool holds, const char* what) {
  if (!holds) throw std::invalid_argument(what);
}

// The face checks options one by one and names them; this keeps the core safe by itself.
Problem validated(Problem problem) {
  const Settings& s = problem.settings;
  require(problem.x.n_rows() > 0 && problem.x.n_features() > 0, "no data");
  require(problem.x.n_features() < kOne, "too many features");
  require(s.n_survivors >= 1 && s.n_survivors < s.population_size,
          "n_survivors must be smaller than population_size");
  require(s.n_phi >= 1 && s.n_psi >= 1 && s.n_mutated >= 0, "counts must be positive");
  require(1 <= s.min_factors && s.min_factors <= s.max_factors && s.max_factors <= kMaxRows,
          "factors out of range");
  require(1 <= s.n_target_factors && s.n_target_factors <= kMaxRows, "target factors out of range");
  require(1 <= s.min_multiplicity && s.min_multiplicity <= s.max_multiplicity &&
              s.max_multiplicity <= kMaxVariables,
          "multiplicity out of range");
  require(s.cycle_full + s.cycle_polynomial + s.cycle_trigonometric >= 1 && s.cycle_full >= 0 &&
              s.cycle_polynomial >= 0 && s.cycle_trigonometric >= 0 && s.late_stage >= 1 &&
              s.target_stage >= 1,
          "sublibrary stages out of range");
  require(s.transform_target || problem.target_table.identity() >= 0,
          "without transformed targets the target library needs the identity");
  require(1 <= s.depth && s.depth <= kMaxRows, "depth out of range");
  require(s.admm.rho > 0.0, "rho must be positive");
  require(s.plain_stages_done >= 0, "stages out of range");
  require(0 <= s.share && s.share < s.n_shares, "share out of range");
  require(1.0 <= s.scan_factor && s.scan_factor <= 100.0, "scan_factor out of range");
  require(problem.row_weights.empty() ||
              problem.row_weights.size() == static_cast<std::size_t>(problem.x.features.stride()),
          "one weight for each row");
  const auto d = static_cast<std::size_t>(problem.x.n_features());
  const Constraints& known = problem.constraints;
  require(known.forbidden.empty() || known.forbidden.size() == d, "one rule for each feature");
  for (const Forbidden& rule : known.forbidden)
    require(
        rule.codes.empty() || rule.codes.size() == static_cast<std::size_t>(problem.table.size()),
        "one flag for each transformation");
  require(!known.units || known.units->features.size() == d, "one unit for each feature");
  require(static_cast<int>(known.required.size()) <= s.n_phi, "more required terms than n_phi");
  return problem;
}

}  // namespace

Evolution::Evolution(Problem problem)
    : problem_(std::make_unique<const Problem>(validated(std::move(problem)))),
      pool_(std::clamp(problem_->settings.n_threads, 1, problem_->settings.population_size)),
      archive_(problem_->settings.guided ? problem_->x.n_rows() : 0),
      max_generations_(problem_->settings.max_generations),
      max_evaluations_(problem_->settings.max_evaluations) {
  const auto threads = static_cast<std::size_t>(pool_.size());
  for (std::size_t i = 0; i < threads; ++i)
    solvers_.push_back(
        std::make_unique<IndividualSolver>(*problem_, problem_->settings.max_bytes / threads));
  births_.resize(problem_->settings.population_size);
  const auto affordable = static_cast<int>(kRowsPerBatch / problem_->x.n_rows());
  batch_ = std::max(pool_.size(), std::min(kLargestBatch, affordable));
  archive_.ask(problem_->constraints.accept);
  archive_constant();
  if (problem_->settings.guided)
    guide_ = std::make_unique<Guide>(*problem_, problem_->settings.max_bytes / 4, pool_);
}

// The law y = mean(y), so that there is always one to compare with.
void Evolution::archive_constant() {
  const Table& targets = problem_->target_table;
  const Constraints& known = problem_->constraints;
  const bool dimensionless = !known.restricts_units() || known.units->target.is_one();
  if (targets.identity() < 0 || !known.required.empty() || !dimensionless) return;
  const TargetScale scale(problem_->y, targets, false, problem_->row_weights);
  Row row;
  row.transformation = static_cast<std::int16_t>(targets.identity());
  row.variables[0] = 1;
  Law law;
  law.psi.emplace_back();
  law.psi[0].push(row);
  law.beta = {1.0};
  law.phi = {constant_basis(problem_->table)};
  law.alpha = {scale.mean()};
  law.complexity = kConstantTerm + complexity(law.psi[0], targets);
  law.transformed_error = 1.0;
  law.rmse = scale.spread();
  if (std::isfinite(law.rmse) && law.rmse > 0.0) archive_.offer(law);
}

void Evolution::extend(int generations, long evaluations) {
  const InUse in_use(in_use_);
  interrupted_ = false;
  max_generations_ = generations > 0 ? generation_ + 1 + generations : 0;
  max_evaluations_ = evaluations > 0 ? evaluations_ + evaluations : 0;
  if (status_ == Status::max_generations || status_ == Status::max_evals) status_ = Status::running;
}

bool Evolution::start_from(const std::vector<Basis>& psi, std::vector<Basis> phi) {
  const InUse in_use(in_use_);
  phi.erase(std::remove_if(phi.begin(), phi.end(),
                           [&](const Basis& b) { return is_constant(b, problem_->table); }),
            phi.end());
  Refiner refiner(problem_->x, problem_->table, problem_->row_weights);
  Buffer target(problem_->y.features.stride(), 0.0);
  if (psi.size() == 1 && Evaluator(problem_->y, problem_->target_table, std::size_t{1} << 20)
                             .evaluate(psi[0], target.data()))
    refiner.improve(target.data(), phi, kStartSteps);
  const std::size_t n_phi = phi.size() + problem_->constraints.required.size() + 1;
  IndividualSolver solver(*problem_, std::size_t{1} << 24, static_cast<int>(n_phi),
                          static_cast<int>(psi.size()));
  bool complete = true;
  for (const Basis& basis : psi) complete = solver.psi().add(basis) && complete;
  for (const Basis& basis : phi)
    complete = (solver.phi().holds(basis) || solver.phi().add(basis)) && complete;
  Individual individual;
  individual.fitness = solver.solve(std::numeric_limits<double>::infinity(), kAnyBits, true);
  ++evaluations_;
  if (!std::isfinite(individual.fitness)) return false;
  std::vector<Law> laws;
  solver.collect(archive_, laws);
  for (const Law& law : laws)
    if (std::isfinite(law.rmse)) archive_.offer(law);
  const auto most = static_cast<std::size_t>(problem_->settings.n_phi);
  if (psi.size() == 1 && phi.size() <= most) {
    individual.phi = std::move(phi);
    individual.psi = psi;
    population_.push_back(std::move(individual));
    select_survivors();
  }
  return complete;
}

// The clock is looked at between births where those are long, so that a run ends in time on large
// data too; the generation goes on where it was left.
Evolution::Status Evolution::run(double seconds, double work) {
  const InUse in_use(in_use_);
  const auto deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                           std::chrono::duration<double>(std::min(seconds, 1e8)));
  const Watch watch(interrupted_);
  try {
    while (status_ == Status::running) {
      if (next_birth_ == kBetweenGenerations && work_ >= work) break;
      stop_if_asked();
      advance(deadline);
      if (Clock::now() >= deadline) break;
    }
  } catch (const Interrupted&) {
  }
  interrupted_ = false;
  return status_;
}

// One piece of work. Guide and random births share the work in a fixed ratio.
void Evolution::advance(Clock::time_point deadline) {
  if (next_birth_ == kBetweenGenerations) {
    const double bred = static_cast<double>(bred_);
    if (guide_ != nullptr && guided_work_ <= kGuidedLead + kGuidedShare * bred) {
      follow_guide(deadline);
      return;
    }
    begin_generation();
  }
  breed_some();
  if (next_birth_ == problem_->settings.population_size) {
    finish_generation();
    status_ = check();
  }
}

// What the guide finds joins the population.
void Evolution::follow_guide(Clock::time_point deadline) {
  const Clock::time_point end = std::max(deadline, Clock::now() + kLeastStep);
  const long before = guide_->evaluations();
  const double size = guide_->step(archive_, [end] { return Clock::now() >= end; });
  guided_work_ += size;
  if (!guide_->idle()) work_ += size;
  evaluations_ += guide_->evaluations() - before;
  for (Individual& individual : guide_->take_individuals())
    population_.push_back(std::move(individual));
  select_survivors();
  status_ = check();
}

Archive Evolution::archive_so_far() const {
  Archive out = archive_;
  if (guide_ != nullptr) guide_->show_unfinished(out);
  return out;
}

void Evolution::begin_generation() {
  ++generation_;
  sublibrary_ = choose_sublibrary(generation_, *problem_);
  first_birth_ = next_birth_ = static_cast<int>(population_.size());
}

void Evolution::breed_some() {
  const int end = std::min(problem_->settings.population_size, next_birth_ + batch_);
  pool_.for_each(next_birth_, end, [&](int worker, int i) {
    Birth& birth = births_[i];
    birth.laws.clear();
    bear(*solvers_[worker], i, birth);
  });
  archive_births(next_birth_, end);
  evaluations_ += end - next_birth_;
  bred_ += end - next_birth_;
  work_ += static_cast<double>(end - next_birth_);
  next_birth_ = end;
}

void Evolution::finish_generation() {
  for (std::size_t i = static_cast<std::size_t>(first_birth_); i < births_.size(); ++i)
    population_.push_back(std::move(births_[i].individual));
  select_survivors();
  next_birth_ = kBetweenGenerations;
}

void Evolution::bear(IndividualSolver& solver, int index, Birth& birth) const {
  const Settings& settings = problem_->settings;
  Random random(settings.seed, static_cast<std::uint64_t>(generation_),
                static_cast<std::uint64_t>(index));
  BasisSet& phi = solver.phi();
  BasisSet& psi = solver.psi();
  phi.clear();
  psi.clear();
  const int n_parents = static_cast<int>(population_.size());
  const auto parent = [&]() -> const Individual& {
    return population_[random.integer(0, n_parents - 1)];
  };
  const double u = random.uniform();
  if (n_parents > 0 && u < settings.p_crossover) {
    const int a = random.integer(0, n_parents - 1);
    const int b = (a + random.integer(1, std::max(1, n_parents - 1))) % n_parents;
    crossover(random, population_[a], population_[b], phi, psi);
  } else if (n_parents > 0 && u < settings.p_crossover + settings.p_mutation) {
    keep_unmutated(random, parent(), settings.n_mutated, phi, psi);
  }
  complete_at_random(random, sublibrary_, *problem_, phi, psi);

  birth.individual.phi.clear();
  birth.individual.psi.clear();
  for (int j = 0; j < phi.size(); ++j) birth.individual.phi.push_back(phi.basis(j));
  for (int k = 0; k < psi.size(); ++k) birth.individual.psi.push_back(psi.basis(k));
  birth.individual.fitness = solver.solve(bound(), accepted());
  if (birth.individual.fitness < bound()) solver.collect(archive_, birth.laws);
}

// In the order of birth, so that the front does not depend on which thread was faster.
void Evolution::archive_births(int first, int end) {
  for (int i = first; i < end; ++i)
    for (const Law& law : births_[i].laws)
      if (std::isfinite(law.rmse)) archive_.offer(law);
}

// The n_p fittest; of individuals with the same fitness (copies) one is enough.
void Evolution::select_survivors() {
  std::stable_sort(population_.begin(), population_.end(),
                   [](const Individual& a, const Individual& b) { return a.fitness < b.fitness; });
  const auto last =
      std::unique(population_.begin(), population_.end(),
                  [](const Individual& a, const Individual& b) { return a.fitness == b.fitness; });
  population_.erase(last, population_.end());
  const auto n = static_cast<std::size_t>(problem_->settings.n_survivors);
  if (population_.size() > n) population_.resize(n);
}

long Evolution::n_unconverged() const {
  long total = unconverged_before_ + (guide_ == nullptr ? 0 : guide_->n_unconverged());
  for (const auto& solver : solvers_) total += solver->n_unconverged();
  if (guests_ != nullptr) total += guests_->n_unconverged();
  return total;
}

double Evolution::bound() const {
  const auto n = static_cast<std::size_t>(problem_->settings.n_survivors);
  return population_.size() < n ? std::numeric_limits<double>::infinity()
                                : population_.back().fitness;
}

double Evolution::epsilon() const {
  const Settings& s = problem_->settings;
  const int relaxed = s.relax_interval > 0 ? std::max(generation_, 0) / s.relax_interval : 0;
  return s.epsilon * std::pow(s.relax_factor, relaxed);
}

// The printed rule (RMSE below epsilon) ends a search at once on smooth data, where many terms fit
// by accident; so it holds only once the threshold has been relaxed, and before that a law must be
// exact to rounding and short to describe. The search then goes on a little: the first exact law is
// often not the simplest.
Evolution::Status Evolution::check() {
  const Settings& s = problem_->settings;
  const Law* exact = archive_.best_exact();
  if (exact != nullptr && exact->bits <= accepted() && !may_be_roundabout(*exact)) {
    if (exact_since_ < 0) exact_since_ = std::max(generation_, 0);
    const int grace = guide_ != nullptr && exact->bits <= kPlainLaw ? kShortGrace : kGrace;
    if (generation_ >= exact_since_ + grace + exact_since_ / kGraceShare) return Status::exact;
  }
  const bool literal =
      s.solver == SolverKind::printed || (guide_ == nullptr && generation_ >= s.relax_interval);
  if (literal && reaches_threshold()) return Status::threshold;
  return within_limits();
}

// A long law with constants inside may be another one in roundabout terms, which a pursuit finds.
bool Evolution::may_be_roundabout(const Law& law) const {
  if (guide_ == nullptr || guide_->stage() > kFirstPursuit || law.bits <= evidence() + kShortLaw)
    return false;
  return std::any_of(law.phi.begin(), law.phi.end(),
                     [](const Basis& phi) { return phi.n_weights() > 0; });
}

// Bits of the rows: a long law that holds to rounding on many rows is no accident.
double Evolution::evidence() const {
  return std::clamp(2.0 * (static_cast<double>(problem_->x.n_rows()) - 20.0), 0.0, 240.0);
}

Evolution::Status Evolution::within_limits() const {
  if (max_generations_ > 0 && generation_ + 1 >= max_generations_) return Status::max_generations;
  if (max_evaluations_ > 0 && evaluations_ >= max_evaluations_) return Status::max_evals;
  return Status::running;
}

double Evolution::accepted() const {
  if (guide_ == nullptr) return accepted_bits(std::max(generation_, 0));
  // As long as simple candidates are still to be looked at, only a short law ends the search.
  return evidence() + (guide_->simple_done() ? accepted_bits(std::max(generation_, 0)) : kShortLaw);
}

bool Evolution::reaches_threshold() const {
  const bool printed = problem_->settings.solver == SolverKind::printed;
  for (const Law& law : archive_.front())
    if (law.rmse < epsilon() && (printed || rough_bits(law) <= accepted())) return true;
  return false;
}

const char* name(Evolution::Status status) {
  switch (status) {
    case Evolution::Status::running: return "running";
    case Evolution::Status::exact: return "exact";
    case Evolution::Status::threshold: return "threshold";
    case Evolution::Status::max_evals: return "max_evals";
    default: return "max_generations";
  }
}

}  // namespace gsr
