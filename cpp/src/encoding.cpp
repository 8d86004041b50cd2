#include "gsr/encoding.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <utility>

#include "gsr/composition.hpp"

namespace gsr {
namespace {

using Entries = std::vector<double>;

bool is_monomial(const Row& row, const Table& table) {
  return row.transformation == table.identity() && row.argument != ArgumentType::sum &&
         row.self_contained() && (row.argument == ArgumentType::product || row.variables[0] > 0) &&
         std::none_of(row.variables.begin(), row.variables.end(),
                      [](std::int16_t v) { return std::abs(v) == kOne; });
}

bool by_feature(std::int16_t a, std::int16_t b) {
  return std::abs(a) != std::abs(b) ? std::abs(a) < std::abs(b) : a > b;
}

// A handful of operands: insertion is fastest.
template <std::size_t capacity>
void sort_operands(std::array<std::int16_t, capacity>& operands, std::size_t n) {
  for (std::size_t i = 1; i < std::min(n, capacity); ++i)
    for (std::size_t k = i; k > 0 && by_feature(operands[k], operands[k - 1]); --k)
      std::swap(operands[k], operands[k - 1]);
}

[[noreturn]] void fail(std::size_t row, const std::string& what) {
  throw std::invalid_argument("basis matrix, row " + std::to_string(row + 1) + ": " + what);
}

int integer(double entry, std::size_t i) {
  if (!(std::abs(entry) <= 32767.0) || entry != std::floor(entry))
    fail(i, "entry " + std::to_string(entry) + " is not an integer in range");
  return static_cast<int>(entry);
}

void check_transformation(int code, std::size_t i, const Table& table) {
  if (std::abs(code) >= table.size())
    fail(i, "transformation " + std::to_string(code) + " is not in the table (0 to " +
                std::to_string(table.size() - 1) + ")");
}

void check_operand(int v, bool first, std::size_t i, std::size_t n_rows, int n_features) {
  const int size = std::abs(v);
  if (size > kOne) {
    const int row = size - kOne;
    if (row <= static_cast<int>(i) + 1 || row > static_cast<int>(n_rows))
      fail(i, "operand " + std::to_string(v) + " must refer to a row below");
    return;
  }
  if (size == kOne || (size <= n_features && (v != 0 || !first))) return;
  fail(i, "variable " + std::to_string(v) + " is not between " + std::to_string(first ? 1 : 0) +
              " and " + std::to_string(n_features));
}

// A weighted row lists its operands, then as many weights.
std::size_t operand_columns(const Entries& entries, ArgumentType argument, std::size_t i) {
  const std::size_t n = entries.size() - 2;
  if (argument != ArgumentType::weighted) return n;
  if (n % 2 != 0) fail(i, "a weighted sum needs one weight for each operand");
  return n / 2;
}

void read_weights(const Entries& entries, std::size_t columns, std::size_t i, Basis& basis) {
  auto next = static_cast<std::size_t>(basis.first_weight(static_cast<int>(i)));
  for (std::size_t k = 0; k < columns; ++k) {
    if (entries[2 + k] == 0.0) continue;
    if (entries[2 + k] < 0.0) fail(i, "the sign of a weighted operand belongs to its weight");
    if (next == kMaxWeights)
      fail(i, "more than " + std::to_string(kMaxWeights) + " weights in one basis function");
    if (!std::isfinite(entries[2 + columns + k])) fail(i, "a weight is not finite");
    basis.weights[next++] = entries[2 + columns + k];
  }
}

Row row_from_entries(const Entries& entries, std::size_t i, std::size_t n_rows, const Table& table,
                     int n_features) {
  Row row;
  const int code = integer(entries[0], i);
  check_transformation(code, i, table);
  row.transformation = static_cast<std::int16_t>(code);
  if (code == table.constant()) return row;
  if (entries.size() == 1) {  // B^psi: the argument is y itself
    row.variables[0] = 1;
    return row;
  }
  if (entries.size() < 3) fail(i, "needs a transformation, an argument type and a variable");
  const int kind = integer(entries[1], i);
  if (kind < 0 || kind > 3)
    fail(i, "argument type " + std::to_string(kind) +
                " is not 0 (x), 1 (sum), 2 (product) or 3 (weighted sum)");
  row.argument = static_cast<ArgumentType>(kind);
  const std::size_t columns = operand_columns(entries, row.argument, i);
  if (columns > kMaxVariables) fail(i, "more than " + std::to_string(kMaxVariables) + " variables");
  for (std::size_t k = 0; k < columns; ++k) {
    if (row.argument == ArgumentType::variable && k > 0) break;  // ignored entries
    const int v = integer(entries[2 + k], i);
    check_operand(v, k == 0, i, n_rows, n_features);
    row.variables[k] = static_cast<std::int16_t>(v);
  }
  return row;
}

// Operands of all monomial factors together.
struct Operands {
  std::array<std::int16_t, kMaxRows * kMaxVariables> variables{};
  std::size_t size = 0;

  void append(const Row& row) {
    for (const std::int16_t v : row.variables) {
      if (v == 0) continue;
      const auto end = variables.begin() + size;
      const auto opposite = std::find(variables.begin(), end, static_cast<std::int16_t>(-v));
      if (opposite != end) {  // x / x
        *opposite = variables[--size];
      } else {
        variables[size++] = v;
      }
    }
  }
};

// The product x_i x_j ... as identity rows of at most `width` operands each.
void push_monomials(Operands& operands, std::size_t width, const Table& table, Basis& out) {
  sort_operands(operands.variables, operands.size);
  const auto places = static_cast<std::size_t>(kMaxRows - out.size);
  if (operands.size > places * width) width = kMaxVariables;  // wider rows rather than too many
  for (std::size_t start = 0; start < operands.size; start += width) {
    Row row;
    row.transformation = static_cast<std::int16_t>(table.identity());
    const std::size_t n = std::min(width, operands.size - start);
    const bool lone = n == 1 && operands.variables[start] > 0;
    row.argument = lone ? ArgumentType::variable : ArgumentType::product;
    if (out.size == kMaxRows) return;
    std::copy_n(operands.variables.begin() + start, n, row.variables.begin());
    out.push(row);
  }
}

// 1/(x1 x2) is the product of 1/x1 and 1/x2.
Row as_quotient(Row row, const Table& table) {
  Row positive = row;
  positive.transformation = static_cast<std::int16_t>(-row.transformation);
  if (row.transformation >= 0 || !is_monomial(positive, table)) return row;
  for (std::int16_t& v : positive.variables) v = static_cast<std::int16_t>(-v);
  positive.argument = ArgumentType::product;
  sort_operands(positive.variables, static_cast<std::size_t>(positive.n_operands()));
  const bool lone = positive.n_operands() == 1 && positive.variables[0] > 0;
  if (lone) positive.argument = ArgumentType::variable;
  return positive;
}

// Of a canonical row that stands for itself.
int complexity(const Row& row, const Table& table) {
  int nodes = table[row.code()].cost + (row.reciprocal() ? 1 : 0);
  int groups = 0;
  bool all_divided = row.argument == ArgumentType::product;
  for (std::size_t k = 0; k < row.variables.size() && row.variables[k] != 0; ++groups) {
    std::size_t end = k;
    while (end < row.variables.size() && row.variables[end] == row.variables[k]) ++end;
    nodes += composition::group_complexity(row.argument, static_cast<int>(end - k));
    all_divided = all_divided && row.variables[k] < 0;
    k = end;
  }
  return nodes + groups - 1 + (all_divided ? 1 : 0);
}

std::size_t width_of(const Basis& basis) {
  std::size_t width = 1;
  for (const Row& row : basis)
    for (std::size_t k = 0; k < row.variables.size(); ++k)
      if (row.variables[k] != 0) width = std::max(width, k + 1);
  return width;
}

Basis canonical_composition(const Basis& basis, const Table& table) {
  std::vector<composition::Tree> trees;
  Operands monomial;
  for (composition::Tree& tree : composition::factors(basis)) {
    if (tree.transformation == table.constant()) continue;
    if (composition::is_monomial(table, tree) && tree.argument != ArgumentType::sum) {
      Row row;
      for (std::size_t k = 0; k < tree.operands.size(); ++k)
        row.variables[k] = tree.operands[k].feature;
      monomial.append(row);
    } else {
      trees.push_back(composition::canonical(std::move(tree), table));
    }
  }
  Basis product;
  push_monomials(monomial, kMaxVariables, table, product);
  for (composition::Tree& tree : composition::factors(product)) trees.push_back(std::move(tree));
  std::sort(trees.begin(), trees.end(), composition::less);
  Basis out;
  return composition::write(trees, out) ? out : basis;
}

// A factor of -1 or a positive factor that T lets out.
void drop_factor(Row& row, const Table& table) {
  const Transformation& t = table[row.code()];
  if (row.argument != ArgumentType::sum && row.argument != ArgumentType::variable) return;
  if (row.variables[0] < 0 && t.parity != 0)
    for (std::int16_t& v : row.variables) v = static_cast<std::int16_t>(-v);
  const auto other = [&](std::int16_t v) { return v != 0 && v != row.variables[0]; };
  if (row.argument != ArgumentType::sum || t.power == 0.0 ||
      std::any_of(row.variables.begin(), row.variables.end(), other))
    return;
  row.argument = ArgumentType::variable;
  std::fill(row.variables.begin() + 1, row.variables.end(), std::int16_t{0});
}

}  // namespace

int Row::n_operands() const {
  return static_cast<int>(
      std::count_if(variables.begin(), variables.end(), [](std::int16_t v) { return v != 0; }));
}

bool Row::refers_to_rows() const {
  return std::any_of(variables.begin(), variables.end(),
                     [](std::int16_t v) { return v > kOne || v < -kOne; });
}

bool Basis::is_inner(int i) const {
  const int reference = kOne + 1 + i;
  return std::any_of(begin(), begin() + i, [&](const Row& row) {
    return std::any_of(row.variables.begin(), row.variables.end(),
                       [&](std::int16_t v) { return std::abs(v) == reference; });
  });
}

bool Basis::is_plain() const {
  return std::all_of(begin(), end(), [](const Row& row) { return row.self_contained(); });
}

int Basis::first_weight(int i) const {
  int n = 0;
  for (const Row* row = begin(); row != begin() + i; ++row)
    if (row->argument == ArgumentType::weighted) n += row->n_operands();
  return n;
}

bool operator<(const Row& a, const Row& b) {
  if (a.transformation != b.transformation) return a.transformation < b.transformation;
  if (a.argument != b.argument) return a.argument < b.argument;
  return a.variables < b.variables;
}

bool operator==(const Basis& a, const Basis& b) {
  return a.size == b.size && std::equal(a.begin(), a.end(), b.begin()) &&
         std::equal(a.weights.begin(), a.weights.begin() + a.n_weights(), b.weights.begin());
}

bool operator<(const Basis& a, const Basis& b) {
  if (std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end())) return true;
  if (std::lexicographical_compare(b.begin(), b.end(), a.begin(), a.end())) return false;
  return std::lexicographical_compare(a.weights.begin(), a.weights.begin() + a.n_weights(),
                                      b.weights.begin(), b.weights.begin() + b.n_weights());
}

std::size_t RowHash::operator()(const Row& row) const {
  std::uint64_t h =
      static_cast<std::uint64_t>(row.transformation) * 4 + static_cast<std::uint64_t>(row.argument);
  for (const std::int16_t v : row.variables)
    h = (h ^ static_cast<std::uint64_t>(v)) * 0x9E3779B97F4A7C15ull;
  return static_cast<std::size_t>(h ^ (h >> 29));
}

Basis from_matrix(const NumberMatrix& matrix, const Table& table, int n_features) {
  if (matrix.empty()) throw std::invalid_argument("basis matrix: has no rows");
  if (matrix.size() > kMaxRows)
    throw std::invalid_argument("basis matrix: more than " + std::to_string(kMaxRows) + " rows");
  const bool ragged = std::any_of(matrix.begin(), matrix.end(), [](const Entries& row) {
    return row.size() > 1 && row[1] == static_cast<double>(ArgumentType::weighted);
  });
  Basis basis;
  for (std::size_t i = 0; i < matrix.size(); ++i) {
    if (matrix[i].size() != matrix[0].size() && !ragged)
      fail(i, "differs in length from the first row");
    if (matrix[i].empty()) fail(i, "is empty");
    const Row row = row_from_entries(matrix[i], i, matrix.size(), table, n_features);
    basis.push(row);
    if (row.argument == ArgumentType::weighted)
      read_weights(matrix[i], (matrix[i].size() - 2) / 2, i, basis);
  }
  return basis;
}

NumberMatrix to_matrix(const Basis& basis) {
  const std::size_t width = width_of(basis);
  NumberMatrix matrix;
  for (int i = 0; i < basis.size; ++i) {
    const Row& row = basis.rows[i];
    Entries entries{static_cast<double>(row.transformation), static_cast<double>(row.argument)};
    entries.insert(entries.end(), row.variables.begin(), row.variables.begin() + width);
    if (row.argument == ArgumentType::weighted) {
      entries.resize(2 + 2 * width, 0.0);
      const auto first = static_cast<std::size_t>(basis.first_weight(i));
      for (std::size_t k = 0; k < static_cast<std::size_t>(row.n_operands()); ++k)
        entries[2 + width + k] = basis.weights[first + k];
    }
    matrix.push_back(std::move(entries));
  }
  return matrix;
}

NumberMatrix to_target_matrix(const Basis& basis) {
  const auto of_y = [](const Row& row) {
    return row.argument == ArgumentType::variable &&
           (row.variables[0] == 1 || row.variables[0] == 0);
  };
  if (!std::all_of(basis.begin(), basis.end(), of_y)) return to_matrix(basis);
  NumberMatrix matrix;
  for (const Row& row : basis) matrix.push_back({static_cast<double>(row.transformation)});
  return matrix;
}

// Weighted rows and rows that use others keep their order of operands.
Row canonical(const Row& row, const Table& table) {
  Row out;
  out.transformation = row.transformation;
  if (row.code() == table.constant()) {
    out.transformation = static_cast<std::int16_t>(table.constant());
    return out;
  }
  if (row.argument == ArgumentType::weighted) return row;
  if (row.argument == ArgumentType::variable) {
    out.variables[0] = row.variables[0];
    return out;
  }
  std::size_t n = 0;
  for (const std::int16_t v : row.variables)
    if (v != 0) out.variables[n++] = v;
  sort_operands(out.variables, n);
  const bool divided = row.argument == ArgumentType::product && out.variables[0] < 0;
  out.argument = n == 1 && !divided ? ArgumentType::variable : row.argument;
  return out;
}

Basis canonical(const Basis& basis, const Table& table, int n_v) {
  if (!basis.is_plain()) return canonical_composition(basis, table);
  Basis out;
  Operands monomial;
  for (const Row& row : basis) {
    const Row clean = canonical(row, table);
    if (clean.transformation == table.constant()) continue;
    const Row quotient = n_v > 1 ? as_quotient(clean, table) : clean;
    if (is_monomial(quotient, table)) {
      monomial.append(quotient);
    } else {
      out.push(clean);
    }
  }
  push_monomials(monomial, static_cast<std::size_t>(n_v), table, out);
  std::sort(out.begin(), out.end());
  return out.size == 0 ? constant_basis(table) : out;
}

Basis canonical_up_to_factor(const Basis& basis, const Table& table, int n_v) {
  Basis out = basis;
  for (int i = 0; i < out.size; ++i) {
    if (out.is_inner(i)) continue;  // its factor is not the basis function's
    Row& row = out.rows[i];
    row = canonical(row, table);
    drop_factor(row, table);
  }
  return canonical(out, table, n_v);
}

int complexity(const Basis& basis, const Table& table) {
  const Basis form = canonical(basis, table, kMaxVariables);
  int nodes = 0;
  int factors = 0;
  const auto add = [&](int cost) {
    nodes += cost;
    ++factors;
  };
  if (form.is_plain()) {
    for (const Row& row : form)
      if (row.transformation != table.constant()) add(complexity(row, table));
  } else {
    for (const composition::Tree& tree : composition::factors(form))
      add(composition::complexity(tree, table));
  }
  return factors == 0 ? 1 : nodes + factors - 1;
}

int function_nodes(const Basis& basis, const Table& table) {
  int nodes = -1;
  for (const composition::Tree& tree : composition::factors(basis)) {
    if (tree.transformation == table.constant()) continue;
    nodes += 1 + composition::function_nodes(tree, table);
  }
  return std::max(nodes, 0);
}

Basis constant_basis(const Table& table) {
  Basis basis;
  Row row;
  row.transformation = static_cast<std::int16_t>(table.constant());
  basis.push(row);
  return basis;
}

bool is_constant(const Basis& basis, const Table& table) {
  return std::all_of(basis.begin(), basis.end(),
                     [&](const Row& row) { return row.code() == table.constant(); });
}

}  // namespace gsr
