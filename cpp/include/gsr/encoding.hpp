// Basis matrices (paper, Section 3.3.2): each row is one transformation, a basis function is the
// product of its rows.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "gsr/library.hpp"

namespace gsr {

inline constexpr int kMaxRows = 8;       // largest n_B
inline constexpr int kMaxVariables = 8;  // largest n_v

enum class ArgumentType : std::int16_t { variable = 0, sum = 1, product = 2 };

// b_{i,1} (transformation), b_{i,2} (argument type), b_{i,3..} (variables, 1-based; 0 is `skip`).
struct Row {
  std::int16_t transformation = 0;
  ArgumentType argument = ArgumentType::variable;
  std::array<std::int16_t, kMaxVariables> variables{};

  friend bool operator==(const Row& a, const Row& b) {
    return a.transformation == b.transformation && a.argument == b.argument &&
           a.variables == b.variables;
  }
  friend bool operator<(const Row& a, const Row& b);
};

struct RowHash {
  std::size_t operator()(const Row& row) const;
};

struct Basis {
  std::array<Row, kMaxRows> rows{};
  std::int16_t size = 0;

  void push(const Row& row) { rows[static_cast<std::size_t>(size++)] = row; }
  const Row* begin() const { return rows.data(); }
  const Row* end() const { return rows.data() + size; }
  Row* begin() { return rows.data(); }
  Row* end() { return rows.data() + size; }

  friend bool operator==(const Basis& a, const Basis& b);
  friend bool operator<(const Basis& a, const Basis& b);
};

using IntegerMatrix = std::vector<std::vector<int>>;

// Throws std::invalid_argument that names the entry at fault.
Basis from_matrix(const IntegerMatrix& matrix, const Table& table, int n_features);
IntegerMatrix to_matrix(const Basis& basis);         // as narrow as the variables allow
IntegerMatrix to_target_matrix(const Basis& basis);  // B^psi: the first column alone

// One representative for all the matrices of one function (Remark 3): ignored entries cleared,
// variables and rows sorted, rows of T = 1 dropped, a lone operand written as argument type x, and
// identity factors merged into monomials.
// At most `n_v` operands go into a monomial.
Row canonical(const Row& row, const Table& table);
Basis canonical(const Basis& basis, const Table& table, int n_v);

// The canonical form without the factors that a coefficient can carry: (x1 + x1 + x1)^2 is x1^2.
Basis canonical_up_to_factor(const Basis& basis, const Table& table, int n_v);

// Nodes of the expression: variables with their powers, transformations, operators.
int complexity(const Row& row, const Table& table);
int complexity(const Basis& basis, const Table& table);

// Function nodes of the expression tree (every operator and transformation, no leaves), which is
// how evaluators of expression trees count their speed.
int function_nodes(const Basis& basis, const Table& table);

Basis constant_basis(const Table& table);
bool is_constant(const Basis& basis, const Table& table);

}  // namespace gsr
