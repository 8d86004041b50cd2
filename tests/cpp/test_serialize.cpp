#include <doctest/doctest.h>

#include "fixtures.hpp"
#include "gsr/serialize.hpp"

using namespace gsr;
using namespace gsr::testing;

namespace {

Problem problem() {
  Problem out{Dataset{drawn(10, 2, 0.5, 2.0)}, Dataset{drawn(10, 1, 0.5, 2.0)}, table(), table(),
              Settings{}};
  return out;
}

Law some_law() {
  Law law;
  law.psi = {product({feature(1)})};
  law.beta = {1.0};
  law.phi = {product({feature(2), scaled("exp", 1, -0.25)})};
  law.alpha = {1.0 / 3.0};
  law.complexity = 9;
  law.rmse = 1e-3;
  law.bits = 41.5;
  return law;
}

}  // namespace

TEST_CASE("a law is read as it was written") {
  const Problem known = problem();
  Writer writer;
  writer.law(some_law());
  Reader reader(writer.bytes(), known);
  const Law law = reader.law();
  reader.finish();
  CHECK(law.phi == some_law().phi);
  CHECK(law.alpha == some_law().alpha);
  CHECK(law.rmse == some_law().rmse);
}

TEST_CASE("every cut of the bytes is noticed") {
  const Problem known = problem();
  Writer writer;
  writer.law(some_law());
  for (std::size_t n = 0; n < writer.bytes().size(); ++n) {
    Reader reader(std::string_view(writer.bytes()).substr(0, n), known);
    CHECK_THROWS_AS(reader.law(), DamagedBytes);
  }
}

TEST_CASE("a flipped byte is noticed or harmless") {
  const Problem known = problem();
  Writer writer;
  writer.law(some_law());
  for (std::size_t k = 0; k < writer.bytes().size(); ++k)
    for (const int bit : {1, 16, 128}) {
      std::string bytes = writer.bytes();
      bytes[k] = static_cast<char>(bytes[k] ^ bit);
      Reader reader(bytes, known);
      try {
        reader.law();
      } catch (const DamagedBytes&) {
      }
    }
}

TEST_CASE("whole numbers of any size survive") {
  const Problem known = problem();
  Writer writer;
  const std::vector<std::int64_t> numbers{0, 1, -1, 127, 128, -300, std::int64_t{1} << 40};
  for (const std::int64_t number : numbers) writer.number(number);
  Reader reader(writer.bytes(), known);
  for (const std::int64_t number : numbers)
    CHECK(reader.number(-(std::int64_t{1} << 50), std::int64_t{1} << 50) == number);
  reader.finish();
}
