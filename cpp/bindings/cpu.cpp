// Tells which build of the core this processor can run; a module of its own, since it must load on
// every processor before a build is chosen.
#include <pybind11/pybind11.h>

namespace {

bool supports_v3() {
#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#if defined(__clang__) || __GNUC__ < 12
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
         __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
#else
  return __builtin_cpu_supports("x86-64-v3");
#endif
#else
  return false;
#endif
}

}  // namespace

PYBIND11_MODULE(_cpu, m) {
  m.def("supports_v3", &supports_v3, "Whether the processor runs x86-64-v3 code.");
}
