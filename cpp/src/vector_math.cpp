#include "gsr/vector_math.hpp"

#include <cstdlib>

#ifdef __AVX2__
#define GSR_LANES 4
#else
#define GSR_LANES 2
#endif
#include "vector_kernels.hpp"

namespace gsr::vector_math {
namespace {

bool use_v4() {
#ifdef GSR_HAS_V4
  // GSR_NO_AVX512 is for testing the AVX2 functions where both exist.
  static const bool supported =
      std::getenv("GSR_NO_AVX512") == nullptr && __builtin_cpu_supports("avx512f") &&
      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd");
  return supported;
#else
  return false;
#endif
}

}  // namespace

const Kernels& kernels_native() { return kKernels; }

const Kernels& kernels() {
#ifdef GSR_HAS_V4
  if (use_v4()) return kernels_v4();
#endif
  return kernels_native();
}

const char* instruction_set() {
  if (use_v4()) return "avx512";
#ifdef __AVX2__
  return "avx2";
#else
  return "baseline";
#endif
}

}  // namespace gsr::vector_math
