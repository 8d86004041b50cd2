#include <algorithm>

#include "gsr/guide.hpp"

namespace gsr {

GuideState Guide::state() const {
  GuideState out;
  out.share = settings_.share;
  out.n_shares = settings_.n_shares;
  out.stage = stage_;
  out.n_done = n_done_;
  out.simple_done = simple_done_;
  out.tidied = tidied_;
  out.evaluations = evaluations_;
  out.promises = promises_;
  out.learned = learned_;
  out.extended = extended_;
  out.from_elsewhere = from_elsewhere_;
  out.since_neighbours = since_neighbours_;
  for (const Goal& goal : goals_) out.of_goals.push_back(goal.promise);
  for (const LogGoal& goal : log_goals_) out.of_goals.push_back(goal.promise);
  return out;
}

void Guide::restore(const GuideState& state) {
  const bool same_share = state.share == settings_.share && state.n_shares == settings_.n_shares;
  goals_.clear();
  log_goals_.clear();
  work_.clear();
  promises_ = state.promises;
  learned_.clear();
  stage_ = std::min(state.stage, kStages.size());
  simple_done_ = state.simple_done;
  tidied_ = state.tidied;
  evaluations_ = state.evaluations;
  extended_ = state.extended;
  from_elsewhere_ = state.from_elsewhere;
  since_neighbours_ = state.since_neighbours;
  if (stage_ < kStages.size()) {
    plan_stage();
  } else {
    prepare_last();
  }
  const bool same_goals = state.of_goals.size() == goals_.size() + log_goals_.size();
  if (same_share && same_goals) {
    auto promise = state.of_goals.begin();
    for (Goal& goal : goals_) goal.promise = *promise++;
    for (LogGoal& goal : log_goals_) goal.promise = *promise++;
    skip_done(state.n_done);
  }
  learned_ = state.learned;
}

// What the tasks that are left need is built again.
void Guide::skip_done(std::size_t n_done) {
  for (; n_done_ < n_done && !work_.empty(); ++n_done_) {
    if (work_.front().builds) work_.front().run();
    work_.pop_front();
  }
}

}  // namespace gsr
