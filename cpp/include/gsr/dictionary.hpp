// Terms with real constants inside, on coarse grids of the constants: powers, exponentials,
// oscillations, saturation curves, peaks, each times cheap monomials. Monomials, square roots and
// logarithms of features stand beside them; other functions without constants have scans of their
// own, and distract here.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "gsr/candidates.hpp"
#include "gsr/composition.hpp"
#include "gsr/dataset.hpp"
#include "gsr/evaluate.hpp"

namespace gsr {

class Dictionary {
 public:
  struct Entry {
    Basis basis;
    int family = 0;    // entries that differ in their constants alone
    int inner = 0;     // constants inside
    int phase = -1;    // place of the phase among the weights; -1: does not oscillate
    Index column = 0;  // an oscillation has two: the second a quarter of a cycle ahead
  };
  using Trees = std::vector<composition::Tree>;
  // The basis function of a product, or nothing if it is not allowed.
  using Maker = std::function<std::optional<Basis>(const Trees&)>;
  // `usable`: trees that may stand in arguments with a constant.
  using Rule = std::function<bool(const composition::Tree&)>;
  // At most so many columns, simple ones first. `products`: products and quotients of features as
  // arguments too. `multiplied`: more functions times other features and powers of their own.
  struct Extent {
    Index columns;
    bool products;
    bool multiplied;
  };
  Dictionary(const Dataset& data, const Table& table, const std::vector<int>& features,
             const Rule& usable, Maker make, const Extent& extent);

  // Adds basis functions without constants, each a family of its own, beyond the limit of columns.
  void add_plain(const std::vector<Basis>& bases);

  const std::vector<Entry>& entries() const { return entries_; }
  int n_families() const { return n_families_; }
  Index n_columns() const { return n_columns_; }
  const double* column(Index j) const { return values_.data() + j * data_.features.stride(); }

 private:
  // An argument of functions with constants.
  struct Argument {
    composition::Tree tree;
    double low, high, range;
    bool feature;               // not a product
    bool positive;              // has real powers
    std::vector<double> sizes;  // where most rows are, if that is far below the range
  };
  using Constants = std::vector<double>;
  using Build = std::function<Trees(const Constants&)>;

  void read_argument(const Monomial& monomial);
  void choose_multipliers(const Argument& u);
  void add_plain_terms(const std::vector<int>& features);
  void add_functions_of(const Argument& u);
  bool add_entry(const Trees& factors, int family, bool oscillates);
  void add_members(const std::vector<Constants>& grid, const Build& build, bool oscillates);
  // Families in the first pass; in the second those that come with multipliers, with them.
  void add_family(const std::vector<Constants>& grid, const Build& build, bool oscillates = false);
  void add_multiplied(const std::vector<Constants>& grid, const Build& build,
                      bool oscillates = false);
  // With multipliers if the extent says so.
  void add_often(const std::vector<Constants>& grid, const Build& build, bool oscillates = false);
  void add_exponentials(const Argument& u);
  void add_powers(const Argument& u);
  void add_oscillations(const Argument& u);
  void add_shifts(const Argument& u);
  void add_saturation(const Argument& u);
  void add_peaks(const Argument& u);
  void add_nested(const Argument& u);
  std::vector<double> rates(const Argument& u) const;
  std::vector<double> shifts_below(const Argument& u) const;
  std::vector<double> centres(const Argument& u) const;
  void add_powers_times_others(const Argument& u);

  composition::Tree of(const char* name, const composition::Tree& tree) const;
  composition::Tree scaled(const Argument& u, double factor) const;
  composition::Tree affine(const composition::Tree& tree, double scale, double shift) const;
  composition::Tree power(const composition::Tree& tree, double exponent) const;
  bool has(const char* name) const { return table_.find(name) >= 0; }

  const Dataset& data_;
  const Table& table_;
  Maker make_;
  Evaluator evaluator_;
  Index most_columns_;
  std::vector<Argument> arguments_;
  std::size_t n_features_;
  bool multiplying_ = false;  // the second pass
  bool more_multiplied_;
  Trees multipliers_;  // of the argument at hand
  std::vector<Entry> entries_;
  Buffer values_;
  Index n_columns_ = 0;
  int n_families_ = 0;
};

}  // namespace gsr
