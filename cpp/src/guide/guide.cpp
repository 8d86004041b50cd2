#include "gsr/guide.hpp"

#include <algorithm>

#include "gsr/interrupt.hpp"
#include "stages.hpp"

namespace gsr {

Guide::Guide(const Problem& problem, std::size_t max_bytes, ThreadPool& threads)
    : threads_(threads),
      stages_(std::make_unique<guide::Stages>(problem, max_bytes, threads.size())) {}

Guide::~Guide() = default;

double Guide::step(Archive& archive, const std::function<bool()>& time_is_up) {
  guide::Stages& s = *stages_;
  const Helpers helpers(&threads_);
  s.proposer.offer_to(archive);
  s.advance();
  const guide::Proposer::Counts before = s.proposer.counts();
  try {
    if (s.plan.empty()) return look_around();
    return s.batch == nullptr && s.neighbours.due() ? s.neighbours.scan_some()
                                                    : do_tasks(time_is_up);
  } catch (const Interrupted&) {  // it is begun anew
    s.proposer.take_back(before);
    throw;
  }
}

double Guide::do_tasks(const std::function<bool()>& time_is_up) {
  idle_ = false;
  guide::Plan& plan = stages_->plan;
  const double work = plan.n_side_by_side() > 0 ? scan_side_by_side(time_is_up) : plan.do_next();
  stages_->neighbours.since += work;
  return work;
}

double Guide::scan_side_by_side(const std::function<bool()>& time_is_up) {
  guide::Stages& s = *stages_;
  if (s.batch == nullptr) s.batch = std::make_unique<guide::Batch>(s.plan.n_side_by_side(), true);
  if (!s.batch->go_on(s.proposer, [&s](int i) { return s.plan.run(i); }, time_is_up)) return 0.0;
  const std::unique_ptr<guide::Batch> done = std::move(s.batch);
  const double work = done->merge(s.proposer);
  s.plan.drop(done->n_merged());
  return work;
}

void Guide::show_unfinished(Archive& archive) const {
  if (stages_->batch != nullptr) stages_->batch->show(archive);
}

double Guide::look_around() {
  guide::Neighbours& neighbours = stages_->neighbours;
  const std::size_t before = neighbours.extended.size();
  const double work = neighbours.scan(tuning::kRounds);
  idle_ = neighbours.extended.size() == before;
  return idle_ ? tuning::kIdle : work;
}

int Guide::stage() const { return static_cast<int>(stages_->plan.stage_number()); }

bool Guide::pursuits_done() const { return stages_->plan.pursuits_done(); }

bool Guide::simple_done() const { return stages_->simple_done; }

const std::vector<int>& Guide::scanned_features() const { return stages_->sample.features; }

std::vector<Individual> Guide::take_individuals() { return stages_->proposer.take_individuals(); }

long Guide::evaluations() const { return stages_->proposer.counts().evaluations; }

long Guide::n_unconverged() const { return stages_->proposer.n_unconverged(); }

Promises Guide::promises() const { return stages_->goals.promises(); }

void Guide::learn(const Promises& promises) { stages_->goals.book.learn(promises); }

int Guide::neighbours_seen(const Law& law) const { return stages_->neighbours.seen(law); }

void Guide::note_neighbours_seen(const Law& law, int seen) {
  stages_->neighbours.note_seen(law, seen);
}

void Guide::note_from_elsewhere(const Law& law) { stages_->neighbours.note_from_elsewhere(law); }

GuideState Guide::state() const {
  const guide::Stages& s = *stages_;
  GuideState out;
  s.plan.save(out);
  out.simple_done = s.simple_done;
  out.tidied = s.proposer.counts().simplified_bits;
  out.evaluations = s.proposer.counts().evaluations;
  out.promises = s.goals.book.at_planning;
  out.learned = s.goals.book.learned;
  out.of_goals = s.goals.promise_of_each();
  out.extended = s.neighbours.extended;
  out.from_elsewhere = s.neighbours.from_elsewhere;
  out.since_neighbours = s.neighbours.since;
  return out;
}

void Guide::restore(const GuideState& state) {
  guide::Stages& s = *stages_;
  const Helpers helpers(&threads_);
  s.goals.clear();
  s.goals.book = {state.promises, {}};
  s.simple_done = state.simple_done;
  s.proposer.set_counts({state.evaluations, state.tidied});
  s.neighbours.extended = state.extended;
  s.neighbours.from_elsewhere = state.from_elsewhere;
  s.neighbours.since = state.since_neighbours;
  if (state.stage < tuning::kStages.size()) {
    s.begin(state.stage);
  } else {
    s.end_with_pools();
  }
  if (s.plan.has_share_of(state) && ssize(state.of_goals) == s.goals.size()) {
    s.goals.set_promise_of_each(state.of_goals);
    s.plan.skip(state.n_done);
  }
  s.goals.book.learned = state.learned;
}

}  // namespace gsr
