#include <Eigen/Core>
#include <limits>
#include <stdexcept>
#include <string>

#include "bindings.hpp"
#include "gsr/admm.hpp"
#include "gsr/lasso.hpp"

namespace gsr::bindings {
namespace {

// Batches cross as (problems, columns, rows): each column is contiguous.
using Batch = py::array_t<double, py::array::c_style | py::array::forcecast>;

struct Sizes {
  Index problems, n_phi, n_psi, rows;
};

Sizes check(const Batch& x, const Batch& y) {
  if (x.ndim() != 3 || y.ndim() != 3 || x.shape(0) != y.shape(0) || x.shape(2) != y.shape(2))
    throw std::invalid_argument("X and Y must be (problems, columns, rows) with equal ends");
  return {x.shape(0), x.shape(1), y.shape(1), x.shape(2)};
}

py::array_t<double> zeros(Index a, Index b) {
  py::array_t<double> out({a, b});
  std::fill_n(out.mutable_data(), a * b, 0.0);
  return out;
}

struct Infos {
  std::vector<std::string> status;
  std::vector<int> iterations;
  std::vector<double> change;

  void add(const admm::Info& info) {
    status.emplace_back(admm::name(info.status));
    iterations.push_back(info.iterations);
    change.push_back(info.change);
  }
  void put(py::dict& out) const {
    out["status"] = status;
    out["iterations"] = iterations;
    out["change"] = change;
  }
};

// z and u of an earlier solve, or an empty array.
Batch check_start(const py::object& start, Index problems, Index n) {
  if (start.is_none()) return Batch();
  const auto given = start.cast<Batch>();
  if (given.ndim() != 3 || given.shape(0) != problems || given.shape(1) != 2 || given.shape(2) != n)
    throw std::invalid_argument("start must be (problems, 2, columns): z and u");
  return given;
}

py::dict printed(const Batch& x, const Batch& y, const admm::Settings& settings,
                 const py::object& start) {
  const Sizes s = check(x, y);
  const Index n = s.n_phi + s.n_psi;
  auto w = zeros(s.problems, n), z = zeros(s.problems, n), u = zeros(s.problems, n);
  const Batch warm_start = check_start(start, s.problems, n);
  const bool warm = warm_start.size() > 0;
  Infos infos;
  {
    py::gil_scoped_release release;
    admm::Workspace workspace;
    Matrix a(s.rows, n), gram(n, n);
    for (Index i = 0; i < s.problems; ++i) {
      a.leftCols(s.n_phi) =
          Eigen::Map<const Matrix>(x.data() + i * s.n_phi * s.rows, s.rows, s.n_phi);
      a.rightCols(s.n_psi) =
          -Eigen::Map<const Matrix>(y.data() + i * s.n_psi * s.rows, s.rows, s.n_psi);
      gram.noalias() = a.transpose() * a;
      workspace.resize(n, 0);
      if (warm) {
        const double* zu = warm_start.data() + i * 2 * n;
        workspace.z = Eigen::Map<const Vector>(zu, n);
        workspace.u = Eigen::Map<const Vector>(zu + n, n);
      }
      infos.add(admm::solve_printed(gram, settings, workspace, warm));
      std::copy_n(workspace.w.data(), n, w.mutable_data() + i * n);
      std::copy_n(workspace.z.data(), n, z.mutable_data() + i * n);
      std::copy_n(workspace.u.data(), n, u.mutable_data() + i * n);
    }
  }
  py::dict out;
  out["w"] = w;
  out["z"] = z;
  out["u"] = u;
  infos.put(out);
  return out;
}

// One problem of the well-posed form after another, with kept storage.
class WellPosed {
 public:
  explicit WellPosed(const Sizes& s) : sizes_(s), column_(s.rows, 1) {
    lasso_.resize(s.n_phi + 1, s.n_psi);
    fit_.resize(s.n_phi + 1 + s.n_psi, s.n_phi + 1, s.n_psi);
  }

  admm::Info solve(const double* x, const double* y, const admm::Settings& settings,
                   const double* start, double* alpha, double* beta, double* z, double* u) {
    reduced_.reset(sizes_.rows, sizes_.n_phi + 1, sizes_.n_psi);
    std::fill_n(column_[0], sizes_.rows, 1.0);
    reduced_.push_column(column_[0], -1);
    for (Index j = 0; j < sizes_.n_phi; ++j)
      reduced_.push_column(x + j * sizes_.rows, static_cast<int>(j));
    for (Index k = 0; k < sizes_.n_psi; ++k) reduced_.push_target(load(y, k), 1.0);
    reduced_.finish();
    if (reduced_.n_targets() == 0 || reduced_.n_columns() < 2) return degenerate();
    if (start != nullptr) lasso_.start_from(reduced_, start, start + sizes_.n_phi);
    const admm::Info info = lasso_.select(reduced_, settings, subset_, start != nullptr);
    fit_.solve(reduced_, subset_);
    error_ = fit_.error();
    for (std::size_t i = 0; i < subset_.size(); ++i)
      alpha[reduced_.member(subset_[i]) + 1] = fit_.alpha()(static_cast<Index>(i));
    for (Index j = 1; j < reduced_.n_columns(); ++j) {
      z[reduced_.member(j)] = lasso_.coefficients()(j - 1);
      u[reduced_.member(j)] = lasso_.duals()(j - 1);
    }
    for (Index k = 0; k < reduced_.n_targets(); ++k)
      beta[reduced_.target_member(k)] = fit_.beta()(k);
    return info;
  }
  double error() const { return error_; }

 private:
  admm::Info degenerate() {
    error_ = std::numeric_limits<double>::quiet_NaN();
    admm::Info info;
    info.status = admm::Status::degenerate;
    return info;
  }
  const double* load(const double* columns, Index j) {
    std::copy_n(columns + j * sizes_.rows, sizes_.rows, column_[0]);
    return column_[0];
  }

  Sizes sizes_;
  Columns column_;
  Reduced reduced_;
  ConstrainedLasso lasso_;
  SubsetFit fit_;
  std::vector<Index> subset_;
  double error_ = 0.0;
};

py::dict well_posed(const Batch& x, const Batch& y, const admm::Settings& settings,
                    const py::object& start) {
  const Sizes s = check(x, y);
  const Batch warm_start = check_start(start, s.problems, s.n_phi);
  auto alpha = zeros(s.problems, s.n_phi + 1), beta = zeros(s.problems, s.n_psi);
  auto z = zeros(s.problems, s.n_phi), u = zeros(s.problems, s.n_phi);
  std::vector<double> error;
  Infos infos;
  {
    py::gil_scoped_release release;
    WellPosed solver(s);
    for (Index i = 0; i < s.problems; ++i) {
      infos.add(
          solver.solve(x.data() + i * s.n_phi * s.rows, y.data() + i * s.n_psi * s.rows, settings,
                       warm_start.size() == 0 ? nullptr : warm_start.data() + i * 2 * s.n_phi,
                       alpha.mutable_data() + i * (s.n_phi + 1), beta.mutable_data() + i * s.n_psi,
                       z.mutable_data() + i * s.n_phi, u.mutable_data() + i * s.n_phi));
      error.push_back(solver.error());
    }
  }
  py::dict out;
  out["alpha"] = alpha;  // the constant first
  out["beta"] = beta;
  out["z"] = z;  // penalised, of centred columns of unit norm
  out["u"] = u;
  out["error"] = error;
  infos.put(out);
  return out;
}

}  // namespace

void bind_admm(py::module_& m) {
  py::class_<admm::Settings>(m, "AdmmSettings")
      .def_static("printed", &admm::printed_settings)
      .def_static("well_posed", &admm::well_posed_settings)
      .def_readwrite("lam", &admm::Settings::lambda)
      .def_readwrite("rho", &admm::Settings::rho)
      .def_readwrite("delta", &admm::Settings::delta)
      .def_readwrite("max_iterations", &admm::Settings::max_iterations)
      .def_readwrite("relaxation", &admm::Settings::relaxation);
  m.def("admm_printed", &printed, py::arg("x"), py::arg("y"), py::arg("settings"),
        py::arg("start") = py::none());
  m.def("admm_well_posed", &well_posed, py::arg("x"), py::arg("y"), py::arg("settings"),
        py::arg("start") = py::none());
}

}  // namespace gsr::bindings
