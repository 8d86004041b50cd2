#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>

#include "bindings.hpp"
#include "gsr/library.hpp"

namespace gsr::bindings {

Columns columns_from(const Table2D& x) {
  if (x.ndim() != 2) throw std::invalid_argument("expected a table of rows and columns");
  Columns columns(x.shape(0), x.shape(1));
  const Index n = x.shape(0);
  for (Index j = 0; j < x.shape(1); ++j) std::copy_n(x.data() + j * n, n, columns[j]);
  return columns;
}

py::array_t<double> to_array(const double* data, Index n) {
  py::array_t<double> out(n);
  std::copy_n(data, n, out.mutable_data());
  return out;
}

namespace {

// A Python callable as an element-wise function; the search calls it from threads without the GIL.
ElementWise from_callable(py::object callable, std::string name) {
  // Destroyed wherever the last copy of the table goes, which may be outside the GIL.
  auto held = std::shared_ptr<py::object>(new py::object(std::move(callable)), [](py::object* o) {
    py::gil_scoped_acquire gil;
    delete o;
  });
  return [held, name](const double* x, double* out, std::size_t n) {
    py::gil_scoped_acquire gil;
    const auto result = (*held)(to_array(x, static_cast<Index>(n))).cast<Array>();
    if (result.ndim() != 1 || static_cast<std::size_t>(result.size()) != n)
      throw std::invalid_argument("transformation '" + name + "' did not return one value per row");
    std::copy_n(result.data(), n, out);
  };
}

Transformation make_custom(const std::string& name, const std::string& text,
                           const std::string& sympy, const py::object& value,
                           const py::object& derivative, const py::object& inverse,
                           const std::string& inverse_sympy, int cost) {
  Transformation t;
  t.name = name;
  t.text = text;
  t.sympy = sympy;
  t.inverse_sympy = inverse_sympy;
  t.domain = "as the function defines it";
  t.cost = cost;
  t.custom = true;
  t.value = from_callable(value, name);
  if (!derivative.is_none()) t.derivative = from_callable(derivative, name);
  if (!inverse.is_none()) t.inverse = from_callable(inverse, name);
  return t;
}

py::array_t<double> apply(const ElementWise& function, const Array& x, const std::string& what) {
  if (!function) throw std::invalid_argument(what);
  py::array_t<double> out(x.size());
  function(x.data(), out.mutable_data(), static_cast<std::size_t>(x.size()));
  return out;
}

const char* family_name(Family family) {
  switch (family) {
    case Family::constant: return "constant";
    case Family::polynomial: return "polynomial";
    case Family::trigonometric: return "trigonometric";
    default: return "other";
  }
}

}  // namespace

void bind_library(py::module_& m) {
  py::class_<Transformation>(m, "Transformation")
      .def_static("custom", &make_custom, py::arg("name"), py::arg("text"), py::arg("sympy"),
                  py::arg("value"), py::arg("derivative") = py::none(),
                  py::arg("inverse") = py::none(), py::arg("inverse_sympy") = "",
                  py::arg("cost") = 1)
      .def_readonly("name", &Transformation::name)
      .def_readonly("text", &Transformation::text)
      .def_readonly("sympy", &Transformation::sympy)
      .def_readonly("code", &Transformation::code)
      .def_readonly("inverse_sympy", &Transformation::inverse_sympy)
      .def_readonly("domain", &Transformation::domain)
      .def_readonly("cost", &Transformation::cost)
      .def_readonly("power", &Transformation::power)
      .def_readonly("mirror", &Transformation::mirror)
      .def_readonly("period", &Transformation::period)
      .def_property_readonly("family",
                             [](const Transformation& t) { return family_name(t.family); })
      .def_property_readonly(
          "has_derivative", [](const Transformation& t) { return static_cast<bool>(t.derivative); })
      .def_property_readonly("has_inverse",
                             [](const Transformation& t) { return static_cast<bool>(t.inverse); })
      .def("value", [](const Transformation& t, const Array& x) { return apply(t.value, x, ""); })
      .def("derivative",
           [](const Transformation& t, const Array& x) {
             return apply(t.derivative, x, t.name + " has no derivative");
           })
      .def("inverse", [](const Transformation& t, const Array& v) {
        return apply(t.inverse, v, t.name + " has no inverse");
      });

  m.def("builtin_transformations", [] { return builtin_transformations(); });

  py::class_<Table>(m, "Table")
      .def(py::init<std::vector<Transformation>>(), py::arg("entries"))
      .def("__len__", &Table::size)
      .def("__getitem__",
           [](const Table& table, int code) {
             if (code < 0 || code >= table.size()) throw py::index_error("no such code");
             return table[code];
           })
      .def("polynomial", &Table::polynomial)
      .def("trigonometric", &Table::trigonometric);
}

}  // namespace gsr::bindings
