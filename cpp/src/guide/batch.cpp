#include "batch.hpp"

#include <algorithm>
#include <utility>

#include "gsr/thread_pool.hpp"

namespace gsr::guide {

Batch::Batch(int n_pieces, bool until_exact)
    : slots_(static_cast<std::size_t>(n_pieces)), until_exact_(until_exact), last_(n_pieces - 1) {}

bool Batch::go_on(Proposer& proposer, const Piece& piece, const TimeIsUp& time_is_up) {
  std::atomic<bool> begun{false};
  in_parallel(static_cast<int>(slots_.size()), [&](int i) {
    if (i > last_ || slots_[static_cast<std::size_t>(i)].done) return;
    if (begun.exchange(true) && time_is_up()) return;
    do_piece(i, proposer, piece);
  });
  return std::all_of(slots_.begin(), slots_.begin() + n_merged(),
                     [](const Slot& slot) { return slot.done; });
}

void Batch::do_piece(int i, Proposer& proposer, const Piece& piece) {
  Slot& slot = slots_[static_cast<std::size_t>(i)];
  slot.draft = {};
  {
    const Proposer::Drafting drafting(proposer, slot.draft);
    slot.work = piece(i);
  }
  slot.done = true;
  if (!until_exact_ || !slot.draft.exact) return;
  int last = last_;
  while (i < last && !last_.compare_exchange_weak(last, i)) {
  }
}

double Batch::merge(Proposer& proposer) {
  double work = 0.0;
  for (int i = 0; i < n_merged(); ++i) {
    Slot& slot = slots_[static_cast<std::size_t>(i)];
    work += slot.work;
    proposer.merge(std::move(slot.draft));
  }
  return work;
}

void Batch::show(Archive& archive) const {
  for (const Slot& slot : slots_)
    if (slot.done)
      for (const Law& law : slot.draft.laws) archive.offer(law);
}

double side_by_side(Proposer& proposer, Index n_pieces, const Batch::Piece& piece) {
  const auto n = static_cast<int>(n_pieces);
  if (proposer.is_drafting()) {
    double work = 0.0;
    for (int i = 0; i < n; ++i) work += piece(i);
    return work;
  }
  Batch batch(n, false);
  batch.go_on(proposer, piece, [] { return false; });
  return batch.merge(proposer);
}

}  // namespace gsr::guide
