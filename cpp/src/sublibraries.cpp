#include "gsr/sublibraries.hpp"

#include <algorithm>
#include <initializer_list>

#include "gsr/candidates.hpp"

namespace gsr {
namespace {

using composition::Tree;

class Shelf {
 public:
  Shelf(const Table& table, const std::vector<int>& features, std::size_t most)
      : table_(table), features_(features), most_(most) {}

  // All products of positive powers up to the largest degree that fits.
  void polynomials() {
    Set best;
    for (int degree = 1; degree <= 9; ++degree) {
      Set set;
      powers(0, degree, {}, set);
      if (set.size() > most_) break;
      best = std::move(set);
    }
    add(best);
  }

  // T(arg) for each of the arguments of each feature, beside the features themselves.
  void functions(std::initializer_list<const char*> names, std::initializer_list<int> powers_of_x,
                 bool with_features, bool with_pairs) {
    Set set;
    if (with_features)
      for (const int f : features_) set.push_back({monomial_tree(table_, {{f, 1}})});
    for (const char* name : names) {
      const int code = table_.find(name);
      if (code < 0) continue;
      for (const int p : powers_of_x)
        for (const int f : features_)
          set.push_back({composition::apply(table_, code, monomial_tree(table_, {{f, p}}))});
      if (!with_pairs) continue;
      for (std::size_t i = 0; i < features_.size(); ++i)
        for (std::size_t j = i + 1; j < features_.size(); ++j)
          set.push_back(
              {composition::apply(table_, code,
                                  composition::combine(table_, ArgumentType::sum,
                                                       {composition::feature(features_[i]),
                                                        composition::feature(features_[j])}))});
    }
    add(set);
  }

  void laurent(int degree) {
    Set set;
    for (const int f : features_)
      for (int p = -degree; p <= degree; ++p)
        if (p != 0) set.push_back({monomial_tree(table_, {{f, p}})});
    add(set);
  }

  std::vector<WholeSet> take() { return std::move(all_); }

 private:
  using Set = WholeSet;

  void add(const Set& set) {
    if (set.size() > 1 && set.size() <= most_) all_.push_back(set);
  }

  void powers(std::size_t from, int left, const Monomial& sofar, Set& out) const {
    if (!sofar.empty()) out.push_back({monomial_tree(table_, sofar)});
    if (out.size() > most_) return;
    for (std::size_t f = from; f < features_.size(); ++f)
      for (int p = 1; p <= left; ++p) {
        Monomial next = sofar;
        next.emplace_back(features_[f], p);
        powers(f + 1, left - p, next, out);
      }
  }

  const Table& table_;
  const std::vector<int>& features_;
  std::size_t most_;
  std::vector<WholeSet> all_;
};

}  // namespace

std::vector<WholeSet> whole_sublibraries(const Table& table, const std::vector<int>& features,
                                         std::size_t most) {
  Shelf shelf(table, features, most);
  if (table.identity() < 0) return shelf.take();
  shelf.polynomials();
  shelf.functions({"ln"}, {1}, true, true);
  shelf.functions({"sin", "cos"}, {1, 2}, false, true);
  shelf.functions({"sin", "cos"}, {1}, true, false);
  shelf.laurent(2);
  shelf.functions({"exp", "exp_neg"}, {1}, true, false);
  shelf.functions({"sqrt", "ln"}, {1, 2}, true, false);
  return shelf.take();
}

std::vector<WholeSet> power_sets(const Table& table, const std::vector<int>& features,
                                 std::size_t most) {
  Shelf shelf(table, features, most);
  if (table.identity() < 0) return shelf.take();
  shelf.polynomials();
  shelf.laurent(2);
  return shelf.take();
}

}  // namespace gsr
