// Candidate basis functions from simple to complex, with their values: monomials with positive and
// negative powers, atoms that are no monomials (x1 - x2, 1 + x1^2, sin(x1 x2) ...), and products.
#pragma once

#include <cstdint>
#include <unordered_set>
#include <utility>
#include <vector>

#include "gsr/composition.hpp"
#include "gsr/constraints.hpp"
#include "gsr/dataset.hpp"
#include "gsr/evaluate.hpp"

namespace gsr {

// Powers of features, sparse: (feature from 1, power).
using Monomial = std::vector<std::pair<int, int>>;

// How far a pool goes.
struct Reach {
  int degree;             // of monomials
  std::size_t monomials;  // up to that degree, and as many products of first powers
  std::size_t atoms, terms;
  bool deep;                     // compositions too
  bool three_functions = false;  // products of functions of three features, one of each
};

// Monomials with positive and negative powers up to a degree, then products of first powers of any
// number of features (x1 x2 / (x3 x4 x5)), at most `most` of either kind.
std::vector<Monomial> list_monomials(const std::vector<int>& features, int degree,
                                     std::size_t most);
int cost_of(const Monomial& monomial);

// A product of blocks, or the logarithm of an atom.
struct Candidate {
  int monomial = -1, atom = -1, second = -1;
  bool logarithm = false;
  int cost = 0;
  int third = -1;
};

class Candidates {
 public:
  // `features` are those worth combining, in the order of their promise.
  Candidates(const Dataset& data, const Table& table, const Settings& settings,
             const Constraints& constraints, const std::vector<int>& features, const Reach& reach);

  // Terms of a sum, cheapest first, distinct as columns.
  const std::vector<Candidate>& terms() const { return terms_; }
  // Logarithms of atoms, for sums of logarithms.
  const std::vector<Candidate>& logarithms() const { return logarithms_; }
  // Whether a candidate is a function of one feature alone.
  bool of_one_feature(const Candidate& candidate) const;
  // Values of the listed candidates, one column each.
  Columns values(const std::vector<Candidate>& list) const;

  std::vector<composition::Tree> factors(const Candidate& candidate) const;
  // The atom of a logarithm.
  const composition::Tree& atom(const Candidate& candidate) const {
    return atoms_[candidate.atom].tree;
  }

 private:
  struct Atom {
    composition::Tree tree;
    int cost = 0;
    bool base = false;  // no power of another atom
    int feature = 0;    // the only one that it is a function of; 0: there are several
  };

  void make_monomials(const std::vector<int>& features, const Reach& reach);
  void make_atoms(const std::vector<int>& features, const Reach& reach);
  std::vector<int> of_both_signs(const std::vector<int>& features) const;
  void make_terms(const Reach& reach);
  void list_products_of_three(std::vector<Candidate>& out) const;
  void make_logarithms();
  bool admits(const std::vector<composition::Tree>& factors) const;
  bool add_atom(const composition::Tree& tree, int cost, bool base);
  void add_powers();
  // Equal up to a factor means an equal print; kNoPrint: too large or small to have one.
  std::int64_t print_of(const double* values) const;
  bool is_new(const double* values) { return is_new(print_of(values)); }
  bool is_new(std::int64_t print) { return print != kNoPrint && prints_.insert(print).second; }
  void keep_new(const std::vector<Candidate>& list, std::vector<Candidate>& out);
  void write(const Candidate& candidate, double* out) const;

  static constexpr std::int64_t kNoPrint = -1;

  const Dataset& data_;
  const Table& table_;
  const Settings& settings_;
  const Constraints& constraints_;
  Evaluator evaluator_;
  std::vector<Monomial> monomials_;
  std::vector<int> monomial_costs_;
  Columns monomial_values_;
  std::vector<Atom> atoms_;
  std::size_t max_atoms_ = 0;
  Columns atom_values_;
  std::vector<Candidate> terms_, logarithms_;
  Buffer direction_;
  std::unordered_set<std::int64_t> prints_;
};

// The product as a row of the identity; the empty monomial is the number 1.
composition::Tree monomial_tree(const Table& table, const Monomial& monomial);

// tree^p for p = k/2, as factors; false where the table lacks what that takes.
bool power_factors(const Table& table, const composition::Tree& tree, int twice_p,
                   std::vector<composition::Tree>& out);

}  // namespace gsr
