// Pieces of work that do not depend on each other, done side by side. Each sees the archive as it
// was before all of them, and what they make is merged in their order: it does not matter how many
// threads there are, nor which of them is faster.
#pragma once

#include <atomic>
#include <functional>
#include <vector>

#include "proposer.hpp"

namespace gsr::guide {

class Batch {
 public:
  // Returns its work.
  using Piece = std::function<double(int)>;
  using TimeIsUp = std::function<bool()>;

  // `until_exact`: pieces after the first that finds an exact law are left for another batch.
  explicit Batch(int n_pieces, bool until_exact);

  // Goes on until all is done, which it tells, or time is up: then no piece is begun after the
  // first. What an exception has ended is begun anew.
  bool go_on(Proposer& proposer, const Piece& piece, const TimeIsUp& time_is_up);
  // Returns the work of all that are merged.
  double merge(Proposer& proposer);
  int n_merged() const { return last_ + 1; }
  // Offers the laws of the pieces that are done.
  void show(Archive& archive) const;

 private:
  struct Slot {
    Proposer::Draft draft;
    double work = 0.0;
    bool done = false;
  };
  void do_piece(int i, Proposer& proposer, const Piece& piece);

  std::vector<Slot> slots_;
  bool until_exact_;
  std::atomic<int> last_;  // piece that is merged
};

// All pieces at once; inside a piece of another batch they are a part of it. Returns their work.
double side_by_side(Proposer& proposer, Index n_pieces, const Batch::Piece& piece);

}  // namespace gsr::guide
