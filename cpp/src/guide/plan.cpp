#include "plan.hpp"

#include <algorithm>

namespace gsr::guide {

bool Plan::pursuits_done() const {
  return std::none_of(
      tuning::kStages.begin() + stage_, tuning::kStages.end(),
      [](const tuning::Stage& stage) { return stage.look == tuning::Look::pursuit; });
}

void Plan::begin_stage(std::size_t number, Index n_goals) {
  stage_ = number;
  tasks_.clear();
  n_numbers_ = n_goals;
  n_done_ = 0;
}

void Plan::end_stages() {
  stage_ = tuning::kStages.size();
  tasks_.clear();
}

void Plan::scan(Index number, Task task) {
  if (is_mine(number)) tasks_.push_back({std::move(task), Kind::scan});
}

bool Plan::is_mine(std::uint64_t number) const {
  return number % settings_.n_shares == static_cast<std::uint64_t>(settings_.share);
}

double Plan::do_next() {
  const double work = run(0);
  drop(1);
  return work;
}

int Plan::n_side_by_side() const {
  const int most = settings_.n_shares > 1 ? tuning::kSideBySideByIslands : tuning::kSideBySide;
  int n = 0;
  for (const Planned& task : tasks_) {
    if (task.kind != Kind::scan || n == most) break;
    ++n;
  }
  return n;
}

double Plan::run(int i) const { return std::max(1.0, tasks_[static_cast<std::size_t>(i)].run()); }

void Plan::drop(int n) {
  tasks_.erase(tasks_.begin(), tasks_.begin() + n);
  n_done_ += static_cast<std::size_t>(n);
}

void Plan::skip(std::size_t n_done) {
  for (; n_done_ < n_done && !tasks_.empty(); ++n_done_) {
    if (tasks_.front().kind == Kind::build) tasks_.front().run();
    tasks_.pop_front();
  }
}

void Plan::save(GuideState& state) const {
  state.share = settings_.share;
  state.n_shares = settings_.n_shares;
  state.stage = stage_;
  state.n_done = n_done_;
}

bool Plan::has_share_of(const GuideState& state) const {
  return state.share == settings_.share && state.n_shares == settings_.n_shares;
}

}  // namespace gsr::guide
