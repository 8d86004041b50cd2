#include "sample.hpp"

#include <algorithm>
#include <numeric>

#include "gsr/random.hpp"

namespace gsr::guide {
namespace {

using namespace tuning;

std::vector<Index> counted(Index n) {
  std::vector<Index> out(n);
  std::iota(out.begin(), out.end(), Index{0});
  return out;
}

// Rows whose weight is not far below that of most.
std::vector<Index> rows_that_count(const Buffer& roots, Index n) {
  std::vector<Index> rows = counted(n);
  if (roots.empty()) return rows;
  std::vector<double> sorted(roots.begin(), roots.begin() + n);
  std::nth_element(sorted.begin(), sorted.begin() + n / 2, sorted.end());
  const double least = kLeastWeight * sorted[n / 2];
  rows.erase(std::remove_if(rows.begin(), rows.end(), [&](Index i) { return roots[i] < least; }),
             rows.end());
  return rows;
}

std::vector<Index> spread_rows(std::vector<Index> rows, Index wanted, std::uint64_t seed) {
  const Index n = ssize(rows);
  if (wanted >= n) return rows;
  Random random(seed, kRowStream, 0);
  for (Index i = 0; i < wanted; ++i)
    std::swap(rows[i], rows[random.integer(static_cast<int>(i), static_cast<int>(n) - 1)]);
  rows.resize(wanted);
  return rows;
}

Columns take_rows(const Columns& from, const std::vector<Index>& rows) {
  Columns out(ssize(rows), from.n_columns());
  for (Index j = 0; j < from.n_columns(); ++j)
    for (Index i = 0; i < ssize(rows); ++i) out[j][i] = from[j][rows[i]];
  return out;
}

// Share of y's variance between the bins of x: what x explains by itself, in any shape.
double explained_by_bins(const double* x, const double* y, Index n) {
  std::vector<Index> order = counted(n);
  std::sort(order.begin(), order.end(), [&](Index a, Index b) { return x[a] < x[b]; });
  double mean = 0.0;
  for (Index i = 0; i < n; ++i) mean += y[i] / static_cast<double>(n);
  double between = 0.0;
  for (int bin = 0; bin < kBins; ++bin) {
    const Index first = n * bin / kBins, last = n * (bin + 1) / kBins;
    if (first == last) continue;
    double sum = 0.0;
    for (Index i = first; i < last; ++i) sum += y[order[i]] - mean;
    between += sum * sum / static_cast<double>(last - first);
  }
  return between;
}

}  // namespace

Rows choose_rows(const Problem& problem, Index n, bool light_ones) {
  const Buffer& roots = problem.row_weights;
  const std::vector<Index> chosen =
      spread_rows(rows_that_count(light_ones ? Buffer() : roots, problem.x.n_rows()), n,
                  problem.settings.scan_seed);
  Rows out;
  out.x.features = take_rows(problem.x.features, chosen);
  out.y.features = take_rows(problem.y.features, chosen);
  if (roots.empty()) return out;
  out.weights.assign(out.x.features.stride(), 0.0);
  for (Index i = 0; i < ssize(chosen); ++i) out.weights[i] = roots[chosen[i]];
  return out;
}

std::vector<int> rank_features(const Rows& rows) {
  const Index n = rows.x.n_rows();
  std::vector<double> score{0.0};
  std::vector<int> features;
  for (int f = 1; f <= rows.x.n_features(); ++f) {
    const double* x = rows.x.features[f - 1];
    score.push_back(explained_by_bins(x, rows.y.features[0], n));
    const auto [low, high] = std::minmax_element(x, x + n);
    if (*low < *high) features.push_back(f);  // a constant feature explains nothing
  }
  if (features.size() <= kMostFeatures) return features;
  std::stable_sort(features.begin(), features.end(),
                   [&](int a, int b) { return score[a] > score[b]; });
  features.resize(kMostFeatures);
  return features;
}

Sample::Sample(const Problem& posed)
    : problem(posed), features(rank_features(choose_rows(posed, posed.x.n_rows()))) {}

double Sample::work_of(double operations) const {
  return operations / (kOperationsPerRow * static_cast<double>(problem.x.n_rows()) + kOperations);
}

double Sample::work_of(const Work& work, Index n_columns) const {
  return work_of(work.operations * static_cast<double>(n_columns * n_rows())) + work.proposals;
}

}  // namespace gsr::guide
