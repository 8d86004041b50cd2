// Compiled for x86-64-v4; called only where the processor has it.
#if defined(__GNUC__) && !defined(__clang__)
// GCC's own AVX-512 intrinsics start from a vector that they leave undefined on purpose.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif

#define GSR_LANES 8
#include "../vector_kernels.hpp"

namespace gsr::vector_math {

const Kernels& kernels_v4() { return kKernels; }

}  // namespace gsr::vector_math
