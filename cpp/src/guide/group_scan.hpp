// Sums of functions of different features, f(x1, x2, x3) + g(x4, x5). Once it is known which
// features act together, each function is sought by itself, in a large pool of functions of its
// features alone: what the other functions contribute is taken out by polynomials of their
// features.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "groups.hpp"
#include "proposer.hpp"
#include "space.hpp"

namespace gsr::guide {

class GroupScan {
 public:
  GroupScan(const Sample& sample, Proposer& proposer) : sample_(sample), proposer_(proposer) {}

  // Both return their work. Groups are found, and pools made, for all goals that may be scanned.
  double build(const std::vector<const Goal*>& goals);
  double scan(const Goal& goal) const;
  void clear();

 private:
  // What is known of a goal: squares that its terms may leave, at most.
  struct Known {
    std::vector<Group> groups;
    double most = 0.0;
  };
  // Terms of some of the groups.
  struct Partial {
    std::vector<Basis> terms;
    std::vector<char> done;  // of each group
    double rest = 1.0;
  };

  bool is_worth_scanning(const std::vector<Group>& groups) const;
  // Squares that polynomials of all groups leave of the target; infinite if that is much.
  double left_by_polynomials(const Goal& goal, const std::vector<Group>& groups) const;
  double make_candidates(const Group& group);
  Free beside(const std::vector<Group>& groups, const Partial& partial, std::size_t scanned) const;
  // Adds terms of one more group; returns the operations.
  double extend(const Goal& goal, const Known& known, const Partial& partial, std::size_t scanned,
                std::vector<Partial>& out) const;

  const Sample& sample_;
  Proposer& proposer_;
  std::map<Group, std::unique_ptr<Candidates>> candidates_;
  std::map<Index, Known> known_;  // by the goal's number
};

}  // namespace gsr::guide
