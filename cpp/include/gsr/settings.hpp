// Hyper-parameters of the search: the paper's Table 9 (Appendix A), with its values as defaults.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gsr/admm.hpp"

namespace gsr {

enum class SolverKind { well_posed, printed };

struct Settings {
  // Genetic programming.
  int population_size = 30;  // N_p
  int n_survivors = 10;      // n_p
  double p_crossover = 0.25;
  double p_mutation = 0.25;  // what is left of 1 makes completely new individuals
  int n_mutated = 3;

  // Expressions.
  int n_phi = 15;                                  // M_phi
  int n_psi = 1;                                   // M_psi
  int min_factors = 1, max_factors = 3;            // n_B^phi
  int n_target_factors = 1;                        // n_B^psi
  int min_multiplicity = 2, max_multiplicity = 5;  // n_v
  bool transform_target = true;                    // false: s-GSR, g(y) = y

  // Beyond the paper's encoding; each off is the paper's.
  bool division = false;     // 1/T, and quotients in products
  bool differences = false;  // minus signs in sums
  bool one = false;          // the number 1 as an operand
  bool constants = false;    // real constants inside arguments
  int depth = 1;             // transformations inside transformations

  // Variation that sees the data: pools of candidates scanned by their gain.
  bool guided = false;
  // Laws of fewer variables are sought by searches inside the search.
  bool inner_searches = true;
  // A search that starts anew with other weights of the rows does not repeat the stages before this
  // one that know no weights.
  int plain_stages_done = 0;

  // Coefficients.
  SolverKind solver = SolverKind::well_posed;
  admm::Settings admm = admm::well_posed_settings();

  // Stopping: RMSE below epsilon, relaxed by a factor every so many generations.
  double epsilon = 1e-6;
  double relax_factor = 3.1622776601683795;
  int relax_interval = 1500;
  int max_generations = 0;   // 0: no limit
  long max_evaluations = 0;  // likewise

  // Sublibrary cycles, in generations: L_x, L_poly, L_trig for x; L_poly, L_y for y. The paper
  // prints a cycle of 70 for stages of 15, 25 and 35, which make 75.
  bool sublibraries = true;
  int cycle_full = 15, cycle_polynomial = 25, cycle_trigonometric = 35;
  int late_after = 1500, late_stage = 500;
  int target_stage = 10;

  std::uint64_t seed = 0;
  // Islands share the guide's scans: this one does part `share`, on the rows of the common seed.
  int share = 0, n_shares = 1;
  std::uint64_t scan_seed = 0;
  // Rows of the scans that expect noise, in units of the usual number.
  double scan_factor = 1.0;
  int n_threads = 1;
  std::size_t max_bytes = std::size_t{256} << 20;  // kept rows, all threads together
};

}  // namespace gsr
