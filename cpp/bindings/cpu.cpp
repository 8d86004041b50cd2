// Tells which build of the core this processor can run; a module of its own, since it must load on
// every processor before a build is chosen.
#include <pybind11/pybind11.h>

#include "supports_v3.hpp"

PYBIND11_MODULE(_cpu, m) {
  m.def("supports_v3", &gsr::supports_v3, "Whether the processor runs x86-64-v3 code.");
}
