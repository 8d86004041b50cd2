// Columns of doubles, each padded with zeros to whole cache lines.
#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <memory>
#include <new>
#include <vector>

namespace gsr {

using Index = Eigen::Index;
inline constexpr Index kPad = 8;

// The size of a container as an index: indices are signed throughout.
template <typename Container>
Index ssize(const Container& container) {
  return static_cast<Index>(container.size());
}

inline Index padded(Index n) { return (n + kPad - 1) / kPad * kPad; }

template <typename T>
struct CacheLineAllocator {
  using value_type = T;
  CacheLineAllocator() = default;
  template <typename U>
  CacheLineAllocator(const CacheLineAllocator<U>&) {}
  T* allocate(std::size_t n) {
    return static_cast<T*>(::operator new(n * sizeof(T), std::align_val_t{64}));
  }
  void deallocate(T* p, std::size_t) { ::operator delete(p, std::align_val_t{64}); }
  friend bool operator==(const CacheLineAllocator&, const CacheLineAllocator&) { return true; }
  friend bool operator!=(const CacheLineAllocator&, const CacheLineAllocator&) { return false; }
};

using Buffer = std::vector<double, CacheLineAllocator<double>>;

// A block of padded columns.
class Columns {
 public:
  Columns() = default;
  Columns(Index n_rows, Index n_columns) { resize(n_rows, n_columns); }
  // Columns that somebody else owns, laid out as here; never written to.
  Columns(const double* shared, Index n_rows, Index n_columns, std::shared_ptr<const void> owner)
      : n_rows_(n_rows),
        n_columns_(n_columns),
        stride_(padded(n_rows)),
        shared_(shared),
        owner_(std::move(owner)) {}

  void resize(Index n_rows, Index n_columns) {
    n_rows_ = n_rows;
    stride_ = padded(n_rows);
    data_.assign(static_cast<std::size_t>(stride_ * n_columns), 0.0);
    n_columns_ = n_columns;
    shared_ = nullptr;
    owner_.reset();
  }
  Index n_rows() const { return n_rows_; }
  Index n_columns() const { return n_columns_; }
  Index stride() const { return stride_; }
  double* operator[](Index j) { return data_.data() + j * stride_; }
  const double* operator[](Index j) const {
    return (shared_ != nullptr ? shared_ : data_.data()) + j * stride_;
  }

 private:
  Index n_rows_ = 0;
  Index n_columns_ = 0;
  Index stride_ = 0;
  Buffer data_;
  const double* shared_ = nullptr;
  std::shared_ptr<const void> owner_;
};

// Features x_1..x_d; the target is a data set of its own with the one variable y, so that psi and
// phi are evaluated by the same code.
struct Dataset {
  Columns features;

  Index n_rows() const { return features.n_rows(); }
  int n_features() const { return static_cast<int>(features.n_columns()); }
};

}  // namespace gsr
