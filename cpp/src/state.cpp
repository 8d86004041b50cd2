#include "gsr/state.hpp"

#include <limits>

namespace gsr {
namespace {

constexpr std::uint64_t kMost = 1u << 20, kMostPromises = 1u << 14;
constexpr std::int64_t kAnyInt = std::numeric_limits<int>::max();
constexpr std::int64_t kMostGenerations = 1 << 30;  // more can be counted from there
constexpr double kMostWork = 1e300;
constexpr std::int64_t kAnyLong = std::numeric_limits<std::int64_t>::max() / 2;

// What rounding leaves of an exact fit may be a little below 0.
double read_promise(Reader& reader) { return reader.real(-1.0, 1.0); }

template <typename T, typename Write>
void write_list(Writer& writer, const std::vector<T>& list, Write write) {
  writer.count(list.size());
  for (const T& each : list) write(each);
}

template <typename Read>
auto read_list(Reader& reader, Read read) {
  std::vector<decltype(read())> out;
  const std::uint64_t size = reader.count(kMost);
  for (std::uint64_t k = 0; k < size; ++k) out.push_back(read());
  return out;
}

void write_prints(Writer& writer, const std::set<std::uint64_t>& prints) {
  writer.count(prints.size());
  for (const std::uint64_t print : prints) writer.fixed(print);
}

std::set<std::uint64_t> read_prints(Reader& reader) {
  std::set<std::uint64_t> out;
  for (std::uint64_t left = reader.count(kMost); left > 0; --left) out.insert(reader.fixed());
  return out;
}

void write_guide(Writer& writer, const GuideState& state) {
  writer.number(state.share);
  writer.number(state.n_shares);
  writer.count(state.stage);
  writer.count(state.n_done);
  writer.flag(state.simple_done);
  writer.real(state.tidied);
  writer.number(state.evaluations);
  write(writer, state.promises);
  write(writer, state.learned);
  write_list(writer, state.of_goals, [&](double promise) { writer.real(promise); });
  write_prints(writer, state.extended);
  write_prints(writer, state.from_elsewhere);
  writer.real(state.since_neighbours);
}

GuideState read_guide(Reader& reader) {
  GuideState out;
  out.share = static_cast<int>(reader.number(0, kAnyInt));
  out.n_shares = static_cast<int>(reader.number(1, kAnyInt));
  out.stage = reader.count(kMost);
  out.n_done = reader.count(kMost);
  out.simple_done = reader.flag();
  out.tidied = reader.real();
  out.evaluations = static_cast<long>(reader.number(0, kAnyLong));
  out.promises = read_promises(reader);
  out.learned = read_promises(reader);
  out.of_goals = read_list(reader, [&] { return read_promise(reader); });
  out.extended = read_prints(reader);
  out.from_elsewhere = read_prints(reader);
  out.since_neighbours = reader.real(-kMostWork, kMostWork);
  return out;
}

}  // namespace

void write(Writer& writer, const Promises& promises) {
  writer.count(promises.size());
  for (const auto& [goal, promise] : promises) {
    writer.fixed(goal);
    writer.real(promise);
  }
}

Promises read_promises(Reader& reader) {
  Promises out;
  const std::uint64_t size = reader.count(kMostPromises);
  for (std::uint64_t k = 0; k < size; ++k) {
    const std::uint64_t goal = reader.fixed();
    out[goal] = read_promise(reader);
  }
  return out;
}

void write(Writer& writer, const State& state) {
  writer.number(state.generation);
  writer.number(state.exact_since);
  writer.number(state.first_birth);
  writer.number(state.next_birth);
  writer.number(state.evaluations);
  writer.number(state.bred);
  writer.number(state.n_unconverged);
  writer.real(state.guided_work);
  writer.real(state.work);
  writer.number(state.ended);
  const auto individual = [&](const Individual& each) { writer.individual(each); };
  const auto law = [&](const Law& each) { writer.law(each); };
  write_list(writer, state.population, individual);
  write_list(writer, state.births, individual);
  write_list(writer, state.front, law);
  write_list(writer, state.runners_up, law);
  write_prints(writer, state.refused);
  writer.flag(state.guide.has_value());
  if (state.guide) write_guide(writer, *state.guide);
}

State read_state(Reader& reader) {
  State out;
  out.generation = static_cast<int>(reader.number(-1, kMostGenerations));
  out.exact_since = static_cast<int>(reader.number(-1, kMostGenerations));
  out.first_birth = static_cast<int>(reader.number(0, kAnyInt));
  out.next_birth = static_cast<int>(reader.number(-1, kAnyInt));
  out.evaluations = static_cast<long>(reader.number(0, kAnyLong));
  out.bred = static_cast<long>(reader.number(0, kAnyLong));
  out.n_unconverged = static_cast<long>(reader.number(0, kAnyLong));
  out.guided_work = reader.real(0.0, kMostWork);
  out.work = reader.real(0.0, kMostWork);
  out.ended = static_cast<int>(reader.number(0, 2));
  const auto individual = [&] { return reader.individual(); };
  const auto law = [&] { return reader.law(); };
  out.population = read_list(reader, individual);
  out.births = read_list(reader, individual);
  out.front = read_list(reader, law);
  out.runners_up = read_list(reader, law);
  out.refused = read_prints(reader);
  if (reader.flag()) out.guide = read_guide(reader);
  return out;
}

}  // namespace gsr
