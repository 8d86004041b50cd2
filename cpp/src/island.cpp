#include "gsr/island.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <set>
#include <stdexcept>

#include "gsr/random.hpp"

namespace gsr {
namespace {

// First byte of each kind of bytes; it changes with the format.
constexpr std::uint64_t kMigrants = 2, kSaved = 20, kLaws = 34;
constexpr std::uint64_t kAnyFormat = 127;
constexpr std::uint64_t kMostMigrants = 10000, kMostLaws = 100000;
// Random streams, apart from those of births, whose first number is a generation.
constexpr std::uint64_t kEmigration = 1ull << 40, kImmigration = 1ull << 41;

// Laws that travel: the front, and so many of those beaten by a little.
constexpr std::size_t kSharedRunnersUp = 10;

// What numbers in basis matrices mean.
std::uint64_t print_of(const Problem& problem) {
  std::string names = std::to_string(problem.x.n_features());
  for (const Table* table : {&problem.table, &problem.target_table})
    for (int code = 0; code < table->size(); ++code) names += '\n' + (*table)[code].name;
  return fingerprint(names);
}

Writer begun(std::uint64_t format, const Problem& problem) {
  Writer writer;
  writer.count(format);
  writer.fixed(print_of(problem));
  return writer;
}

Reader opened(std::string_view bytes, std::uint64_t format, const Problem& problem) {
  Reader reader(bytes, problem);
  if (reader.count(kAnyFormat) != format)
    throw DamagedBytes("these bytes have another format; were they made by another version?");
  if (reader.fixed() != print_of(problem))
    throw DamagedBytes("these bytes belong to other features or transformations");
  return reader;
}

std::vector<const Law*> laws_that_travel(const Archive& archive) {
  std::vector<const Law*> out;
  for (const Law& law : archive.front()) out.push_back(&law);
  for (const Law& law : archive.runners_up()) {
    if (out.size() == archive.front().size() + kSharedRunnersUp) break;
    out.push_back(&law);
  }
  return out;
}

// Positions of `n` of `size`, in random order.
std::vector<std::size_t> drawn(Random random, std::size_t n, std::size_t size) {
  std::vector<std::size_t> order(size);
  std::iota(order.begin(), order.end(), std::size_t{0});
  n = std::min(n, size);
  for (std::size_t k = 0; k < n; ++k)
    std::swap(order[k], order[random.integer(static_cast<int>(k), static_cast<int>(size) - 1)]);
  order.resize(n);
  return order;
}

}  // namespace

std::string Island::emigrants(int n, EmigrantSelection selection, std::uint64_t epoch) {
  const InUse in_use(in_use_);
  if (n < 0) throw std::invalid_argument("n must be at least 0");
  const std::vector<Individual>& residents = population();
  std::vector<std::size_t> chosen(std::min(static_cast<std::size_t>(n), residents.size()));
  std::iota(chosen.begin(), chosen.end(), std::size_t{0});
  if (selection == EmigrantSelection::random)
    chosen =
        drawn(Random(problem().settings.seed, kEmigration, epoch), chosen.size(), residents.size());
  Writer writer = begun(kMigrants, problem());
  writer.count(chosen.size());
  for (const std::size_t k : chosen) writer.individual(residents[k]);
  writer.flag(guide() != nullptr);
  if (guide() != nullptr) write_knowledge(writer);
  return writer.bytes();
}

// What the guide has learned about left sides, and laws: both are of use to other guides.
void Island::write_knowledge(Writer& writer) {
  write(writer, guide()->promises());
  const std::vector<const Law*> laws = laws_that_travel(archive());
  writer.count(laws.size());
  for (const Law* law : laws) {
    writer.law(*law);
    writer.count(static_cast<std::uint64_t>(guide()->neighbours_seen(*law)));
  }
}

Island::Knowledge Island::read_knowledge(Reader& reader) {
  Knowledge out;
  out.promises = read_promises(reader);
  for (std::uint64_t left = reader.count(kMostLaws); left > 0; --left) {
    Law law = reader.law();
    out.laws.push_back({std::move(law), static_cast<int>(reader.count(kAnyFormat))});
  }
  return out;
}

// Islands may differ in what they admit.
void Island::learn(const Knowledge& knowledge) {
  guide()->learn(knowledge.promises);
  for (const auto& [law, seen] : knowledge.laws) {
    guide()->note_neighbours_seen(law, seen);
    if (archive().holds(law) ||
        !problem().constraints.admits_law(law, problem().table, problem().target_table))
      continue;
    guide()->note_from_elsewhere(law);
    archive().offer(law);
  }
}

int Island::accept(std::string_view migrants, Replacement replacement, std::uint64_t epoch,
                   bool knowledge) {
  const InUse in_use(in_use_);
  Reader reader = opened(migrants, kMigrants, problem());
  std::vector<Individual> guests(reader.count(kMostMigrants));
  for (Individual& guest : guests) guest = reader.individual();
  std::optional<Knowledge> known;
  if (reader.flag()) known = read_knowledge(reader);
  reader.finish();
  if (guide() != nullptr && knowledge && known) learn(*known);
  return settle(guests, replacement, epoch);
}

int Island::settle(std::vector<Individual>& guests, Replacement replacement, std::uint64_t epoch) {
  std::vector<Individual>& residents = population();
  const auto full = static_cast<std::size_t>(problem().settings.n_survivors);
  std::set<double> settled;
  std::uint64_t n_placed = 0;
  for (Individual& guest : guests) {
    guest = solved(std::move(guest));
    if (!std::isfinite(guest.fitness)) continue;
    if (std::any_of(residents.begin(), residents.end(),
                    [&](const Individual& resident) { return resident.fitness == guest.fitness; }))
      continue;  // a copy
    settled.insert(guest.fitness);
    if (replacement == Replacement::fair || residents.size() < full) {
      residents.push_back(std::move(guest));
    } else if (full > 1) {
      Random random(problem().settings.seed, kImmigration + n_placed, epoch);
      const std::size_t place =
          replacement == Replacement::worst
              ? residents.size() - 1 - static_cast<std::size_t>(n_placed) % (full - 1)
              : static_cast<std::size_t>(random.integer(1, static_cast<int>(full) - 1));
      residents[place] = std::move(guest);
    }
    ++n_placed;
  }
  select_survivors();
  return static_cast<int>(std::count_if(
      residents.begin(), residents.end(),
      [&](const Individual& resident) { return settled.count(resident.fitness) != 0; }));
}

std::string Island::save() const {
  const InUse in_use(in_use_);
  Writer writer = begun(kSaved, problem());
  write(writer, state());
  return writer.bytes();
}

void Island::load(std::string_view saved) {
  const InUse in_use(in_use_);
  Reader reader = opened(saved, kSaved, problem());
  State state = read_state(reader);
  reader.finish();
  restore(std::move(state));
}

void Island::absorb(std::string_view saved) {
  const InUse in_use(in_use_);
  Reader reader = opened(saved, kSaved, problem());
  const State other = read_state(reader);
  reader.finish();
  State mine = state();
  for (const Individual& each : other.population) mine.population.push_back(each);
  if (mine.guide && other.guide) {
    mine.guide->stage = std::min(mine.guide->stage, other.guide->stage);
    mine.guide->n_shares = 0;  // that of no guide: it begins its stage anew
    for (const Promises* list : {&other.guide->promises, &other.guide->learned})
      for (const auto& [goal, promise] : *list) mine.guide->learned.emplace(goal, promise);
  }
  restore(std::move(mine));
  select_survivors();
  for (const std::vector<Law>* list : {&other.front, &other.runners_up})
    for (const Law& law : *list) archive().offer(law);
}

std::string Island::laws() const {
  const InUse in_use(in_use_);
  Writer writer = begun(kLaws, problem());
  const Archive kept = archive_so_far();
  writer.count(kept.front().size() + kept.runners_up().size());
  for (const std::vector<Law>* list : {&kept.front(), &kept.runners_up()})
    for (const Law& law : *list) writer.law(law);
  return writer.bytes();
}

void Island::add_laws(std::string_view laws) {
  const InUse in_use(in_use_);
  Reader reader = opened(laws, kLaws, problem());
  std::vector<Law> list(reader.count(kMostLaws));
  for (Law& law : list) law = reader.law();
  reader.finish();
  for (const Law& law : list) archive().offer(law);
}

}  // namespace gsr
