// Proposals whose constants inside are refined first.
#pragma once

#include <vector>

#include "proposer.hpp"
#include "sample.hpp"

namespace gsr::guide {

// All sets of terms are refined on the rows that were scanned, the best then on all rows.
void propose_refined(const Basis& psi, const std::vector<std::vector<Basis>>& sets,
                     const Rows& rows, Proposer& proposer, const Problem& problem);

}  // namespace gsr::guide
