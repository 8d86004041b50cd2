#include <algorithm>
#include <stdexcept>
#include <string>

#include "bindings.hpp"
#include "gsr/encoding.hpp"
#include "gsr/evaluate.hpp"

namespace gsr::bindings {
namespace {

// Values of several basis functions, one column each, over rows of X; not finite where undefined.
py::array_t<double> evaluate_bases(const Table& table, const std::vector<NumberMatrix>& matrices,
                                   const Table2D& x) {
  const Dataset data{columns_from(x)};
  std::vector<Basis> bases;
  for (const NumberMatrix& matrix : matrices)
    bases.push_back(from_matrix(matrix, table, data.n_features()));

  const Index n = data.n_rows();
  Evaluator evaluator(data, table, std::size_t{1} << 28);
  py::array_t<double, py::array::f_style> out({n, static_cast<Index>(bases.size())});
  Buffer column(static_cast<std::size_t>(padded(n)));
  double* const values = out.mutable_data();
  {
    const py::gil_scoped_release release;  // own transformations take it back
    for (std::size_t j = 0; j < bases.size(); ++j) {
      evaluator.evaluate(bases[j], column.data());
      std::copy_n(column.data(), n, values + static_cast<Index>(j) * n);
    }
  }
  return out;
}

}  // namespace

py::list to_lists(const NumberMatrix& matrix) {
  py::list rows;
  for (const auto& entries : matrix) {
    const bool weighted =
        entries.size() > 1 && entries[1] == static_cast<double>(ArgumentType::weighted);
    const std::size_t integers = weighted ? 2 + (entries.size() - 2) / 2 : entries.size();
    py::list row;
    for (std::size_t k = 0; k < entries.size(); ++k) {
      if (k < integers) {
        row.append(py::int_(static_cast<int>(entries[k])));
      } else {
        row.append(py::float_(entries[k]));
      }
    }
    rows.append(std::move(row));
  }
  return rows;
}

void bind_encoding(py::module_& m) {
  m.attr("ONE") = static_cast<int>(kOne);
  m.attr("MAX_ROWS") = kMaxRows;
  m.attr("MAX_VARIABLES") = kMaxVariables;
  m.def("evaluate_bases", &evaluate_bases, py::arg("table"), py::arg("matrices"), py::arg("x"));
  m.def(
      "canonical",
      [](const Table& table, const NumberMatrix& matrix, int n_features) {
        const Basis raw = from_matrix(matrix, table, n_features);
        const bool target = matrix[0].size() == 1;
        const int width = static_cast<int>(matrix[0].size()) - 2;
        const Basis basis = canonical(raw, table, target ? 1 : std::clamp(width, 1, kMaxVariables));
        return to_lists(target ? to_target_matrix(basis) : to_matrix(basis));
      },
      py::arg("table"), py::arg("matrix"), py::arg("n_features"));
  m.def(
      "complexity",
      [](const Table& table, const NumberMatrix& matrix, int n_features) {
        return complexity(from_matrix(matrix, table, n_features), table);
      },
      py::arg("table"), py::arg("matrix"), py::arg("n_features"));
}

}  // namespace gsr::bindings
