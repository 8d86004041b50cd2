#include "gsr/vector_math.hpp"

#include <cmath>

#if defined(__linux__) && defined(__x86_64__)
#include <dlfcn.h>
#include <immintrin.h>
#define GSR_HAS_LIBMVEC 1
#endif

namespace gsr::vector_math {
namespace {

using Scalar = double (*)(double);

double log_abs(double x) { return std::log(std::fabs(x)); }

#ifdef GSR_HAS_LIBMVEC

#ifdef __AVX2__
using Vector = __m256d;
constexpr std::size_t kLanes = 4;
constexpr char kPrefix[] = "_ZGVdN4v_";
Vector load(const double* x) { return _mm256_loadu_pd(x); }
void store(double* out, Vector v) { _mm256_storeu_pd(out, v); }
#else
using Vector = __m128d;
constexpr std::size_t kLanes = 2;
constexpr char kPrefix[] = "_ZGVbN2v_";
Vector load(const double* x) { return _mm_loadu_pd(x); }
void store(double* out, Vector v) { _mm_storeu_pd(out, v); }
#endif

using VectorFunction = Vector (*)(Vector);

// glibc's vector functions are looked up at run time: older systems lack some of them.
VectorFunction look_up(const char* name) {
  static void* const handle = dlopen("libmvec.so.1", RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return nullptr;
  return reinterpret_cast<VectorFunction>(dlsym(handle, (std::string(kPrefix) + name).c_str()));
}

void map(VectorFunction function, const double* x, double* out, std::size_t n) {
  const std::size_t whole = n / kLanes * kLanes;
  for (std::size_t i = 0; i < whole; i += kLanes) store(out + i, function(load(x + i)));
  if (whole == n) return;
  double tail[kLanes];
  for (std::size_t k = 0; k < kLanes; ++k) tail[k] = whole + k < n ? x[whole + k] : 1.0;
  store(tail, function(load(tail)));
  for (std::size_t k = 0; whole + k < n; ++k) out[whole + k] = tail[k];
}

#else

using VectorFunction = void*;
VectorFunction look_up(const char*) { return nullptr; }
void map(VectorFunction, const double*, double*, std::size_t) {}

#endif

void apply(VectorFunction function, Scalar scalar, const double* x, double* out, std::size_t n) {
  if (function != nullptr) {
    map(function, x, out, n);
  } else {
    for (std::size_t i = 0; i < n; ++i) out[i] = scalar(x[i]);
  }
}

}  // namespace

void exp(const double* x, double* out, std::size_t n) {
  static const VectorFunction function = look_up("exp");
  apply(function, std::exp, x, out, n);
}

void log(const double* x, double* out, std::size_t n) {
  static const VectorFunction function = look_up("log");
  for (std::size_t i = 0; i < n; ++i) out[i] = std::fabs(x[i]);
  apply(function, log_abs, out, out, n);
}

void sin(const double* x, double* out, std::size_t n) {
  static const VectorFunction function = look_up("sin");
  apply(function, std::sin, x, out, n);
}

void cos(const double* x, double* out, std::size_t n) {
  static const VectorFunction function = look_up("cos");
  apply(function, std::cos, x, out, n);
}

void tan(const double* x, double* out, std::size_t n) {
  static const VectorFunction function = look_up("tan");
  apply(function, std::tan, x, out, n);
}

void tanh(const double* x, double* out, std::size_t n) {
  static const VectorFunction function = look_up("tanh");
  apply(function, std::tanh, x, out, n);
}

std::string instruction_set() {
#ifdef __AVX2__
  return "avx2";
#else
  return "baseline";
#endif
}

}  // namespace gsr::vector_math
