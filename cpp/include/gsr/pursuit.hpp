// Newtonized orthogonal matching pursuit: terms with real constants are picked from a dictionary by
// what they explain beside the terms so far, and after every pick all constants of all terms are
// refined together. Without that the second pick repairs the grid error of the first.
#pragma once

#include <array>
#include <functional>
#include <vector>

#include "gsr/dictionary.hpp"
#include "gsr/refine.hpp"

namespace gsr {

class Pursuit {
 public:
  struct Model {
    std::vector<Basis> terms;
    double left = 1.0;  // share of the target's norm beside the constant and the free columns
    int inner = 0;      // constants inside

    int n_constants() const { return inner + static_cast<int>(terms.size()); }
  };

  // Two candidate terms, by their entries.
  struct PairPick {
    std::size_t first = 0, second = 0;
    double gain = 0.0;
  };

  // Three candidate terms.
  struct Triple {
    std::array<Index, 3> places{};  // in a list of entries
    double gain = 0.0;
    std::array<bool, 3> signs{};  // of the coefficients, true: positive
  };

  // Of each kind, by the number of constants inside (0, 1, more):
  struct Widths {
    int terms;             // of the longest model
    std::size_t first;     // models of one term that are extended; each term of a true pair may be
                           // mediocre by itself
    std::size_t beam;      // longer models that are extended
    std::size_t tried;     // families that extend a model, refined a little
    std::size_t kept;      // of them refined to the end
    std::size_t repeated;  // families of which several members are looked at together
  };

  Pursuit(const Dictionary& dictionary, const Dataset& x, const Table& table, const Widths& widths)
      : dictionary_(dictionary), x_(x), table_(table), widths_(widths) {}

  // Models for a target on weighted rows (square roots; empty: all alike); of each number of
  // constants the best few. Columns that are `free` stand beside the terms of every model.
  std::vector<Model> search(const Buffer& target, const Buffer& row_weights,
                            const Columns& free = {});
  // Share of the target's norm that the free columns of the last search left.
  double beside_free() const { return beside_free_; }
  // Operations of the last search.
  double operations() const { return operations_; }

 private:
  // A candidate term beside a model.
  struct Pick {
    std::size_t entry;
    double gain;
    double phase;
  };

  void weigh_columns(Refiner& refiner, const Buffer& row_weights);
  std::vector<Pick> best_of_families(Refiner& refiner, const Model& model);
  Pick pick(std::size_t entry) const;
  std::vector<Model> extensions(Refiner& refiner, const Model& model);
  // Two terms at once; each of them may explain nothing by itself.
  std::vector<Model> pairs(Refiner& refiner);
  std::vector<std::size_t> paired_entries() const;
  std::vector<PairPick> best_pairs(const std::vector<std::size_t>& chosen);
  // Two or three terms of one family at once, the two beside a simple term.
  std::vector<Model> repetitions(Refiner& refiner);
  std::vector<Triple> best_triples(const std::vector<std::size_t>& chosen, Index n_members);
  std::vector<std::vector<std::size_t>> repeated_families() const;
  void add(Model& model, const Pick& pick) const;
  void refine_best(Refiner& refiner, std::vector<Model>& models, std::size_t kept,
                   const std::function<int(const Model&)>& class_of) const;
  bool is_degenerate(Refiner& refiner, const Model& model) const;
  double score(const Model& model) const;
  std::vector<Model> beam(std::vector<Model> models, std::size_t width) const;

  const Dictionary& dictionary_;
  const Dataset& x_;
  const Table& table_;
  Widths widths_;
  const Buffer* target_ = nullptr;
  Columns columns_;              // weighted, of unit norm
  std::vector<double> norms_;    // before
  std::vector<double> overlap_;  // of the two columns of an oscillation, at the first
  Vector correlation_, left_;
  Matrix inside_;  // columns along the directions of a model
  double operations_ = 0.0;
  double spread_ = 0.0;  // norm of the weighted target beside the constant
  double beside_free_ = 1.0;
};

// The terms with phases near 0 or a quarter of a cycle dropped, as sin(w t + 1.6) for cos(w t), and
// exponents near whole numbers or halves rounded. The same terms if there are none.
std::vector<Basis> simplified(const std::vector<Basis>& terms, const Table& table);

}  // namespace gsr
