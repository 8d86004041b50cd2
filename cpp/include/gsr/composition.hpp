// Basis functions as trees, for what is awkward in a flat matrix: rows that use other rows.
#pragma once

#include <vector>

#include "gsr/encoding.hpp"
#include "gsr/settings.hpp"

namespace gsr::composition {

struct Operand {
  std::int16_t feature = 0;  // a feature or kOne, negative as in a Row; 0: `inner` holds it
  bool negative = false;     // of an inner row
  double weight = 1.0;
  std::vector<struct Tree> inner;  // one tree, or none
};

struct Tree {
  std::int16_t transformation = 0;
  ArgumentType argument = ArgumentType::variable;
  std::vector<Operand> operands;
};

// ---- building --------------------------------------------------------------------------------

Operand feature(int v);  // negative: subtracted or divided by
Operand one(bool negative = false);
Operand row(Tree tree, bool negative = false);

Tree combine(const Table& table, ArgumentType argument, std::vector<Operand> operands);
// T(tree): what a row of the identity holds becomes the argument itself.
Tree apply(const Table& table, int code, const Tree& tree);
Tree reciprocal(Tree tree);
Tree product(const Table& table, const std::vector<Tree>& factors);
// What T is applied to in T(...), as a tree of its own.
Tree argument(const Table& table, const Tree& tree);
// The feature that a tree is a function of; 0: there are several.
int only_feature(const Tree& tree);
// A product of powers of features.
bool is_monomial(const Table& table, const Tree& tree);
Tree scaled(const Table& table, const Tree& tree, double factor);  // with a real constant

// ---- matrices --------------------------------------------------------------------------------

std::vector<Tree> factors(const Basis& basis);
// False if it takes more rows, operands or weights than a basis has.
bool write(const std::vector<Tree>& factors, Basis& basis);

// Nodes of an operand: x^p costs 1 for x and log2 for the power; k x in a sum costs 3.
int group_complexity(ArgumentType argument, int multiplicity);

// Whether the settings allow what the tree takes: division, differences, the number 1, composition
// and real constants.
bool allowed(const Tree& tree, const Table& table, const Settings& settings);

Tree canonical(Tree tree, const Table& table);
bool less(const Tree& a, const Tree& b);
int complexity(const Tree& tree, const Table& table);
int function_nodes(const Tree& tree, const Table& table);

}  // namespace gsr::composition
