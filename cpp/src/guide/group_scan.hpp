// Sums of functions of different features, f(x1, x2, x3) + g(x4, x5). Once it is known which features
// act together, each function is sought by itself, in a large pool of functions of its features
// alone: what the other functions contribute is taken out by polynomials of their features.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "groups.hpp"
#include "proposer.hpp"
#include "space.hpp"

namespace gsr::guide {

class GroupScan {
 public:
  GroupScan(const Sample& sample, Proposer& proposer) : sample_(sample), proposer_(proposer) {}

  // Returns the work.
  double scan(const Goal& goal);
  void clear() { candidates_.clear(); }

 private:
  // Terms of some of the groups.
  struct Partial {
    std::vector<Basis> terms;
    std::vector<char> done;  // of each group
    double rest = 1.0;
  };

  bool is_worth_scanning(const std::vector<Group>& groups) const;
  // Squares that polynomials of all groups leave of the target; infinite if that is much.
  double left_by_polynomials(const Goal& goal, const std::vector<Group>& groups) const;
  // Shared by all goals; whoever comes first makes them.
  const Candidates& candidates_of(const Group& group);
  Free beside(const std::vector<Group>& groups, const Partial& partial, std::size_t scanned) const;
  // Adds terms of one more group that leave at most so many squares.
  void extend(const Goal& goal, const std::vector<Group>& groups, const Partial& partial,
              std::size_t scanned, double most, std::vector<Partial>& out, double& operations);

  const Sample& sample_;
  Proposer& proposer_;
  std::mutex mutex_;  // of the candidates
  std::map<Group, std::unique_ptr<Candidates>> candidates_;
};

}  // namespace gsr::guide
