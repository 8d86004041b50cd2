#include <Eigen/Core>
#include <string>

#include "bindings.hpp"
#include "gsr/vector_math.hpp"

#define GSR_TEXT_(x) #x
#define GSR_TEXT(x) GSR_TEXT_(x)

PYBIND11_MODULE(GSR_MODULE, m) {
  namespace b = gsr::bindings;
  m.attr("variant") = GSR_VARIANT;
  m.attr("compiler") = __VERSION__;
  m.attr("eigen_version") = GSR_TEXT(EIGEN_WORLD_VERSION) "." GSR_TEXT(
      EIGEN_MAJOR_VERSION) "." GSR_TEXT(EIGEN_MINOR_VERSION);
  m.def("instruction_set", &gsr::vector_math::instruction_set);
  b::bind_library(m);
  b::bind_encoding(m);
  b::bind_admm(m);
  b::bind_evolution(m);
  b::bind_bench(m);
}
