// Elementary functions over arrays. A value depends on its argument alone, never on its position
// in the array or on the array's length: tails are padded to a full vector.
#pragma once

#include <cstddef>
#include <string>

namespace gsr::vector_math {

void exp(const double* x, double* out, std::size_t n);
void log(const double* x, double* out, std::size_t n);  // ln|x|: the sign is kept elsewhere
void sin(const double* x, double* out, std::size_t n);
void cos(const double* x, double* out, std::size_t n);
void tan(const double* x, double* out, std::size_t n);
void tanh(const double* x, double* out, std::size_t n);

// The instruction set that the functions above were chosen for on this processor.
std::string instruction_set();

}  // namespace gsr::vector_math
