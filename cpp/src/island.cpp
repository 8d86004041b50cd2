#include "gsr/island.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "gsr/random.hpp"

namespace gsr {
namespace {

// First byte of each kind of bytes; it changes with the format.
constexpr std::uint64_t kMigrants = 1, kSaved = 18, kLaws = 33;
constexpr std::uint64_t kAnyFormat = 127;
constexpr std::uint64_t kMostMigrants = 10000, kMostLaws = 100000;
// Random streams, apart from those of births, whose first number is a generation.
constexpr std::uint64_t kEmigration = 1ull << 40, kImmigration = 1ull << 41;

Reader opened(std::string_view bytes, std::uint64_t format, const Problem& problem) {
  Reader reader(bytes, problem);
  if (reader.count(kAnyFormat) != format)
    throw DamagedBytes("these bytes have another format; were they made by another version?");
  return reader;
}

// Positions of `n` of `size`, in random order.
std::vector<std::size_t> drawn(Random random, std::size_t n, std::size_t size) {
  std::vector<std::size_t> order(size);
  std::iota(order.begin(), order.end(), std::size_t{0});
  n = std::min(n, size);
  for (std::size_t k = 0; k < n; ++k)
    std::swap(order[k], order[static_cast<std::size_t>(
                            random.integer(static_cast<int>(k), static_cast<int>(size) - 1))]);
  order.resize(n);
  return order;
}

}  // namespace

std::string Island::emigrants(int n, EmigrantSelection selection, std::uint64_t epoch) {
  const std::vector<Individual>& residents = population();
  std::vector<std::size_t> chosen(std::min(static_cast<std::size_t>(n), residents.size()));
  std::iota(chosen.begin(), chosen.end(), std::size_t{0});
  if (selection == EmigrantSelection::random)
    chosen =
        drawn(Random(problem().settings.seed, kEmigration, epoch), chosen.size(), residents.size());
  Writer writer;
  writer.count(kMigrants);
  writer.count(chosen.size());
  for (const std::size_t k : chosen) writer.individual(residents[k]);
  write(writer, guide() == nullptr ? Promises() : guide()->promises());
  return writer.bytes();
}

int Island::accept(std::string_view migrants, Replacement replacement, std::uint64_t epoch,
                   bool knowledge) {
  Reader reader = opened(migrants, kMigrants, problem());
  std::vector<Individual> guests(reader.count(kMostMigrants));
  for (Individual& guest : guests) guest = reader.individual();
  const Promises promises = read_promises(reader);
  reader.finish();
  if (guide() != nullptr && knowledge) guide()->learn(promises);

  std::vector<Individual>& residents = population();
  const double worst = residents.empty() ? 0.0 : residents.back().fitness;
  const auto full = static_cast<std::size_t>(problem().settings.n_survivors);
  int n_stay = 0;
  for (Individual& guest : guests) {
    guest = solved(std::move(guest));
    if (!std::isfinite(guest.fitness)) continue;
    if (std::any_of(residents.begin(), residents.end(),
                    [&](const Individual& resident) { return resident.fitness == guest.fitness; }))
      continue;  // a copy
    if (replacement == Replacement::fair) {
      n_stay += residents.size() < full || guest.fitness < worst ? 1 : 0;
      residents.push_back(std::move(guest));
      continue;
    }
    if (residents.size() < full) {
      residents.push_back(std::move(guest));
    } else if (full > 1) {
      Random random(problem().settings.seed, kImmigration + static_cast<std::uint64_t>(n_stay),
                    epoch);
      const std::size_t place =
          replacement == Replacement::worst
              ? residents.size() - 1 - static_cast<std::size_t>(n_stay) % (full - 1)
              : static_cast<std::size_t>(random.integer(1, static_cast<int>(full) - 1));
      residents[place] = std::move(guest);
    }
    ++n_stay;
  }
  select_survivors();
  return n_stay;
}

std::string Island::save() const {
  Writer writer;
  writer.count(kSaved);
  write(writer, state());
  return writer.bytes();
}

void Island::load(std::string_view saved) {
  Reader reader = opened(saved, kSaved, problem());
  State state = read_state(reader);
  reader.finish();
  restore(std::move(state));
}

void Island::absorb(std::string_view saved) {
  Reader reader = opened(saved, kSaved, problem());
  const State other = read_state(reader);
  reader.finish();
  State mine = state();
  for (const Individual& each : other.population) mine.population.push_back(each);
  if (mine.guide && other.guide) {
    mine.guide->stage = std::min(mine.guide->stage, other.guide->stage);
    mine.guide->n_shares = 0;  // that of no guide: it begins its stage anew
    for (const auto& [goal, promise] : other.guide->promises)
      mine.guide->learned.emplace(goal, promise);
  }
  restore(std::move(mine));
  select_survivors();
  for (const std::vector<Law>* list : {&other.front, &other.runners_up})
    for (const Law& law : *list) archive().offer(law);
}

std::string Island::laws() const {
  Writer writer;
  writer.count(kLaws);
  const Archive& kept = Evolution::archive();
  writer.count(kept.front().size() + kept.runners_up().size());
  for (const std::vector<Law>* list : {&kept.front(), &kept.runners_up()})
    for (const Law& law : *list) writer.law(law);
  return writer.bytes();
}

void Island::add_laws(std::string_view laws) {
  Reader reader = opened(laws, kLaws, problem());
  std::vector<Law> list(reader.count(kMostLaws));
  for (Law& law : list) law = reader.law();
  reader.finish();
  for (const Law& law : list) archive().offer(law);
}

}  // namespace gsr
