// The one table of transformations: every layer (evaluation, text, SymPy, code, inversion) reads
// it.
#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <string>
#include <vector>

namespace gsr {

// Sublibraries (paper, Appendix A) are unions of families.
enum class Family { constant, polynomial, trigonometric, other };

using ElementWise = std::function<void(const double*, double*, std::size_t)>;

struct Transformation {
  std::string name;
  std::string text;  // "{}" stands for the argument in this and the next four
  std::string sympy;
  std::string code;           // C source
  std::string inverse_sympy;  // empty: no closed form
  std::string domain;         // condition on the argument t, as text: "t >= 0"
  Family family = Family::other;
  int cost = 1;        // nodes that it adds to an expression
  double power = 0.0;  // q where T(t) = t^q: a factor inside can go outside; 0: no power

  int parity = 0;  // T(-t) = parity T(t); 0: neither

  bool custom = false;  // given by the user: must see whole columns

  ElementWise value;
  ElementWise derivative;
  ElementWise inverse;  // principal branch; empty where there is none
  // All solutions of T(t) = v: p = inverse(v) and, where T is symmetric, mirror - p; both repeat
  // with the period.
  double mirror = std::numeric_limits<double>::quiet_NaN();
  double period = 0.0;
};

const std::vector<Transformation>& builtin_transformations();
const Transformation& builtin_transformation(const std::string& name);

// A mapping table (paper, Tables 2 and 13): entry k of the first column of a basis matrix means
// the k-th transformation of the table.
class Table {
 public:
  explicit Table(std::vector<Transformation> entries);

  int size() const { return static_cast<int>(entries_.size()); }
  const Transformation& operator[](int code) const { return entries_[code]; }
  int constant() const { return constant_; }  // code of T = 1, which every table holds
  int identity() const { return identity_; }  // code of the identity, or -1
  int find(const std::string& name) const;    // code, or -1

  // L_poly and L_trig of the paper, as codes; the whole table if nothing of the kind is in it.
  std::vector<int> polynomial() const;
  std::vector<int> trigonometric() const;
  std::vector<int> all() const;

 private:
  std::vector<int> with_family(bool (*keep)(Family)) const;

  std::vector<Transformation> entries_;
  int constant_ = -1;
  int identity_ = -1;
};

}  // namespace gsr
