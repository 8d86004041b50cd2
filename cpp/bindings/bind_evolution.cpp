#include <pybind11/eigen.h>
#include <pybind11/functional.h>

#include <cmath>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

#include "bindings.hpp"
#include "gsr/island.hpp"
#include "gsr/law_fit.hpp"

namespace gsr::bindings {
namespace {

// Square roots of weights, scaled to a mean square of 1.
Buffer roots_of(const std::optional<Array>& weights, const Columns& target) {
  if (!weights) return {};
  const Index n = target.n_rows();
  if (weights->ndim() != 1 || weights->shape(0) != n)
    throw std::invalid_argument("weights must be one number for each row");
  Buffer roots(static_cast<std::size_t>(target.stride()), 0.0);
  double sum = 0.0;
  for (Index i = 0; i < n; ++i) sum += weights->data()[i];
  for (Index i = 0; i < n; ++i)
    roots[static_cast<std::size_t>(i)] =
        std::sqrt(weights->data()[i] * static_cast<double>(n) / sum);
  return roots;
}

// A view of a longer table may have the right layout, and rows of that table behind its own.
bool is_zero_padded(const double* columns, Index n, Index n_columns) {
  for (Index j = 0; j < n_columns; ++j)
    for (Index i = n; i < padded(n); ++i)
      if (columns[j * padded(n) + i] != 0.0) return false;
  return true;
}

// Columns that other islands use too, in this process or another one: no copy is made. They must be
// padded with zeros to whole cache lines, and nobody may change them.
std::optional<Columns> shared_columns(const py::array& x) {
  const Index n = x.shape(0);
  const bool padded_columns = x.dtype().is(py::dtype::of<double>()) && x.strides(0) == 8 &&
                              x.strides(1) == 8 * padded(n) && !x.writeable() &&
                              reinterpret_cast<std::uintptr_t>(x.data()) % 64 == 0;
  if (!padded_columns || !is_zero_padded(static_cast<const double*>(x.data()), n, x.shape(1)))
    return std::nullopt;
  auto* owner = new py::object(x);
  const std::shared_ptr<const void> keeper(owner, [](const void* p) {
    const py::gil_scoped_acquire gil;
    delete static_cast<const py::object*>(p);
  });
  return Columns(static_cast<const double*>(x.data()), n, x.shape(1), keeper);
}

std::unique_ptr<Island> make_island(const py::array& x, const Array& y, const Table& table,
                                    const Table& target_table, const Settings& settings,
                                    const Constraints& constraints,
                                    const std::optional<Array>& weights) {
  if (x.ndim() != 2 || y.ndim() != 1 || x.shape(0) != y.shape(0))
    throw std::invalid_argument("x must be (rows, features) and y (rows)");
  const Index n = x.shape(0);
  Columns target(n, 1);
  std::copy_n(y.data(), n, target[0]);
  Buffer roots = roots_of(weights, target);
  std::optional<Columns> features = shared_columns(x);
  if (!features) features = columns_from(Table2D(x));
  return std::make_unique<Island>(Problem{Dataset{std::move(*features)}, Dataset{std::move(target)},
                                          table, target_table, settings, constraints,
                                          std::move(roots)});
}

py::bytes bytes_of(const std::string& text) { return py::bytes(text); }

template <typename Give>
auto giving_bytes(Give give) {
  return [give](Island& island) {
    std::string text;
    {
      const py::gil_scoped_release release;
      text = (island.*give)();
    }
    return bytes_of(text);
  };
}

template <typename Take>
auto taking_bytes(Take take) {
  return [take](Island& island, const py::bytes& bytes) {
    const auto view = static_cast<std::string_view>(bytes);
    const py::gil_scoped_release release;
    (island.*take)(view);
  };
}

void bind_island(py::module_& m) {
  py::register_exception<DamagedBytes>(m, "DamagedBytes", PyExc_ValueError);
  py::enum_<EmigrantSelection>(m, "EmigrantSelection")
      .value("best", EmigrantSelection::best)
      .value("random", EmigrantSelection::random);
  py::enum_<Replacement>(m, "Replacement")
      .value("fair", Replacement::fair)
      .value("worst", Replacement::worst)
      .value("random", Replacement::random);
  py::class_<Island, Evolution>(m, "Island")
      .def(py::init(&make_island), py::arg("x"), py::arg("y"), py::arg("table"),
           py::arg("target_table"), py::arg("settings"),
           py::arg_v("constraints", Constraints(), "..."), py::arg("weights") = py::none())
      .def(
          "emigrants",
          [](Island& island, int n, EmigrantSelection selection, std::uint64_t epoch) {
            return bytes_of(island.emigrants(n, selection, epoch));
          },
          py::arg("n"), py::arg("selection"), py::arg("epoch"))
      .def(
          "accept",
          [](Island& island, const py::bytes& migrants, Replacement replacement,
             std::uint64_t epoch, bool knowledge) {
            const auto view = static_cast<std::string_view>(migrants);
            const py::gil_scoped_release release;
            return island.accept(view, replacement, epoch, knowledge);
          },
          py::arg("migrants"), py::arg("replacement"), py::arg("epoch"),
          py::arg("knowledge") = true)
      .def("save", giving_bytes(&Island::save))
      .def("load", taking_bytes(&Island::load), py::arg("saved"))
      .def("absorb", taking_bytes(&Island::absorb), py::arg("saved"))
      .def("laws", giving_bytes(&Island::laws))
      .def("add_laws", taking_bytes(&Island::add_laws), py::arg("laws"));
}

std::vector<Basis> bases_from(const std::vector<NumberMatrix>& matrices, const Table& table,
                              int n_features) {
  std::vector<Basis> out;
  for (const NumberMatrix& matrix : matrices) out.push_back(from_matrix(matrix, table, n_features));
  return out;
}

Dimension dimension_from(const std::vector<double>& exponents) {
  if (exponents.size() > kMaxUnits) throw std::invalid_argument("too many base units");
  Dimension out;
  std::copy(exponents.begin(), exponents.end(), out.exponents.begin());
  return out;
}

void bind_constraints(py::module_& m) {
  m.attr("MAX_UNITS") = kMaxUnits;
  py::class_<Constraints>(m, "Constraints")
      .def(py::init<>())
      .def_readwrite("max_terms", &Constraints::max_terms)
      .def_readwrite("max_complexity", &Constraints::max_complexity)
      .def_readwrite("accept", &Constraints::accept)
      .def(
          "forbid",
          [](Constraints& c, int n_features, int feature, std::vector<bool> codes, bool division,
             bool squares, bool cubes) {
            c.forbidden.resize(static_cast<std::size_t>(n_features));
            c.forbidden.at(static_cast<std::size_t>(feature)) = {std::move(codes), division,
                                                                 squares, cubes};
          },
          py::arg("n_features"), py::arg("feature"), py::arg("codes"), py::arg("division"),
          py::arg("squares"), py::arg("cubes"))
      .def(
          "set_units",
          [](Constraints& c, const std::vector<std::vector<double>>& features,
             const std::vector<double>& target, bool constants_carry_units) {
            Units units;
            for (const auto& exponents : features)
              units.features.push_back(dimension_from(exponents));
            units.target = dimension_from(target);
            units.constants_carry_units = constants_carry_units;
            c.units = units;
          },
          py::arg("features"), py::arg("target"), py::arg("constants_carry_units"))
      .def(
          "require",
          [](Constraints& c, const NumberMatrix& matrix, const Table& table, int n_features) {
            c.required.push_back(canonical_up_to_factor(from_matrix(matrix, table, n_features),
                                                        table, kMaxVariables));
          },
          py::arg("matrix"), py::arg("table"), py::arg("n_features"))
      .def(
          "forbid_target",
          [](Constraints& c, std::vector<bool> codes, bool division, bool squares, bool cubes) {
            c.forbidden_target = {{std::move(codes), division, squares, cubes}};
          },
          py::arg("codes"), py::arg("division"), py::arg("squares"), py::arg("cubes"))
      .def(
          "admits",
          [](const Constraints& c, const NumberMatrix& matrix, const Table& table, int n_features) {
            return c.admits(from_matrix(matrix, table, n_features), table);
          },
          py::arg("matrix"), py::arg("table"), py::arg("n_features"))
      .def(
          "admits_law",
          [](const Constraints& c, const std::vector<NumberMatrix>& psi,
             const std::vector<NumberMatrix>& phi, int complexity, const Table& table,
             const Table& target_table, int n_features) {
            Law law;
            for (const Basis& b : bases_from(psi, target_table, 1))
              law.psi.push_back(canonical_up_to_factor(b, target_table, 1));
            for (const Basis& b : bases_from(phi, table, n_features))
              law.phi.push_back(canonical_up_to_factor(b, table, kMaxVariables));
            law.complexity = complexity;
            return c.admits_law(law, table, target_table);
          },
          py::arg("psi"), py::arg("phi"), py::arg("complexity"), py::arg("table"),
          py::arg("target_table"), py::arg("n_features"));
}

py::list matrices(const std::vector<Basis>& bases, NumberMatrix (*convert)(const Basis&)) {
  py::list out;
  for (const Basis& basis : bases) out.append(to_lists(convert(basis)));
  return out;
}

void bind_settings(py::module_& m) {
  py::enum_<SolverKind>(m, "SolverKind")
      .value("well_posed", SolverKind::well_posed)
      .value("printed", SolverKind::printed);
  py::class_<Settings>(m, "Settings")
      .def(py::init<>())
      .def_readwrite("population_size", &Settings::population_size)
      .def_readwrite("n_survivors", &Settings::n_survivors)
      .def_readwrite("p_crossover", &Settings::p_crossover)
      .def_readwrite("p_mutation", &Settings::p_mutation)
      .def_readwrite("n_mutated", &Settings::n_mutated)
      .def_readwrite("n_phi", &Settings::n_phi)
      .def_readwrite("n_psi", &Settings::n_psi)
      .def_readwrite("min_factors", &Settings::min_factors)
      .def_readwrite("max_factors", &Settings::max_factors)
      .def_readwrite("n_target_factors", &Settings::n_target_factors)
      .def_readwrite("min_multiplicity", &Settings::min_multiplicity)
      .def_readwrite("max_multiplicity", &Settings::max_multiplicity)
      .def_readwrite("transform_target", &Settings::transform_target)
      .def_readwrite("division", &Settings::division)
      .def_readwrite("differences", &Settings::differences)
      .def_readwrite("one", &Settings::one)
      .def_readwrite("constants", &Settings::constants)
      .def_readwrite("depth", &Settings::depth)
      .def_readwrite("guided", &Settings::guided)
      .def_readwrite("plain_stages_done", &Settings::plain_stages_done)
      .def_readwrite("solver", &Settings::solver)
      .def_readwrite("admm", &Settings::admm)
      .def_readwrite("epsilon", &Settings::epsilon)
      .def_readwrite("relax_factor", &Settings::relax_factor)
      .def_readwrite("relax_interval", &Settings::relax_interval)
      .def_readwrite("max_generations", &Settings::max_generations)
      .def_readwrite("max_evaluations", &Settings::max_evaluations)
      .def_readwrite("sublibraries", &Settings::sublibraries)
      .def_readwrite("cycle_full", &Settings::cycle_full)
      .def_readwrite("cycle_polynomial", &Settings::cycle_polynomial)
      .def_readwrite("cycle_trigonometric", &Settings::cycle_trigonometric)
      .def_readwrite("late_after", &Settings::late_after)
      .def_readwrite("late_stage", &Settings::late_stage)
      .def_readwrite("target_stage", &Settings::target_stage)
      .def_readwrite("seed", &Settings::seed)
      .def_readwrite("scan_seed", &Settings::scan_seed)
      .def_readwrite("scan_factor", &Settings::scan_factor)
      .def_readwrite("share", &Settings::share)
      .def_readwrite("n_shares", &Settings::n_shares)
      .def_readwrite("n_threads", &Settings::n_threads)
      .def_readwrite("max_bytes", &Settings::max_bytes);
}

void bind_law(py::module_& m) {
  py::class_<Law>(m, "Law")
      .def_property_readonly("phi", [](const Law& law) { return matrices(law.phi, to_matrix); })
      .def_property_readonly("psi",
                             [](const Law& law) { return matrices(law.psi, to_target_matrix); })
      .def_readonly("alpha", &Law::alpha)
      .def_readonly("beta", &Law::beta)
      .def_readonly("complexity", &Law::complexity)
      .def_readonly("transformed_error", &Law::transformed_error)
      .def_readonly("rmse", &Law::rmse)
      .def_readonly("exact", &Law::exact)
      .def_readonly("bits", &Law::bits);
}

// Rows and tables for fitting laws, kept alive as long as the fitter is.
class LawFitter {
 public:
  LawFitter(const Table2D& x, const Array& y, const Table& table, const Table& target_table,
            const std::optional<Array>& weights)
      : x_{columns_from(x)}, table_(table), target_table_(target_table) {
    if (y.ndim() != 1 || y.shape(0) != x_.n_rows())
      throw std::invalid_argument("x must be (rows, features) and y (rows)");
    y_.features.resize(y.shape(0), 1);
    std::copy_n(y.data(), y.shape(0), y_.features[0]);
    fit_ = std::make_unique<LawFit>(x_, y_, table_, target_table_, roots_of(weights, y_.features));
  }

  // (constants, error), or None if the left side is not supported.
  std::optional<std::pair<std::vector<double>, double>> refine(const std::vector<NumberMatrix>& psi,
                                                               const std::vector<NumberMatrix>& phi,
                                                               const std::vector<double>& alpha,
                                                               int steps,
                                                               const std::vector<bool>& free) {
    Law law = read(psi, phi, alpha);
    if (!fit_->supports(law)) return std::nullopt;
    fit_->refine(law, steps, free);
    std::vector<double> constants = law.alpha;
    for (const Basis& basis : law.phi)
      for (std::size_t k = 0; k < static_cast<std::size_t>(basis.n_weights()); ++k)
        if (basis.weights[k] != 0.0 && basis.weights[k] != 1.0)
          constants.push_back(basis.weights[k]);
    return std::pair{std::move(constants), law.rmse};
  }

  std::optional<Matrix> linearise(const std::vector<NumberMatrix>& psi,
                                  const std::vector<NumberMatrix>& phi,
                                  const std::vector<double>& alpha) {
    const Law law = read(psi, phi, alpha);
    if (!fit_->supports(law)) return std::nullopt;
    Matrix r = fit_->linearise(law);
    return r.size() > 0 ? std::optional<Matrix>(std::move(r)) : std::nullopt;
  }

 private:
  Law read(const std::vector<NumberMatrix>& psi, const std::vector<NumberMatrix>& phi,
           const std::vector<double>& alpha) const {
    if (phi.size() != alpha.size()) throw std::invalid_argument("one coefficient for each term");
    Law law;
    law.psi = bases_from(psi, target_table_, 1);
    law.phi = bases_from(phi, table_, x_.n_features());
    law.alpha = alpha;
    law.beta = {1.0};
    return law;
  }

  Dataset x_, y_;
  Table table_, target_table_;
  std::unique_ptr<LawFit> fit_;
};

void bind_law_fitter(py::module_& m) {
  py::class_<LawFitter>(m, "LawFitter")
      .def(py::init<const Table2D&, const Array&, const Table&, const Table&,
                    const std::optional<Array>&>(),
           py::arg("x"), py::arg("y"), py::arg("table"), py::arg("target_table"),
           py::arg("weights") = py::none())
      .def("refine", &LawFitter::refine, py::arg("psi"), py::arg("phi"), py::arg("alpha"),
           py::arg("steps"), py::arg("free") = std::vector<bool>())
      .def("linearise", &LawFitter::linearise, py::arg("psi"), py::arg("phi"), py::arg("alpha"));
}

}  // namespace

void bind_evolution(py::module_& m) {
  bind_settings(m);
  bind_law(m);
  bind_constraints(m);
  py::class_<Evolution>(m, "Evolution")
      .def(
          "start_from",
          [](Evolution& e, const std::vector<NumberMatrix>& psi,
             const std::vector<NumberMatrix>& phi) {
            const Problem& p = e.problem();
            return e.start_from(bases_from(psi, p.target_table, 1),
                                bases_from(phi, p.table, p.x.n_features()));
          },
          py::arg("psi"), py::arg("phi"), py::call_guard<py::gil_scoped_release>())
      .def("extend", &Evolution::extend, py::arg("generations"), py::arg("evaluations"))
      .def(
          "run",
          [](Evolution& e, double seconds, double work) {
            return std::string(name(e.run(seconds, work)));
          },
          py::arg("seconds"), py::arg("work") = std::numeric_limits<double>::infinity(),
          py::call_guard<py::gil_scoped_release>())
      .def("interrupt", &Evolution::interrupt)
      .def_property_readonly("work", &Evolution::work)
      .def_property_readonly("pursuits_done", &Evolution::pursuits_done)
      .def_property_readonly("stage", &Evolution::stage)
      .def_property_readonly("scanned_features", &Evolution::scanned_features)
      .def("front", [](const Evolution& e) { return e.archive_so_far().front(); })
      .def("runners_up", [](const Evolution& e) { return e.archive_so_far().runners_up(); })
      .def_property_readonly("generation", &Evolution::generation)
      .def_property_readonly("evaluations", &Evolution::evaluations)
      .def_property_readonly("n_unconverged", &Evolution::n_unconverged)
      .def_property_readonly("epsilon", &Evolution::epsilon)
      .def_property_readonly("status",
                             [](const Evolution& e) { return std::string(name(e.status())); })
      .def_property_readonly("best_rmse",
                             [](const Evolution& e) { return e.archive().best_rmse(); });
  bind_island(m);
  bind_law_fitter(m);
}

}  // namespace gsr::bindings
