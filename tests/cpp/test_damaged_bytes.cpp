// Bytes from files and other processes, damaged at random: what is read is refused or harmless.
// GSR_FUZZ is the number of damaged inputs of each kind.
#include <doctest/doctest.h>

#include <cstdlib>
#include <functional>
#include <random>
#include <utility>

#include "fixtures.hpp"
#include "gsr/island.hpp"

using namespace gsr;
using namespace gsr::testing;

namespace {

Problem problem() {
  Dataset x{drawn(40, 2, 0.5, 3.0)};
  Columns y(40, 1);
  for (Index i = 0; i < 40; ++i)
    y[0][i] = x.features[0][i] * std::exp(-x.features[1][i]) + x.features[0][i];
  Settings settings;
  settings.guided = settings.division = settings.differences = settings.one = true;
  settings.constants = true;
  settings.max_evaluations = 300;
  return Problem{std::move(x), Dataset{std::move(y)}, table(), table(), settings};
}

int n_inputs() {
  const char* given = std::getenv("GSR_FUZZ");
  return given != nullptr ? std::atoi(given) : 500;
}

class Damage {
 public:
  std::string operator()(std::string bytes) {
    for (int n = 1 + below(4); n > 0; --n) change(bytes);
    return bytes;
  }

 private:
  int below(std::size_t end) {
    return std::uniform_int_distribution<int>(0, static_cast<int>(end) - 1)(random_);
  }
  void change(std::string& bytes) {
    if (bytes.empty()) return;
    const std::size_t at = below(bytes.size()), size = 1 + below(12);
    switch (below(6)) {
      case 0: bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(8))); break;
      case 1: bytes[at] = static_cast<char>(below(256)); break;
      case 2: bytes.erase(at, size); break;
      case 3: bytes.insert(at, bytes.substr(at, size)); break;
      case 4: bytes.insert(at, std::string(size, static_cast<char>(0xff))); break;
      default: bytes.resize(at);
    }
  }

  std::mt19937_64 random_{7};
};

// Calls `read` with damaged copies; only DamagedBytes may be thrown. Returns how many are accepted.
int accepted(const std::string& bytes, const std::function<void(std::string_view)>& read) {
  Damage damage;
  int n_accepted = 0;
  for (int n = n_inputs(); n > 0; --n) {
    try {
      read(damage(bytes));
      ++n_accepted;
    } catch (const DamagedBytes&) {
    }
  }
  return n_accepted;
}

void search(Island& island) {
  while (island.run(60.0) == Evolution::Status::running) {
  }
}

}  // namespace

TEST_CASE("damaged islands, migrants and laws are refused or harmless") {
  Island island(problem());
  search(island);
  const std::string saved = island.save(), laws = island.laws();
  const std::string migrants = island.emigrants(3, EmigrantSelection::best, 1);
  MESSAGE("saved islands accepted: "
          << accepted(saved, [&](std::string_view bytes) { island.load(bytes); }));
  MESSAGE("absorbed islands accepted: "
          << accepted(saved, [&](std::string_view bytes) { island.absorb(bytes); }));
  MESSAGE("migrants accepted: " << accepted(migrants, [&](std::string_view bytes) {
            island.accept(bytes, Replacement::fair, 1);
          }));
  MESSAGE("laws accepted: "
          << accepted(laws, [&](std::string_view bytes) { island.add_laws(bytes); }));
}

TEST_CASE("an island goes on from a damaged state that it has accepted") {
  Island first(problem());
  search(first);
  const std::string saved = first.save();
  Damage damage;
  for (int n = n_inputs() / 100; n > 0; --n) {
    Island island(problem());
    try {
      island.load(damage(saved));
    } catch (const DamagedBytes&) {
      continue;
    }
    island.run(0.01);
  }
}
