// Bytes for other processes and for files: whole numbers in as few bytes as they need, doubles bit
// for bit, the same on every machine. What is read is checked; damage throws.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "gsr/candidates.hpp"
#include "gsr/fitness.hpp"

namespace gsr {

struct DamagedBytes : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Writer {
 public:
  void count(std::uint64_t value);  // small ones are short
  void number(std::int64_t value);  // likewise, of either sign
  void fixed(std::uint64_t value);  // eight bytes
  void real(double value);
  void flag(bool value) { count(value ? 1 : 0); }
  void monomial(const Monomial& monomial);
  void basis(const Basis& basis);
  void bases(const std::vector<Basis>& list);
  void individual(const Individual& individual);
  void law(const Law& law);

  const std::string& bytes() const { return bytes_; }

 private:
  void reals(const std::vector<double>& values);

  std::string bytes_;
};

class Reader {
 public:
  // Basis functions must fit the problem's tables and features.
  Reader(std::string_view bytes, const Problem& problem) : bytes_(bytes), problem_(problem) {}

  std::uint64_t count(std::uint64_t most);
  std::int64_t number(std::int64_t low, std::int64_t high);
  std::uint64_t fixed();
  double real();
  double real(double low, double high);  // no NaN
  bool flag() { return count(1) == 1; }
  Individual individual();
  Law law();
  // Nothing may be left.
  void finish() const;

 private:
  std::uint8_t byte();
  std::uint64_t varint();
  Basis basis(const Table& table, int n_features);
  std::vector<Basis> bases(const Table& table, int n_features);
  std::vector<double> reals(std::size_t size);

  std::string_view bytes_;
  const Problem& problem_;
};

std::uint64_t fingerprint(std::string_view bytes);  // FNV-1a

}  // namespace gsr
