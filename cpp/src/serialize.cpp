#include "gsr/serialize.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>

namespace gsr {
namespace {

constexpr std::uint64_t kMostBases = 4096;
constexpr double kMostNodes = 10000.0;  // of a basis function, written out

template <typename Array>
std::size_t used(const Array& values) {
  std::size_t n = values.size();
  while (n > 0 && values[n - 1] == typename Array::value_type{}) --n;
  return n;
}

void require(bool holds, const char* what) {
  if (!holds) throw DamagedBytes(what);
}

bool is_finite(double value) { return std::isfinite(value); }

// Operands that a row passes over, such as those of a constant, count too: others may read them.
bool refers_down(const Basis& basis, int n_features) {
  for (int i = 0; i < basis.size; ++i)
    for (const std::int16_t v : basis.rows[i].variables) {
      const int size = std::abs(v), row = size - kOne - 1;
      if (size > kOne ? row <= i || row >= basis.size : size > n_features && size != kOne)
        return false;
    }
  return true;
}

// Rows may be used by several others, each of which several others use: eight rows can stand for
// millions. References point down.
double written_out(const Basis& basis) {
  std::array<double, kMaxRows> nodes{};
  double all = 0.0;
  for (int i = basis.size - 1; i >= 0; --i) {
    double& mine = nodes[i];
    mine = 1.0;
    for (const std::int16_t v : basis.rows[i].variables)
      mine += std::abs(v) > kOne ? nodes[std::abs(v) - kOne - 1] : 1.0;
    all += mine;
  }
  return all;
}

}  // namespace

// ---- writing ---------------------------------------------------------------------------------

void Writer::count(std::uint64_t value) {
  while (value >= 0x80) {
    bytes_.push_back(static_cast<char>(static_cast<std::uint8_t>(value | 0x80)));
    value >>= 7;
  }
  bytes_.push_back(static_cast<char>(value));
}

void Writer::number(std::int64_t value) {
  const auto bits = static_cast<std::uint64_t>(value);
  count(value < 0 ? ~(bits << 1) : bits << 1);
}

void Writer::fixed(std::uint64_t value) {
  for (int shift = 0; shift < 64; shift += 8)
    bytes_.push_back(static_cast<char>(static_cast<std::uint8_t>(value >> shift)));
}

void Writer::real(double value) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  fixed(bits);
}

void Writer::reals(const std::vector<double>& values) {
  for (const double value : values) real(value);
}

void Writer::monomial(const Monomial& monomial) {
  count(monomial.size());
  for (const auto& [feature, power] : monomial) {
    number(feature);
    number(power);
  }
}

void Writer::basis(const Basis& basis) {
  count(static_cast<std::uint64_t>(basis.size));
  for (const Row& row : basis) {
    number(row.transformation);
    const std::size_t n = used(row.variables);
    count(n * 4 + static_cast<std::uint64_t>(row.argument));
    for (std::size_t k = 0; k < n; ++k) number(row.variables[k]);
  }
  const auto n_weights = static_cast<std::size_t>(basis.n_weights());
  for (std::size_t k = 0; k < n_weights; ++k) real(basis.weights[k]);
}

void Writer::bases(const std::vector<Basis>& list) {
  count(list.size());
  for (const Basis& each : list) basis(each);
}

void Writer::individual(const Individual& individual) {
  bases(individual.psi);
  bases(individual.phi);
  real(individual.fitness);
}

void Writer::law(const Law& law) {
  bases(law.psi);
  bases(law.phi);
  reals(law.beta);
  reals(law.alpha);
  number(law.complexity);
  real(law.transformed_error);
  real(law.rmse);
  flag(law.exact);
  real(law.bits);
}

// ---- reading ---------------------------------------------------------------------------------

std::uint8_t Reader::byte() {
  require(!bytes_.empty(), "bytes end too early");
  const auto value = static_cast<std::uint8_t>(bytes_.front());
  bytes_.remove_prefix(1);
  return value;
}

std::uint64_t Reader::varint() {
  std::uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    const std::uint8_t next = byte();
    value |= static_cast<std::uint64_t>(next & 0x7f) << shift;
    if (next < 0x80) return value;
  }
  throw DamagedBytes("a number is too long");
}

std::uint64_t Reader::count(std::uint64_t most) {
  const std::uint64_t value = varint();
  require(value <= most, "a count is too large");
  return value;
}

std::int64_t Reader::number(std::int64_t low, std::int64_t high) {
  const std::uint64_t bits = varint();
  const auto half = static_cast<std::int64_t>(bits >> 1);
  const std::int64_t value = (bits & 1) != 0 ? -half - 1 : half;
  require(low <= value && value <= high, "a number is out of range");
  return value;
}

std::uint64_t Reader::fixed() {
  std::uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 8) value |= static_cast<std::uint64_t>(byte()) << shift;
  return value;
}

double Reader::real() {
  const std::uint64_t bits = fixed();
  double value = 0.0;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

double Reader::real(double low, double high) {
  const double value = real();
  require(low <= value && value <= high, "a number is out of range");
  return value;
}

std::vector<double> Reader::reals(std::size_t size) {
  std::vector<double> values;
  for (std::size_t k = 0; k < size; ++k) values.push_back(real());
  return values;
}

Basis Reader::basis(const Table& table, int n_features) {
  constexpr auto kLargest = std::numeric_limits<std::int16_t>::max();
  Basis out;
  const auto size = static_cast<int>(count(kMaxRows));
  for (int i = 0; i < size; ++i) {
    Row row;
    row.transformation = static_cast<std::int16_t>(number(-kLargest, kLargest));
    const std::uint64_t shape = count(4 * kMaxVariables + 3);
    row.argument = static_cast<ArgumentType>(shape % 4);
    const auto n = static_cast<std::size_t>(shape / 4);
    for (std::size_t k = 0; k < n; ++k)
      row.variables[k] = static_cast<std::int16_t>(number(-kLargest, kLargest));
    out.push(row);
  }
  const int n_weights = out.n_weights();
  require(n_weights <= kMaxWeights, "too many weights");
  for (int k = 0; k < n_weights; ++k) out.weights[k] = real();
  try {
    from_matrix(to_matrix(out), table, n_features);  // names what does not fit the problem
  } catch (const std::invalid_argument& error) {
    throw DamagedBytes(error.what());
  }
  require(refers_down(out, n_features), "an operand is out of range");
  require(std::all_of(out.weights.begin(), out.weights.end(), is_finite), "a weight is not finite");
  require(written_out(out) <= kMostNodes, "a basis function is too large");
  return out;
}

std::vector<Basis> Reader::bases(const Table& table, int n_features) {
  const std::uint64_t size = count(kMostBases);
  std::vector<Basis> out;
  for (std::uint64_t k = 0; k < size; ++k) out.push_back(basis(table, n_features));
  return out;
}

Individual Reader::individual() {
  Individual out;
  out.psi = bases(problem_.target_table, 1);
  out.phi = bases(problem_.table, problem_.x.n_features());
  out.fitness = real();
  require(!std::isnan(out.fitness), "a fitness is not a number");
  return out;
}

Law Reader::law() {
  Law out;
  out.psi = bases(problem_.target_table, 1);
  out.phi = bases(problem_.table, problem_.x.n_features());
  out.beta = reals(out.psi.size());
  out.alpha = reals(out.phi.size());
  out.complexity = static_cast<int>(number(0, std::numeric_limits<int>::max()));
  out.transformed_error = real();
  out.rmse = real();
  out.exact = flag();
  out.bits = real();
  require(!out.psi.empty() && !out.phi.empty(), "a law has no terms");
  require(std::all_of(out.beta.begin(), out.beta.end(), is_finite) &&
              std::all_of(out.alpha.begin(), out.alpha.end(), is_finite),
          "a coefficient is not finite");
  require(std::isfinite(out.rmse) && out.rmse >= 0.0 && !std::isnan(out.transformed_error) &&
              !std::isnan(out.bits),
          "an error of a law is out of range");
  return out;
}

void Reader::finish() const { require(bytes_.empty(), "there are bytes left over"); }

std::uint64_t fingerprint(std::string_view bytes) {
  std::uint64_t hash = 0xcbf29ce484222325ull;
  for (const char c : bytes) hash = (hash ^ static_cast<std::uint8_t>(c)) * 0x100000001b3ull;
  return hash;
}

}  // namespace gsr
