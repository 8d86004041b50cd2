// The pieces of the guide, and the tasks that each stage makes of them.
#pragma once

#include <memory>

#include "batch.hpp"
#include "beside_scan.hpp"
#include "group_scan.hpp"
#include "neighbours.hpp"
#include "parametric_scan.hpp"
#include "partial_logarithms.hpp"
#include "plan.hpp"
#include "pursuit_scan.hpp"
#include "rational_scan.hpp"
#include "scans.hpp"
#include "similarity_scan.hpp"

namespace gsr::guide {

class Stages {
 public:
  Stages(const Problem& problem, std::size_t max_bytes, int n_threads);

  // Chooses rows, makes goals and plans the tasks.
  void begin(std::size_t number);
  // Ends with the pools of the last stage, for neighbours of laws that come up after it.
  void end_with_pools();
  // On to the next stage that has tasks, if the tasks of this one are done.
  void advance();

  Sample sample;
  Goals goals;
  Proposer proposer;
  Plan plan;
  std::unique_ptr<Batch> batch;  // of the scans that come next, if it is under way
  Spaces spaces, deep;
  Scanner scanner;
  ParametricScan parametric;
  PursuitScan pursuits;
  BesideScan beside;
  GroupScan groups;
  PartialLogarithms partial;
  RationalScan rationals;
  SimilarityScan similarities;
  Neighbours neighbours;
  bool simple_done = false;  // simple candidates have all been looked at

 private:
  // The next stage from this number on that is not known to be done.
  std::size_t next_from(std::size_t number) const;
  void choose_rows(const tuning::Stage& stage);
  void clear_pools();
  void plan_tasks(tuning::Look look);
  void plan_plain();
  void plan_usual_goals();
  void plan_unusual_goals();
  void plan_deep();
  void plan_rationals();
  void plan_forward(Goal& goal);
  void plan_sublibraries();
  void plan_weighted();
  void plan_parametric();
  void plan_two_frequencies();
  void plan_pursuit();
  void plan_beside();
  void plan_groups();
  void plan_similarities();
  // Goals by turns, as long as `most` allows: a sum, a product.
  template <typename Add>
  void for_goals_in_turn(Index most, Add add);

  const Problem& problem_;
};

}  // namespace gsr::guide
