#include "gsr/encoding.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace gsr {
namespace {

int operands(const Row& row) {
  return static_cast<int>(std::count_if(row.variables.begin(), row.variables.end(),
                                        [](std::int16_t v) { return v != 0; }));
}

bool is_monomial(const Row& row, const Table& table) {
  return row.transformation == table.identity() && row.argument != ArgumentType::sum;
}

// x^p costs 1 for x and log2 for the power.
int power_cost(int p) {
  int cost = 1;
  for (int reach = 1; reach < p; reach *= 2) ++cost;
  return cost;
}

template <typename Visit>
void for_each_variable(const Row& row, Visit visit) {
  for (std::size_t k = 0; k < row.variables.size() && row.variables[k] != 0;) {
    std::size_t end = k;
    while (end < row.variables.size() && row.variables[end] == row.variables[k]) ++end;
    visit(row.variables[k], static_cast<int>(end - k));
    k = end;
  }
}

[[noreturn]] void fail(std::size_t row, const std::string& what) {
  throw std::invalid_argument("basis matrix, row " + std::to_string(row + 1) + ": " + what);
}

void check_transformation(int code, std::size_t i, const Table& table) {
  if (code < 0 || code >= table.size())
    fail(i, "transformation " + std::to_string(code) + " is not in the table (0 to " +
                std::to_string(table.size() - 1) + ")");
}

void check_variable(int v, int lowest, std::size_t i, int n_features) {
  if (v < lowest || v > n_features)
    fail(i, "variable " + std::to_string(v) + " is not between " + std::to_string(lowest) +
                " and " + std::to_string(n_features));
}

Row row_from_entries(const std::vector<int>& entries, std::size_t i, const Table& table,
                     int n_features) {
  Row row;
  check_transformation(entries[0], i, table);
  row.transformation = static_cast<std::int16_t>(entries[0]);
  if (entries[0] == table.constant()) return row;
  if (entries.size() == 1) {  // B^psi: the argument is y itself
    row.variables[0] = 1;
    return row;
  }
  if (entries.size() < 3) fail(i, "needs a transformation, an argument type and a variable");
  if (entries[1] < 0 || entries[1] > 2)
    fail(i, "argument type " + std::to_string(entries[1]) + " is not 0 (x), 1 (sum) or 2 (product)");
  row.argument = static_cast<ArgumentType>(entries[1]);
  for (std::size_t k = 2; k < entries.size(); ++k) {
    if (row.argument == ArgumentType::variable && k > 2) break;  // ignored entries
    check_variable(entries[k], k == 2 ? 1 : 0, i, n_features);
    row.variables[k - 2] = static_cast<std::int16_t>(entries[k]);
  }
  return row;
}

// Operands of all monomial factors together.
struct Operands {
  std::array<std::int16_t, kMaxRows * kMaxVariables> variables{};
  std::size_t size = 0;

  void append(const Row& row) {
    for (const std::int16_t v : row.variables)
      if (v != 0) variables[size++] = v;
  }
  void sort() { std::sort(variables.begin(), variables.begin() + static_cast<std::ptrdiff_t>(size)); }
};

// The product x_i x_j ... as identity rows of at most `width` operands each.
void push_monomials(Operands& operands, std::size_t width, const Table& table, Basis& out) {
  operands.sort();
  for (std::size_t start = 0; start < operands.size; start += width) {
    Row row;
    row.transformation = static_cast<std::int16_t>(table.identity());
    const std::size_t n = std::min(width, operands.size - start);
    row.argument = n == 1 ? ArgumentType::variable : ArgumentType::product;
    std::copy_n(operands.variables.begin() + static_cast<std::ptrdiff_t>(start), n,
                row.variables.begin());
    out.push(row);
  }
}

}  // namespace

bool operator<(const Row& a, const Row& b) {
  if (a.transformation != b.transformation) return a.transformation < b.transformation;
  if (a.argument != b.argument) return a.argument < b.argument;
  return a.variables < b.variables;
}

bool operator==(const Basis& a, const Basis& b) {
  return a.size == b.size && std::equal(a.begin(), a.end(), b.begin());
}

bool operator<(const Basis& a, const Basis& b) {
  return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end());
}

std::size_t RowHash::operator()(const Row& row) const {
  std::uint64_t h = static_cast<std::uint64_t>(row.transformation) * 4 +
                    static_cast<std::uint64_t>(row.argument);
  for (const std::int16_t v : row.variables)
    h = (h ^ static_cast<std::uint64_t>(v)) * 0x9E3779B97F4A7C15ull;
  return static_cast<std::size_t>(h ^ (h >> 29));
}

Basis from_matrix(const IntegerMatrix& matrix, const Table& table, int n_features) {
  if (matrix.empty()) throw std::invalid_argument("basis matrix: has no rows");
  if (matrix.size() > kMaxRows)
    throw std::invalid_argument("basis matrix: more than " + std::to_string(kMaxRows) + " rows");
  Basis basis;
  for (std::size_t i = 0; i < matrix.size(); ++i) {
    if (matrix[i].size() != matrix[0].size()) fail(i, "differs in length from the first row");
    if (matrix[i].empty()) fail(i, "is empty");
    if (matrix[i].size() > kMaxVariables + 2)
      fail(i, "more than " + std::to_string(kMaxVariables) + " variables");
    basis.push(row_from_entries(matrix[i], i, table, n_features));
  }
  return basis;
}

IntegerMatrix to_matrix(const Basis& basis) {
  std::size_t width = 1;
  for (const Row& row : basis)
    for (std::size_t k = 0; k < row.variables.size(); ++k)
      if (row.variables[k] != 0) width = std::max(width, k + 1);
  IntegerMatrix matrix;
  for (const Row& row : basis) {
    std::vector<int> entries{row.transformation, static_cast<int>(row.argument)};
    entries.insert(entries.end(), row.variables.begin(),
                   row.variables.begin() + static_cast<std::ptrdiff_t>(width));
    matrix.push_back(std::move(entries));
  }
  return matrix;
}

IntegerMatrix to_target_matrix(const Basis& basis) {
  IntegerMatrix matrix;
  for (const Row& row : basis) matrix.push_back({row.transformation});
  return matrix;
}

Row canonical(const Row& row, const Table& table) {
  Row out;
  out.transformation = row.transformation;
  if (row.transformation == table.constant()) return out;
  if (row.argument == ArgumentType::variable) {
    out.variables[0] = row.variables[0];
    return out;
  }
  std::size_t n = 0;
  for (const std::int16_t v : row.variables)
    if (v != 0) out.variables[n++] = v;
  std::sort(out.variables.begin(), out.variables.begin() + static_cast<std::ptrdiff_t>(n));
  out.argument = n == 1 ? ArgumentType::variable : row.argument;
  return out;
}

Basis canonical(const Basis& basis, const Table& table, int n_v) {
  Basis out;
  Operands monomial;
  for (const Row& row : basis) {
    const Row clean = canonical(row, table);
    if (clean.transformation == table.constant()) continue;
    if (is_monomial(clean, table)) {
      monomial.append(clean);
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
  for (Row& row : out) {
    row = canonical(row, table);
    const auto other = [&](std::int16_t v) { return v != 0 && v != row.variables[0]; };
    if (row.argument != ArgumentType::sum || !table[row.transformation].homogeneous ||
        std::any_of(row.variables.begin(), row.variables.end(), other))
      continue;
    row.argument = ArgumentType::variable;
    std::fill(row.variables.begin() + 1, row.variables.end(), std::int16_t{0});
  }
  return canonical(out, table, n_v);
}

int complexity(const Row& raw, const Table& table) {
  const Row row = canonical(raw, table);
  if (row.transformation == table.constant()) return 0;
  int nodes = table[row.transformation].cost;
  int groups = 0;
  for_each_variable(row, [&](int, int multiplicity) {
    ++groups;
    if (row.argument == ArgumentType::sum) {
      nodes += multiplicity == 1 ? 1 : 3;  // k x
    } else {
      nodes += power_cost(multiplicity);
    }
  });
  return nodes + groups - 1;
}

int complexity(const Basis& basis, const Table& table) {
  int nodes = 0;
  int factors = 0;
  for (const Row& row : canonical(basis, table, kMaxVariables)) {
    if (row.transformation == table.constant()) continue;
    nodes += complexity(row, table);
    ++factors;
  }
  return factors == 0 ? 1 : nodes + factors - 1;
}

int function_nodes(const Basis& basis, const Table& table) {
  int nodes = -1;
  for (const Row& raw : basis) {
    const Row row = canonical(raw, table);
    if (row.transformation == table.constant()) continue;
    nodes += operands(row) + (row.transformation == table.identity() ? 0 : 1);
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
  return std::all_of(basis.begin(), basis.end(), [&](const Row& row) {
    return row.transformation == table.constant();
  });
}

}  // namespace gsr
