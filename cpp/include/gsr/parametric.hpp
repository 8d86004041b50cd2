// Candidates with a real constant inside: oscillations over a range of frequencies, exponentials
// over rates, shifted reciprocals, logarithms and roots, bells. A grid over the constant makes them
// columns of a pool; what is chosen is then refined.
#pragma once

#include <functional>
#include <vector>

#include "gsr/candidates.hpp"

namespace gsr {

class Parametric {
 public:
  struct Extent {
    std::size_t arguments;    // monomials inside, cheapest first
    std::size_t multipliers;  // monomials outside; none where logarithms are meant
    int cycles;               // of oscillations over the range of a feature
    bool logarithms;          // functions as logarithms, for sums of logarithms
  };
  // `usable`: monomials that may stand in arguments with a constant.
  using Rule = std::function<bool(const composition::Tree&)>;
  Parametric(const Dataset& data, const Table& table, const Rule& usable,
             const std::vector<int>& features, const Extent& extent);

  std::size_t size() const { return items_.size(); }
  // Items that differ in their constants alone are of one family.
  long family(std::size_t item) const;
  void write(std::size_t item, double* out) const;
  std::vector<composition::Tree> factors(std::size_t item) const;

 private:
  enum class Shape {
    sin,
    cos,
    exp,
    tanh,
    inverse,
    ln,
    sqrt,
    bell,
    lorentz,
    ln_lorentz,
    ln_sin,
    ln_cos,
    ln_tanh,
    ln_exp_less,
    ln_exp_more
  };
  struct Item {
    Shape shape;
    int argument;
    double first, second;
    int multiplier;  // -1: none
  };

  void add_argument(const Monomial& monomial, const Extent& extent);
  void add_oscillations(int argument, double range, int cycles);
  void add_logarithms(int argument, double range);
  void add(Shape shape, int argument, double first, double second = 0.0);
  void add_multipliers(const std::vector<Monomial>& monomials, std::size_t count);
  bool evaluate(const Monomial& monomial, Buffer& out) const;
  void write_shape(const Item& item, double* out) const;
  composition::Tree tree(const Item& item) const;
  composition::Tree shifted(int argument, double shift) const;
  composition::Tree quadratic(int argument, double centre, double width) const;
  bool has(const char* name) const { return table_.find(name) >= 0; }

  const Dataset& data_;
  const Table& table_;
  std::vector<Monomial> arguments_;
  std::vector<Buffer> values_;
  std::vector<Monomial> multipliers_;
  std::vector<Buffer> multiplier_values_;
  std::vector<Item> items_;
  std::size_t most_items_ = 0;  // bounds the memory of a pool
};

// Frequencies of the strongest product of two oscillations, one of each feature, in a target: a
// scan over a grid of both, up to so many cycles over the ranges.
struct TwoFrequencies {
  double first = 0.0, second = 0.0;
  double power = 0.0;
};
TwoFrequencies strongest_product(const double* x1, const double* x2, const double* target, Index n,
                                 int cycles);

}  // namespace gsr
