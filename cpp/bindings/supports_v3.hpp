// Whether this processor runs x86-64-v3 code.
#pragma once

namespace gsr {

inline bool supports_v3() {
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

}  // namespace gsr
