// What comes next: the tasks of a stage, of which islands share the scans.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>

#include "gsr/settings.hpp"
#include "gsr/state.hpp"
#include "tuning.hpp"

namespace gsr::guide {

class Plan {
 public:
  // Returns its work.
  using Task = std::function<double()>;

  explicit Plan(const Settings& settings) : settings_(settings) {}

  // ---- stages
  std::size_t stage_number() const { return stage_; }
  bool stages_done() const { return stage_ == tuning::kStages.size(); }
  bool pursuits_done() const;
  // The tasks of a stage follow, after its goals have taken the first numbers.
  void begin_stage(std::size_t number, Index n_goals);
  void end_stages();

  // ---- tasks
  // What is built is needed by the scans after it, on every island.
  void build(Task task) { tasks_.push_back({std::move(task), Kind::build}); }
  // A scan of which each island does a part, and each thread.
  void scan_together(Task task) { tasks_.push_back({std::move(task), Kind::together}); }
  // A scan that is done by one island: by its number, else in turn. Those with the numbers of goals
  // come first. Threads do several of them side by side: they must not write what others read.
  void scan(Index number, Task task);
  void scan(Task task) { scan(n_numbers_++, std::move(task)); }
  bool is_mine(std::uint64_t number) const;

  bool empty() const { return tasks_.empty(); }
  void do_first() { tasks_.front().run(); }
  double do_next();
  // Scans that come next and are done side by side; 0: what comes next is done by itself.
  int n_side_by_side() const;
  double run(int i) const;
  void drop(int n);
  // What the tasks that are left need is built again.
  void skip(std::size_t n_done);

  // ---- saved state
  void save(GuideState& state) const;
  bool has_share_of(const GuideState& state) const;

 private:
  enum class Kind { build, together, scan };
  struct Planned {
    Task run;
    Kind kind;
  };

  const Settings& settings_;
  std::size_t stage_ = 0;
  std::deque<Planned> tasks_;
  Index n_numbers_ = 0;     // goals and scans of the stage that have a number
  std::size_t n_done_ = 0;  // tasks of the stage
};

}  // namespace gsr::guide
