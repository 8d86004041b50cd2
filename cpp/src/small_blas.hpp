// Products of a few padded columns with a vector, for sizes at which the set-up of a general
// routine costs as much as the work. Lengths are multiples of kPad; the order of summation is
// fixed.
#pragma once

#include <cstring>

#include "gsr/dataset.hpp"

namespace gsr::small_blas {

static_assert(kPad % 4 == 0);
typedef double V __attribute__((vector_size(32)));

inline V load(const double* x) {
  V v;
  std::memcpy(&v, x, sizeof v);
  return v;
}
inline void store(double* out, V v) { std::memcpy(out, &v, sizeof v); }
inline double sum(V v) { return (v[0] + v[2]) + (v[1] + v[3]); }

inline double dot(const double* a, const double* b, Index n) {
  V even{}, odd{};
  for (Index i = 0; i < n; i += 8) {
    even += load(a + i) * load(b + i);
    odd += load(a + i + 4) * load(b + i + 4);
  }
  return sum(even + odd);
}

// out_j = q_j . v for k columns.
inline void dots(const double* q, Index stride, Index k, const double* v, double* out) {
  Index j = 0;
  for (; j + 4 <= k; j += 4) {
    const double* a = q + j * stride;
    const double* b = a + stride;
    const double* c = b + stride;
    const double* d = c + stride;
    V s0{}, s1{}, s2{}, s3{}, t0{}, t1{}, t2{}, t3{};
    for (Index i = 0; i < stride; i += 8) {
      const V x = load(v + i);
      const V y = load(v + i + 4);
      s0 += load(a + i) * x;
      s1 += load(b + i) * x;
      s2 += load(c + i) * x;
      s3 += load(d + i) * x;
      t0 += load(a + i + 4) * y;
      t1 += load(b + i + 4) * y;
      t2 += load(c + i + 4) * y;
      t3 += load(d + i + 4) * y;
    }
    out[j] = sum(s0 + t0);
    out[j + 1] = sum(s1 + t1);
    out[j + 2] = sum(s2 + t2);
    out[j + 3] = sum(s3 + t3);
  }
  for (; j < k; ++j) out[j] = dot(q + j * stride, v, stride);
}

// v -= sum_j s_j q_j.
inline void subtract(const double* q, Index stride, Index k, const double* s, double* v) {
  Index j = 0;
  for (; j + 4 <= k; j += 4) {
    const double* a = q + j * stride;
    const double* b = a + stride;
    const double* c = b + stride;
    const double* d = c + stride;
    const double sa = s[j], sb = s[j + 1], sc = s[j + 2], sd = s[j + 3];
    for (Index i = 0; i < stride; i += 4) {
      V x = load(v + i);
      x -= load(a + i) * sa;
      x -= load(b + i) * sb;
      x -= load(c + i) * sc;
      x -= load(d + i) * sd;
      store(v + i, x);
    }
  }
  for (; j < k; ++j) {
    const double* a = q + j * stride;
    const double sa = s[j];
    for (Index i = 0; i < stride; i += 4) store(v + i, load(v + i) - load(a + i) * sa);
  }
}

}  // namespace gsr::small_blas
