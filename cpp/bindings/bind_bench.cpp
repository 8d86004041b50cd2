// Timings taken inside the core, for `gsr bench --micro`.
#include <algorithm>
#include <chrono>
#include <limits>

#include "bindings.hpp"
#include "gsr/evolution.hpp"

namespace gsr::bindings {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double time_transformation(const Transformation& t, const Array& x, int repeats) {
  const auto n = static_cast<std::size_t>(x.size());
  Buffer in(x.data(), x.data() + n), out(n);
  const auto start = Clock::now();
  for (int i = 0; i < repeats; ++i) t.value(in.data(), out.data(), n);
  return seconds_since(start);
}

// Seconds and function nodes of `count` random basis functions, rows built on the way.
py::tuple time_bases(const Table2D& x, const Table& table, int count, std::uint64_t seed) {
  const Dataset data{columns_from(x)};
  const Settings settings;
  Random random(seed, 0, 0);
  std::vector<Basis> bases;
  long nodes = 0;
  for (int i = 0; i < count; ++i) {
    bases.push_back(random_basis(random, table.all(), data.n_features(), settings));
    nodes += function_nodes(bases.back(), table);
  }
  Buffer out(static_cast<std::size_t>(data.features.stride()));
  int finite = 0;
  const auto start = Clock::now();
  Evaluator evaluator(data, table, settings.max_bytes);
  for (const Basis& basis : bases) finite += evaluator.evaluate(basis, out.data()) ? 1 : 0;
  return py::make_tuple(seconds_since(start), nodes, finite);
}

// Seconds for `count` random individuals: made, evaluated, solved.
double time_individuals(const Table2D& x, const Array& y, const Table& table,
                        const Table& target_table, const Settings& settings, int count) {
  Columns target(x.shape(0), 1);
  std::copy_n(y.data(), x.shape(0), target[0]);
  const Problem problem{Dataset{columns_from(x)}, Dataset{std::move(target)}, table, target_table,
                        settings};
  IndividualSolver solver(problem, settings.max_bytes);
  const Sublibrary sublibrary{table.all(), target_table.all()};
  const auto start = Clock::now();
  for (int i = 0; i < count; ++i) {
    Random random(settings.seed, 0, static_cast<std::uint64_t>(i));
    solver.phi().clear();
    solver.psi().clear();
    complete_at_random(random, sublibrary, problem, solver.phi(), solver.psi());
    solver.solve(std::numeric_limits<double>::infinity(), 0.0);
  }
  return seconds_since(start);
}

}  // namespace

void bind_bench(py::module_& m) {
  m.def("time_transformation", &time_transformation, py::arg("transformation"), py::arg("x"),
        py::arg("repeats"));
  m.def("time_bases", &time_bases, py::arg("x"), py::arg("table"), py::arg("count"),
        py::arg("seed"));
  m.def("time_individuals", &time_individuals, py::arg("x"), py::arg("y"), py::arg("table"),
        py::arg("target_table"), py::arg("settings"), py::arg("count"));
}

}  // namespace gsr::bindings
