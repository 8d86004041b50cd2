// What is known about a law before the search: every basis function and every law is held to it.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <vector>

#include "gsr/law.hpp"

namespace gsr {

inline constexpr int kMaxUnits = 16;  // base units of one problem

// Exponents of the base units; `any` fits everything, as what a free constant makes of its operand.
struct Dimension {
  std::array<double, kMaxUnits> exponents{};
  bool any = false;

  bool is_one() const;
  bool matches(const Dimension& other) const;
  Dimension& add(const Dimension& other, double times = 1.0);
};

struct Units {
  std::vector<Dimension> features;
  Dimension target;
  // Whether fitted constants may carry a unit: then terms may differ in theirs.
  bool constants_carry_units = true;
};

// Transformations that a variable must not stand in, at any depth, and powers of it that products
// would make without one: even ones are squares, odd ones cubes.
struct Forbidden {
  std::vector<bool> codes;  // of the table; empty: none
  bool division = false, squares = false, cubes = false;
};

struct Constraints {
  std::vector<Forbidden> forbidden;         // one for each feature, or none at all
  std::vector<Forbidden> forbidden_target;  // one, or none
  std::optional<Units> units;
  std::vector<Basis> required;  // terms of every law
  int max_terms = 0;            // beside the constant; 0: no limit
  int max_complexity = 0;
  std::function<bool(const Law&)> accept;  // asked for laws that are about to be kept

  // Whether single basis functions are restricted.
  bool restricts_bases() const {
    return !forbidden.empty() || !forbidden_target.empty() || units.has_value();
  }
  bool restricts_units() const { return units.has_value() && !units->constants_carry_units; }

  bool admits(const Basis& phi, const Table& table) const;
  bool admits_target(const Basis& psi, const Table& table) const;
  bool admits_size(const Law& law, int n_terms) const;
  // All of it but `accept`: the last gate before a law is kept or shown.
  bool admits_law(const Law& law, const Table& table, const Table& target_table) const;

  // The dimension of a consistent basis function of the features or of the target; nothing if it
  // adds metres to seconds, or takes the sine of metres.
  std::optional<Dimension> dimension(const Basis& phi, const Table& table) const;
  std::optional<Dimension> target_dimension(const Basis& psi, const Table& table) const;
};

}  // namespace gsr
