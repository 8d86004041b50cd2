// Elementary functions over arrays. A value depends on its argument alone, never on its position
// in the array or on the array's length: every element goes through a full vector.
#pragma once

#include <cstddef>

namespace gsr::vector_math {

using Function = void (*)(const double* x, double* out, std::size_t n);

struct Kernels {
  Function exp;
  Function log;  // ln|x|: the sign is kept elsewhere
  Function sin;
  Function cos;
  Function tan;
  Function tanh;
};

// The widest that this build and this processor share.
const Kernels& kernels();
const char* instruction_set();

// Kernels of each instruction set that the build holds.
const Kernels& kernels_native();  // what the whole build is compiled for
const Kernels& kernels_v4();      // x86-64-v4 (AVX-512), in the v3 build only

}  // namespace gsr::vector_math
