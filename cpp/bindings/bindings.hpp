// One register function per concept; module.cpp lists them.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "gsr/dataset.hpp"
#include "gsr/encoding.hpp"

namespace gsr::bindings {

namespace py = pybind11;

using Array = py::array_t<double, py::array::c_style | py::array::forcecast>;
// Column-major tables cross without a transpose.
using Table2D = py::array_t<double, py::array::f_style | py::array::forcecast>;

void bind_library(py::module_& m);
void bind_encoding(py::module_& m);
void bind_admm(py::module_& m);
void bind_evolution(py::module_& m);
void bind_bench(py::module_& m);

Columns columns_from(const Table2D& x);
// A matrix as Python lists; only weights are floats.
py::list to_lists(const NumberMatrix& matrix);
py::array_t<double> to_array(const double* data, Index n);

}  // namespace gsr::bindings
