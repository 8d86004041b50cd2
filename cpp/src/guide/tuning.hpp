// The numbers of the guide and of its pursuit. None of them changes what a law is, only where and
// how long one is looked for. Where no measurement is named, a number is a compromise by hand, and
// its comment says between what.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include "gsr/candidates.hpp"
#include "gsr/dictionary.hpp"
#include "gsr/parametric.hpp"
#include "gsr/pursuit.hpp"

namespace gsr::tuning {

// ---- stages ----------------------------------------------------------------------------------

// An exact law shows without weights, which cost a pool for every psi; noise in y asks for them.
// Candidates with constants inside come when plain ones have been looked at.
enum class Look { plain, weighted, parametric, pursuit, beside, groups, similarity };
struct Stage {
  int level;
  Look look;
};
// Cheap before dear. Functions of one monomial are sought as soon as the simple candidates are
// done, within the first look; those of two follow when constants have been tried. A pursuit
// follows the first looks at once: it finds most laws under noise. With two features the parametric
// look at level 0 takes the work of 2,000 individuals, the plain one at level 1 that of more than
// 170,000.
inline constexpr std::array<Stage, 16> kStages{{{0, Look::plain},
                                                {0, Look::pursuit},
                                                {0, Look::beside},
                                                {0, Look::parametric},
                                                {1, Look::similarity},
                                                {1, Look::groups},
                                                {1, Look::plain},
                                                {1, Look::beside},
                                                {1, Look::pursuit},
                                                {0, Look::weighted},
                                                {1, Look::weighted},
                                                {1, Look::parametric},
                                                {2, Look::plain},
                                                {2, Look::weighted},
                                                {2, Look::parametric},
                                                {3, Look::plain}}};
inline constexpr int kLevels = 4;
// Whether rows of little noise count more.
inline constexpr bool knows_weights(Look look) {
  return look == Look::weighted || look == Look::pursuit;
}

// How far the pools of a level go. Each level costs several times the one before it.
inline Reach reach(int level, std::size_t n_features) {
  const std::size_t d = std::max<std::size_t>(1, n_features);
  switch (level) {
    case 0: return {2, 60 + 20 * d, 200 + 60 * d, 400 + 100 * d, false};
    case 1:
      return {4, 200 + 80 * d, 3000 + 2000 * d, std::min<std::size_t>(2000 + 500 * d * d, 16000),
              true};
    case 2: return {5, 400 + 250 * d, 6000 + 4000 * d, 6000 + 3000 * d, true};
    default: return {6, 800 + 500 * d, 10000 + 4000 * d, 20000 + 5000 * d, true};
  }
}

// Of products that are looked at on the first level already, where an exact one shows.
inline Reach deep_reach(std::size_t n_features) {
  const std::size_t d = std::max<std::size_t>(1, n_features);
  return {4, 200 + 80 * d, 6000 + 3000 * d, std::min<std::size_t>(2000 + 500 * d * d, 16000), true};
}
inline constexpr int kLogarithmsFirst = 3;        // by so much cheaper than other factors
inline constexpr Index kDeepFirst = 300;          // cheapest factors that are paired with all
inline constexpr std::size_t kPairedDeep = 1200;  // cheapest factors
// Part of the variance of a logarithm that an exact product leaves at most on few rows.
inline constexpr double kLeftByExactProduct = 1e-12;

// Quotients of sums: so many of the cheapest terms stand above and below the line, and of so many
// columns all triples are looked at.
inline constexpr std::size_t kRationalTerms = 500, kRationalGoals = 8;
inline constexpr Index kRationalTriples = 320;
inline constexpr std::size_t kRationalKept = 24;  // pairs and triples: some are nearly dependent
struct RationalBeam {
  int depth, width;
};
inline constexpr RationalBeam kRationalBeam{5, 4};
inline constexpr double kLeastVariation = 1e-3;  // of a term below the line, relative to its size
// What an exact quotient leaves at most of the variance on few rows.
inline constexpr double kLeftByRational = 1e-14;
inline constexpr double kVanishes = 1e-6;  // of a denominator, relative to its terms
// A coefficient below the line is a multiple of 1/12 if it is this near to one.
inline constexpr double kWeightParts = 12.0, kSameWeight = 1e-9;

// A logarithm is unknown where |y| is no larger than this, or where so small a part of y/p is left
// beside the number 1. Left sides that are unknown in less of the rows, or known in fewer, and more
// left sides than this are not looked at.
inline constexpr double kUnderflow = 1e-290, kCancelledPart = 1e-3;
inline constexpr double kNearlyAllKnown = 0.98, kFewKnown = 0.2;
inline constexpr int kMostPartial = 12;
inline constexpr std::size_t kPartialPowers = 2;  // y and 1/y

// A product has ln|x_i| free as long as there are this many rows for each.
inline constexpr Index kRowsPerFree = 3;
// Of the terms with atoms, the cheapest one in so many may also be exponents in a product.
inline constexpr std::size_t kExponentShare = 2;

// Memory of a pool; it bounds the candidates where many rows are scanned.
inline constexpr std::size_t kMostPoolBytes = std::size_t{96} << 20;
// Kept rows of an evaluator that is used for one function.
inline constexpr std::size_t kEvaluatorBytes = std::size_t{1} << 20;

// ---- rows and features -----------------------------------------------------------------------

// Rows of plain and parametric looks. Few rows are fast but let wrong sets look good; from level to
// level there are more candidates to tell apart.
inline Index rows(int level, int n_features) {
  const Index few = 40 + 4 * std::min(n_features, 12);
  return level == 0 ? few : level == 1 ? 2 * few : level == 2 ? 4 * few : 1600;
}
// Noise averages out over more rows: these two are multiplied by `scan_factor`.
inline constexpr Index kWeightedRows = 300;
inline constexpr Index kPursuitRows = 100;  // for each level of the pursuit; time against noise
inline Index pursuit_rows(int level) { return level == 0 ? kPursuitRows : 2 * kPursuitRows; }
inline constexpr Index kPrefactorRows = 1000;  // a quadratic fit has many columns
inline constexpr Index kFrequencyRows = 768;   // must resolve kCycles; time grows with it
inline constexpr int kRowStream = 17;          // of the random numbers that choose rows

// Rows whose weight (its root, relative to the median) is below this disturb scans that know no
// weights.
inline constexpr double kLeastWeight = 0.1;

// Features that are combined with each other: pools grow with powers of it.
inline constexpr std::size_t kMostFeatures = 10;

// ---- screening of many features ----------------------------------------------------------------

// Functions of a feature, to see what it explains in any shape: polynomials of its ranks up to this
// degree, one for each so many rows.
inline constexpr Index kShapes = 5, kRowsPerShape = 10;
inline constexpr double kClippedPart = 0.01;  // of the rows at either end
// Nats beyond chance: one data set in 20 without any law has a feature that is chosen.
inline constexpr double kLeastEvidence = 3.0;
// Steps without a new feature take functions of chosen ones out of the way.
inline constexpr int kScreeningSteps = 2 * kMostFeatures;
// Functions that are taken out: one for each so many rows leaves enough to judge the others by.
inline constexpr Index kRowsPerExplained = 4, kMostExplained = 200;
inline constexpr double kAllExplained = 1e-7;  // of the norm of y
inline constexpr double kSameFunction = 1e-4;  // norm beside the others
inline constexpr double kSameFeature = 1e-6;   // squared norm beside another
// 100 features and 1,000 rows take 0.1 s. All pairs of more features are too many.
inline constexpr Index kMostPairedFeatures = 400;
inline constexpr double kTripleOperations = 3e8;
// All rows of a search have a say as long as memory and time allow; few would show chance alone.
inline Index screened_rows(Index n_features) {
  const auto d = static_cast<double>(std::max<Index>(1, n_features));
  const double m = std::min(d, static_cast<double>(kMostPairedFeatures));
  return std::max<Index>(500, static_cast<Index>(std::min(4e5 / d, 2e7 / (m * m))));
}

// ---- work ------------------------------------------------------------------------------------

// Operations of an individual of the genetic programming, for each row and in all: the unit in
// which work is counted.
inline constexpr double kOperationsPerRow = 300.0, kOperations = 4e4;
inline constexpr double kIdle = 2000.0;  // individuals until the next look for something to do
// Operations of a scan of pairs: it stays short enough to be interrupted.
inline constexpr double kPairOperations = 3e9;
// Scans that are done side by side and do not see what the others find: more keep more threads busy
// to the end, fewer come sooner to the next look at what was found.
inline constexpr int kSideBySide = 16;
// Islands have few threads each, and exchange what they find.
inline constexpr int kSideBySideByIslands = 4;
// A goal of which nothing is left to explain, with and without the proposal of its free terms.
inline constexpr double kNothingToScan = 1.0, kFreeTermsAlone = 2.0;

// Operations of a scan for each row of each column, and individuals that it proposes.
struct Work {
  double operations, proposals;
};
inline constexpr Work kForwardWork{2.0, 10.0};  // for each step and set
inline constexpr Work kDeepWork{4.0, 1.0};
inline constexpr double kGlancedWork = 0.05;  // for each goal: one matrix product for all
inline constexpr double kDeepPairWork = 4.0;  // for each pair
inline constexpr Work kRationalWork{40.0, 2.0};
inline constexpr Work kUnitsWork{200.0, 40.0};
inline constexpr Work kSeparableWork{600.0, 40.0};
inline constexpr double kPairWork = 0.3;  // for each row of each pair
inline constexpr double kPairGoalWork = 4.0;
inline constexpr double kTripleWork = 0.5;
inline constexpr double kPoolWork = 20.0, kPoolFreeWork = 4.0;  // and for each free column
inline constexpr double kParametricPoolWork = 60.0;
inline constexpr double kDictionaryWork = 100.0;
inline constexpr double kNeighbourWork = 10.0, kNeighbourFreeWork = 4.0;
inline constexpr double kRefinedColumnWork = 25.0;
inline constexpr double kFrequencyWork = 0.3 * 16.0, kFrequencyRowWork = 8.0;
// Individuals for each goal of a sublibrary that is solved whole, without and with prefactors.
inline constexpr double kSublibraryWork = 2.0, kPrefactorSublibraryWork = 4.0;

// ---- goals -----------------------------------------------------------------------------------

// What is left of psi says little about y where psi is steep: y, 1/y and y^2 stay in front, and of
// products ln|y|. The former are also what prefactors are tried for.
inline constexpr Index kFirstGoals = 3, kFirstProducts = 1;
// Goals whose sets are followed far; the others get a glance. More find rarer left sides, later.
inline constexpr Index kFavoured = 8;
// Islands that share the work differ a little in what they favour: none should be missed by all.
inline constexpr Index kFavouredByIslands = 2 * kFavoured;
inline constexpr Index kPartnered = 6;                            // psi that may come two at once
inline constexpr Index kPartners = 2;                             // second ones for each: y and 1/y
inline constexpr int kShiftedLevels = 2, kPartnerPairLevels = 2;  // levels that look at such goals
// Monomials p that are tried in psi(y) = p (1 + product), about a microsecond each for every psi;
// what logarithms may leave of the variance, how many are kept, and how many are tried with one
// factor: a factor that is no power, such as exp(-x1 x2), may leave some hundreds of others ahead
// of the true p.
inline constexpr int kShiftedDegree = 5;
inline constexpr Index kLikelyShifted = 2;  // psi that are tried with the likeliest p in any case
inline constexpr std::size_t kMostShiftedPrefactors = 15000, kShiftedKept = 12,
                             kShiftedGlanced = 1000;
inline constexpr double kShiftedLeft = 0.3;

// Prefactors: a slope of ln|y| in ln|x| is a power if it lies within so many standard errors of a
// whole number, and the errors are small.
inline constexpr double kPrefactorErrors = 4.0;
inline constexpr double kLeastSlopeError = 1e-9;  // rounding
inline constexpr double kMostSlopeError = 0.2;
inline constexpr int kHighestPrefactor = 4;
inline constexpr Index kSparePrefactorRows = 10;  // beyond the columns of the fit
inline constexpr double kPrefactorIndependent = 1e-6;

// ---- scans -----------------------------------------------------------------------------------

// A greedy scan: columns of a set, sets that are kept at each size, and whether the best of each
// size is improved by exchanges.
struct Beam {
  int depth, width;
  bool swaps;
};
inline int beam_width(int level) { return level < 2 ? 3 : 4; }
inline int beam_depth(int level) { return level == 0 ? 5 : 6; }
inline Beam sum_beam(int level, bool favoured) {
  return favoured ? Beam{beam_depth(level), beam_width(level), true} : Beam{2, 2, true};
}
// Monomials are free in a product, so that few columns are enough.
inline constexpr int kProductDepth = 3;
inline Beam product_beam(int level) { return {kProductDepth, beam_width(level), false}; }
inline constexpr int kSeparableDepth = 4;
inline Beam separable_beam(int level) { return {kSeparableDepth, beam_width(level), false}; }
inline Beam units_beam(int level) { return {beam_depth(level), 2 * beam_width(level), false}; }

inline constexpr double kNearlyExact = 1e-14;  // share of the variance that is left
inline constexpr int kSwapPasses = 1;

// So many of the cheapest columns are paired with all.
inline Index pair_reach(int level) { return level == 0 ? 500 : level == 1 ? 1200 : 3000; }
inline constexpr std::size_t kPairs = 4, kPairsOfOneGoal = 6;  // proposed
inline constexpr std::size_t kPairedBesidePartner = 400;       // cheapest terms

inline constexpr int kTripleLevels = 2;
inline constexpr std::size_t kTriples = 4;  // proposed
// Cheapest columns of which all triples are looked at: time grows with the third power.
inline std::size_t triple_reach(int level) { return level == 0 ? 120 : 300; }
// The very cheapest, of which all pairs are looked at with every other column.
inline constexpr Index kCheapOfTriples = 60;

// Weighted scans build a pool for each goal, so that pairs may reach less far.
struct WeightedScan {
  Beam beam;
  Work work;
};
inline WeightedScan weighted_sums(int level) {
  return {{beam_depth(level), beam_width(level), true}, {300.0, 60.0}};
}
inline WeightedScan weighted_products(int level) {
  return {{kProductDepth, 2 * beam_width(level), false}, {200.0, 60.0}};
}
inline constexpr Index kWeightedPaired = 300;

// Frugal choices: a term must leave so much less than every cheaper one; so many of them get a
// second term.
inline constexpr double kFrugalGain = 0.97;
inline constexpr std::size_t kFrugalPaired = 4;

// ---- proposals -------------------------------------------------------------------------------

inline constexpr int kColumns = 28;  // most basis functions of an individual made here
inline constexpr int kPsi = 2;
// A sublibrary that is solved whole has at most this part as many functions as there are rows.
inline constexpr std::size_t kSublibraryRows = 5, kSublibraryColumns = 3;
inline constexpr double kAnyBits = 1e9;  // an exact law of any length

// Exponents count as halves if they are this near: in an exact law, where there may be noise, and
// where an exact law was fitted on few rows.
inline constexpr double kExactExponent = 1e-6;
inline constexpr double kNoisyExponent = 0.12;
inline constexpr double kExactOnFewRows = 1e-3;
inline constexpr double kExactlyLeft = 1e-9;  // of a target, by a law that is exact
inline constexpr int kMostHalves = 16;        // of an exponent

// ---- candidates with constants inside --------------------------------------------------------

// Arguments, multipliers and cycles of the grids, for d features. Pools of the last look are as
// large as memory allows.
inline Parametric::Extent parametric_sums(int level, std::size_t d) {
  if (level == 0) return {2 * d, d, 8, false};
  if (level == 1) return {15 + 8 * d, 2 + 2 * d, 40, false};
  return {20 + 10 * d, 6 + 3 * d, 160, false};
}
inline Parametric::Extent parametric_products(int level, std::size_t d) {
  if (level == 0) return {3 * d, 0, 4, true};
  if (level == 1) return {20 + 30 * d, 0, 12, true};
  return {60 + 60 * d, 0, 12, true};
}
inline constexpr std::size_t kPlainBeside = 300;  // cheapest plain terms in the same pool
inline constexpr Index kFavouredParametric = 4;   // goals that get the wide scan
struct ParametricScan {
  Beam beam;
  Work work;
};
inline ParametricScan parametric_sum_scan(bool favoured) {
  return {favoured ? Beam{4, 3, false} : Beam{2, 2, false}, {60.0, 60.0}};
}
inline ParametricScan parametric_product_scan(bool favoured) {
  return {favoured ? Beam{3, 3, false} : Beam{1, 2, false}, {40.0, 60.0}};
}
// What looks best on the grid is often not what is best once its constant has moved: so many
// families are represented, found among so many columns and pairs.
inline constexpr std::size_t kFamilies = 8;
inline constexpr std::size_t kManyOfAFamily = 600, kPairsOfFamilies = 64;
inline constexpr Index kPairedWithParametric = 64;  // cheapest plain terms
inline constexpr std::size_t kPlainFirst = 4;       // best plain terms that get a second term
// Refinement: steps on the scanned rows; what leaves less than kHopeless is worth a proposal, at
// most kProposed of them, and more steps on all rows if it fits nearly exactly.
inline constexpr int kRefineSteps = 16;
inline constexpr double kHopeless = 0.7;
inline constexpr std::size_t kProposed = 4;
inline constexpr double kFitsWell = 1e-4;
inline constexpr int kStepsOfGoodFit = 20, kStepsOfOthers = 4;
// Products of oscillations of two features.
inline constexpr int kFrequencyLevel = 1;
inline constexpr std::size_t kFrequencyFeatures = 3;
inline constexpr int kCycles = 160;

// ---- neighbours of laws ----------------------------------------------------------------------

inline constexpr std::size_t kMostTerms = 6;  // of a law that is extended
inline constexpr std::size_t kLawsAtOnce = 6;
inline constexpr int kRounds = 4;  // neighbours of neighbours
// Cheapest candidates that multiply a term, and that take the place of one.
inline constexpr std::size_t kMultipliers = 1500, kExchanged = 6000;
inline constexpr std::size_t kReplacing = 3, kAdded = 1;             // proposals for each base
inline constexpr std::size_t kPairedTerms = 2, kPairsBesideLaw = 3;  // of the law; proposals
inline constexpr std::size_t kMostExtended = 20000;                  // fingerprints kept
// Individuals of other work between two looks, and so many times the work of the last look: looks
// take at most half of the guide's work.
inline constexpr double kBetweenLooks = 10000.0;
inline constexpr double kOtherWork = 1.0;

// ---- constants inserted into laws --------------------------------------------------------------

// A constant near the value at which it has no effect; exactly 1 would not be refined.
inline constexpr double kNearOne = 1.0 + 1e-9, kNearZero = 1e-30;
// Share of the squared residual, times the rows, that the best of some 50 derivatives explains by
// chance.
inline constexpr double kInsertionByChance = 10.0;
inline constexpr std::size_t kInsertions = 6;             // refined for each law
inline constexpr std::size_t kInsertionsProposed = 2;     // of them
inline constexpr int kInsertionDepth = 3;                 // constants one after the other
inline constexpr double kInsertionStarts[] = {0.4, 2.5};  // of scales and exponents, beside 1
inline constexpr double kInsertionWork = 10.0;

// ---- pursuit ---------------------------------------------------------------------------------

// The widths were raised until a set of 28 standard curves with 2 % noise gained nothing more.
inline constexpr int kPursuitTerms = 3;
inline constexpr Pursuit::Widths kNarrowPursuit{kPursuitTerms, 3, 1, 8, 3, 24};
inline constexpr Pursuit::Widths kWidePursuit{kPursuitTerms, 8, 3, 16, 6, 24};
inline constexpr Dictionary::Extent kFewEntries{1500, false, false};
inline constexpr Dictionary::Extent kManyEntries{3000, true, false};
// Left sides at the first level and later; those after the first kFullyPursued get a term less.
inline constexpr std::size_t kPursuedGoals = 3, kMorePursuedGoals = 6, kFullyPursued = 3;
inline constexpr double kNoNoise = 1e-8;  // less of the target is left: rows need no weights
// The best model must leave less than this of the target if longer ones are to be tried.
inline constexpr double kLeftByOne = 0.8, kLeftByTwo = 0.5;
inline constexpr int kGlance = 8, kFull = 40;       // steps of refinement
inline constexpr int kMostInner = 6;                // constants inside one model
inline constexpr std::size_t kProposedEach = 8;     // models of each number of constants
inline constexpr std::size_t kPairedColumns = 300;  // of which all pairs are looked at
inline constexpr std::size_t kBesideRepeated = 60;  // simple terms beside two of a family
inline constexpr std::size_t kTriplesEach = 3;      // of a family, for each kind of signs
// Share of a column that two others must leave; three decays of similar rates leave 1e-7 of the
// third, and data of five digits tell them apart.
inline constexpr double kLeastOfTriple = 1e-10;
// A term this many times larger than the spread of the target is cancelled by others: its constant
// has run away, and a simpler term says the same.
inline constexpr double kCancelled = 100.0;
inline constexpr double kLeastIndependent = 1e-4;  // share of a candidate outside the model's reach
inline constexpr double kExactly = 1e-12;          // of the target is left
inline constexpr double kAtRounding = 1e-13;       // likewise, at the most that rounding leaves
inline constexpr double kNothing = 1e-10;          // of a column is left beside the free ones
inline constexpr double kNoRate = 1e-9;            // c of no effect in exp(c u)
inline constexpr double kSameModel = 1e-7;         // difference of what is left, relative
inline constexpr double kPhaseDropped = 0.25;      // radians from a quarter of a cycle
inline constexpr double kPowerRounded = 0.12;      // from a whole number or a half
inline constexpr int kMostRoundedHalves = 8;

// ---- terms beside simple ones ------------------------------------------------------------------

// Chosen on the open half of LSR-Synth and on laws drawn at random, for time against laws found.
inline constexpr Index kBesideRows = 240;
inline constexpr int kBesideReach = 1;  // level of the plain candidates
// Sizes of the sets of simple terms: small ones leave more of the other terms to be seen, large
// ones hold more. Noise shows at once with the largest, which comes first.
inline constexpr std::array<Index, 4> kSimpleTerms{30, 12, 20, 6};
inline constexpr Index kGlancesBeside = 2;  // of them for left sides other than y
inline constexpr std::size_t kLeftSidesBeside = 5;
inline constexpr Index kRowsPerFreeColumn = 3;
inline constexpr Index kBesidePlainTerms = 6000;
inline constexpr Dictionary::Extent kBesideEntries{8000, false, true};
// Every family is tried: once simple terms are free, all that is smooth looks alike on the grid.
inline constexpr Pursuit::Widths kOneTermBeside{1, 6, 1, 400, 6, 0};
inline constexpr Pursuit::Widths kTwoTermsBeside{2, 4, 1, 24, 3, 0};
inline constexpr double kSeenBesideNoise = 0.9;  // in noise a single term leaves more
// A law is exact if no more of the target is left, and its last term leaves little of what the
// others leave.
inline constexpr double kExactBeside = 1e-8, kLeftByLastTerm = 1e-2;
inline constexpr std::size_t kPrunedModels = 3;  // of a scan
// Simple terms are dropped while no more is left than so many times what is left with all of them.
inline constexpr double kSameError = 10.0;
inline constexpr double kDependentTerm = 1e-9;  // share of a term that the others do not hold
inline constexpr Index kMostTermsPruned = 9;    // more only interpolate
inline constexpr int kPruningSteps = 12;

// ---- groups of features ------------------------------------------------------------------------

inline constexpr Index kGroupRows = 400;  // must resolve the products of ten features
inline constexpr Index kGroupRowsPerColumn = 2;
inline constexpr int kGroupSingleDegree = 4;  // of polynomials of one feature beside the products
// F statistic of products that count: by chance it comes up once in a million tests.
inline constexpr double kInteraction = 10.0;
// Polynomials of a feature of few values depend on each other.
inline constexpr double kGroupRidge = 1e-9;
inline constexpr std::size_t kMostGroups = 4;
// Pools of the functions of a group go deeper than those of all features.
inline Reach group_reach(std::size_t n_features) {
  switch (n_features) {
    case 1: return {6, 60, 1500, 2000, true};
    case 2: return {5, 300, 5000, 6000, true};
    case 3: return {4, 400, 6000, 9000, true, true};
    default: return {4, 500, 6000, 9000, true, true};
  }
}
// Polynomials that stand for the functions of other groups: some 30 columns each.
inline int polynomial_degree(std::size_t n_features) {
  return n_features == 1 ? 8 : n_features == 2 ? 6 : n_features == 3 ? 4 : 3;
}
// Polynomials of all groups must leave less of the variance than this, and terms that take their
// place at most so many times what they leave: true terms leave less, but for noise.
inline constexpr double kLeftByPolynomials = 0.05, kWorseThanPolynomials = 4.0;
inline constexpr std::size_t kGroupSingles = 4;
inline constexpr int kGroupDepth = 3, kGroupWidth = 2;
inline constexpr std::size_t kGroupBeam = 6;   // laws in the making
inline constexpr std::size_t kGroupGoals = 8;  // left sides whose groups are looked for
inline constexpr std::size_t kLeastGroupFeatures = 3;
// Operations for each row of the F tests, and of each column that is scanned.
inline constexpr double kGroupTestWork = 2e4, kGroupScanWork = 40.0;

// ---- functions of one or two monomials ---------------------------------------------------------

// Rows of an index model, and the least number for each coefficient of a quadratic fit.
inline constexpr Index kIndexRows = 600, kIndexRowsPerColumn = 3;
// Degrees of the polynomial F of one index and of two. More follow steep functions more closely,
// but directions that are rounded do not need that.
inline constexpr int kIndexDegree = 8, kIndicesDegree = 6;
// What an index is squeezed by, in median deviations. Steeper squeezing bends asymptotes, which a
// polynomial does not follow: with 1.5 ln sqrt(1 + u^2 + e^-v) leaves 2e-3, with 3 it leaves 4e-6.
inline constexpr double kIndexWidth = 3.0;
// Relative ridge of normal equations: columns of a polynomial are nearly dependent.
inline constexpr double kIndexRidge = 1e-12;
// Starts of a fit and steps from each of them; the first start that leaves this little of the
// variance is the last.
inline constexpr int kIndexStarts = 6, kIndexGlance = 4, kIndexStream = 23;
inline constexpr double kIndexGoodStart = 1e-3;
// Levenberg-Marquardt: damping at first, steps at most, attempts of a step, and the part of the
// squared residual that a step must leave behind for another one to follow.
inline constexpr double kIndexDamping = 1e-3;
inline constexpr int kIndexSteps = 40, kIndexAttempts = 6;
inline constexpr double kIndexConverged = 1.0 - 1e-4;
// Exponents of laws are small; a fit of a few hundred rows has them within this much.
inline constexpr int kMostIndexExponent = 6;
inline constexpr double kIndexRounding = 0.2;
inline constexpr std::size_t kMostRoundings = 8;
// The best directions may leave so many times what a quadratic function of all logarithms leaves.
inline constexpr double kWorseThanQuadratic = 1.1;
// Of a few hundred values, smooth functions of one variable have a roughness of about 1e-5, those
// of two of 1e-2, which noisy ones have too: there the index model must also leave hardly anything.
// Under noise no similarity is certain; others than certain ones cost as much as the whole search
// of two features, and gave no law.
inline constexpr double kMostRoughness[] = {1e-3, 0.05}, kIndexedWell = 1e-5;
inline constexpr double kIndexFitWork = 3e4;  // operations of a fit for each row
inline constexpr std::size_t kMostInnerSearches = 5;
// Work of an inner search at each level: enough for functions with a constant inside.
inline constexpr double kInnerWork[] = {3000.0, 6000.0};
// Bits of an exact law that is short enough to need no inner search: what ends a search at once.
inline constexpr double kShortExactLaw = 100.0;
// Work between two looks at a request to stop.
inline constexpr double kInnerSlice = 100.0;
inline constexpr Index kInnerRows = 300;
inline constexpr std::size_t kInnerBytesShare = 8;  // part of the kept rows of the whole search

// ---- dictionary of the pursuit, constants relative to the range of the argument --------------

// Grids are as coarse as the refinement that follows every pick allows: a start within about a
// factor of two of a rate or width, or half a main lobe of a frequency, converges.
inline constexpr double kPowers[] = {-2.3, -1.3, -0.7, -0.3, 0.3, 0.7, 1.3, 1.7, 2.4};
inline constexpr double kRates[] = {0.4, 0.9, 2.0, 4.5, 10.0, 22.0};
inline constexpr double kRatesBesidePowers[] = {0.9, 4.5, 10.0};
inline constexpr double kNestedRates[] = {2.0, 5.0, 12.0};
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
inline constexpr int kBand = 8;                 // neighbouring frequencies that count as one family
inline constexpr int kRowsPerCycle = 3;         // faster oscillations are not resolved
inline constexpr std::size_t kPlainTerms = 60;  // without constants, cheapest first
inline constexpr std::size_t kArguments = 30;   // products and quotients of features

}  // namespace gsr::tuning
