// Basis matrices (paper, Section 3.3.2): each row is one transformation, a basis function is the
// product of its rows. Beyond the paper: division, differences, the number 1 as an operand, rows as
// operands of other rows, and real weights inside arguments.
#pragma once

#include <array>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "gsr/library.hpp"

namespace gsr {

inline constexpr int kMaxRows = 8;       // largest n_B
inline constexpr int kMaxVariables = 8;  // largest n_v
inline constexpr int kMaxWeights = 6;    // real constants inside one basis function

// Operands: 1..d are the features, kOne is the number 1, kOne + i is row i (counted from 1).
inline constexpr std::int16_t kOne = 30000;

enum class ArgumentType : std::int16_t { variable = 0, sum = 1, product = 2, weighted = 3 };

// b_{i,1} (transformation; negative: division by it), b_{i,2} (argument type), b_{i,3..} (operands,
// 0 is `skip`; negative: subtracted in a sum, divided by in a product).
struct Row {
  std::int16_t transformation = 0;
  ArgumentType argument = ArgumentType::variable;
  std::array<std::int16_t, kMaxVariables> variables{};

  int code() const { return std::abs(transformation); }
  bool reciprocal() const { return transformation < 0; }
  int n_operands() const;
  bool refers_to_rows() const;
  // The value depends on features alone: no other row, no weight.
  bool self_contained() const { return argument != ArgumentType::weighted && !refers_to_rows(); }

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
  std::array<double, kMaxWeights> weights{};  // of the weighted rows, in their order

  void push(const Row& row) { rows[size++] = row; }
  const Row* begin() const { return rows.data(); }
  const Row* end() const { return rows.data() + size; }
  Row* begin() { return rows.data(); }
  Row* end() { return rows.data() + size; }

  // Rows that other rows use are no factors of the product.
  bool is_inner(int i) const;
  bool is_plain() const;          // every row stands for itself
  int first_weight(int i) const;  // where the weights of row i begin
  int n_weights() const { return first_weight(size); }

  friend bool operator==(const Basis& a, const Basis& b);
  friend bool operator<(const Basis& a, const Basis& b);
};

using NumberMatrix = std::vector<std::vector<double>>;

// Throws std::invalid_argument that names the entry at fault.
Basis from_matrix(const NumberMatrix& matrix, const Table& table, int n_features);
NumberMatrix to_matrix(const Basis& basis);         // as narrow as the operands allow
NumberMatrix to_target_matrix(const Basis& basis);  // B^psi: the first column alone, if that is all

// One representative for all the matrices of one function (Remark 3): ignored entries cleared,
// variables and rows sorted, rows of T = 1 dropped, a lone operand written as argument type x, and
// identity factors merged into monomials.
// At most `n_v` operands go into a monomial.
Row canonical(const Row& row, const Table& table);
Basis canonical(const Basis& basis, const Table& table, int n_v);

// The canonical form without the factors that a coefficient can carry: (x1 + x1 + x1)^2 is x1^2.
Basis canonical_up_to_factor(const Basis& basis, const Table& table, int n_v);

// Nodes of the expression: variables with their powers, transformations, operators.
int complexity(const Basis& basis, const Table& table);

// Function nodes of the expression tree (every operator and transformation, no leaves), which is
// how evaluators of expression trees count their speed.
int function_nodes(const Basis& basis, const Table& table);

Basis constant_basis(const Table& table);
bool is_constant(const Basis& basis, const Table& table);

}  // namespace gsr
