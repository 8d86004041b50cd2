// Numbers of the pursuit: the grids of its dictionary and how far it searches. Grids are as coarse
// as the refinement that follows every pick allows: a start within about a factor of two of a rate
// or width, or half a main lobe of a frequency, converges. The widths of the search were raised
// until a set of 28 standard curves with 2 % noise gained nothing more.
#pragma once

#include <cstddef>

#include "gsr/dataset.hpp"

namespace gsr::limits {

// ---- dictionary, constants relative to the range of the argument -----------------------------

inline constexpr double kPowers[] = {-2.3, -1.3, -0.7, -0.3, 0.3, 0.7, 1.3, 1.7, 2.4};
inline constexpr double kRates[] = {0.4, 0.9, 2.0, 4.5, 10.0, 22.0};
inline constexpr double kShifts[] = {0.01, 0.04, 0.15, 0.5, 1.5, 5.0};  // beyond either end
// An argument whose median is below this part of its range spans decades: constants of the size of
// these quantiles are tried too.
inline constexpr double kSkewed = 0.1;
inline constexpr double kQuantiles[] = {0.1, 0.3, 0.5, 0.7};
inline constexpr double kShiftedPowers[] = {-2.4, -0.6, 0.6, 1.6};
inline constexpr double kCentres[] = {0.04, 0.15, 0.28, 0.41, 0.54, 0.67, 0.8, 0.92};
inline constexpr double kWidths[] = {0.05, 0.12, 0.3};
inline constexpr double kSteepness[] = {1.3, 2.2, 4.5};  // of Hill curves
inline constexpr double kStretches[] = {0.45, 0.7, 1.5, 2.4};
inline constexpr double kDampings[] = {-0.6, -2.0, -5.0, 1.2};
inline constexpr int kFrequenciesPerCycle = 4;
inline constexpr int kMostCycles = 24;  // of all features together
inline constexpr int kDampedCycles = 12;
inline constexpr int kBand = 8;           // neighbouring frequencies that count as one family
inline constexpr int kRowsPerCycle = 3;   // faster oscillations are not resolved
inline constexpr std::size_t kPlainTerms = 60;  // without constants, cheapest first
inline constexpr std::size_t kArguments = 30;   // products and quotients of features

// ---- search ----------------------------------------------------------------------------------

inline constexpr Index kPursuitRows = 100;  // twice as many at the second look
inline constexpr int kPursuitTerms = 3;
// The best model must leave less than this of the target if longer ones are to be tried.
inline constexpr double kLeftByOne = 0.8, kLeftByTwo = 0.5;
inline constexpr int kGlance = 8, kFull = 40;  // steps of refinement
inline constexpr int kMostInner = 6;               // constants inside one model
inline constexpr std::size_t kProposedEach = 8;    // models of each number of constants
inline constexpr std::size_t kPairedColumns = 300;  // of which all pairs are looked at
// A term this many times larger than the spread of the target is cancelled by others: its constant
// has run away, and a simpler term says the same.
inline constexpr double kCancelled = 100.0;
inline constexpr double kLeastIndependent = 1e-4;  // share of a candidate outside the model's reach

}  // namespace gsr::limits
