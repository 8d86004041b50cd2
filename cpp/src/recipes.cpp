#include "gsr/recipes.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <utility>

#include "gsr/candidates.hpp"

namespace gsr {
namespace {

using composition::apply;
using composition::combine;
using composition::Operand;
using composition::Tree;

// A cheap description; the tree is made only for recipes that are used.
struct Sketch {
  int cost;
  std::function<Tree()> make;
  std::size_t rank = 0;  // within its family
};

struct Power {
  Monomial monomial;
  int degree = 0;
};

bool shares_feature(const Monomial& a, const Monomial& b) {
  return std::any_of(a.begin(), a.end(), [&](const auto& p) {
    return std::any_of(b.begin(), b.end(), [&](const auto& q) { return q.first == p.first; });
  });
}

class Cook {
 public:
  Cook(const Table& table, const Settings& settings, const std::vector<int>& features,
       const std::vector<int>& of_both_signs, const Reach& reach)
      : table_(table), settings_(settings), features_(features), of_both_signs_(of_both_signs) {
    powers_.push_back({});
    const int highest = features.size() <= 2 ? 5 : 3;
    for (Monomial& m : list_monomials(features, std::min(reach.degree, highest), kMostPowers * 8)) {
      const bool positive =
          std::all_of(m.begin(), m.end(), [](const auto& p) { return p.second > 0; });
      if (positive && powers_.size() < kMostPowers) powers_.push_back({m, degree_of(m)});
    }
    for (Monomial& m : list_monomials(features, reach.degree, reach.monomials))
      laurent_.push_back({m, cost_of(m)});
    std::stable_sort(laurent_.begin(), laurent_.end(),
                     [](const Power& a, const Power& b) { return a.degree < b.degree; });
    for (const char* name : {"sin", "cos", "exp", "exp_neg", "ln", "tanh", "tan", "sqrt"})
      if (const int code = table.find(name); code >= 0) unary_.push_back(code);
    for (int code = 0; code < table.size(); ++code)
      if (table[code].custom) unary_.push_back(code);
    for (const char* name : {"cos", "sin", "exp"})
      if (const int code = table.find(name); code >= 0) shifted_.push_back(code);
  }

  std::vector<Recipe> cook(std::size_t limit, bool deep) {
    family([&] { binomials(); });
    family([&] { unary_of_monomials(); });
    family([&] { unary_of_binomials(); });
    family([&] { one_and_unary(); });
    family([&] { exponential_pairs(); });
    family([&] { cube_roots_and_arctangents(); });
    if (!of_both_signs_.empty()) family([&] { of_absolute_values(); });
    if (deep) {
      family([&] { trinomials(); });
      family([&] { one_and_products(); });
      family([&] { unary_of_products(); });
      family([&] { one_minus_function_of_products(); });
      family([&] { unary_of_two_binomials(); });
      family([&] { nested(); });
    }
    return served(limit);
  }

 private:
  static constexpr std::size_t kMostPowers = 120;
  static constexpr std::size_t kMostBinomials = 30;

  template <typename Add>
  void family(Add add_all) {
    const std::size_t first = sketches_.size();
    add_all();
    const auto begin = sketches_.begin() + first;
    std::stable_sort(begin, sketches_.end(),
                     [](const Sketch& a, const Sketch& b) { return a.cost < b.cost; });
    for (std::size_t rank = 0; first + rank < sketches_.size(); ++rank)
      sketches_[first + rank].rank = rank;
    ++n_families_;
  }

  // Half of the places go to the cheapest of all, half to the cheapest of each family.
  std::vector<Recipe> served(std::size_t limit) {
    const std::size_t quota = limit / (2 * n_families_) + 1;
    std::stable_sort(sketches_.begin(), sketches_.end(),
                     [&](const Sketch& a, const Sketch& b) { return a.cost < b.cost; });
    std::vector<Recipe> out;
    std::size_t others = limit / 2;
    for (const Sketch& sketch : sketches_) {
      if (out.size() == limit) break;
      if (sketch.rank >= quota && others == 0) continue;
      Tree tree = sketch.make();
      if (!composition::allowed(tree, table_, settings_)) continue;
      if (sketch.rank >= quota) --others;
      out.push_back({std::move(tree), sketch.cost});
    }
    return out;
  }

  static int degree_of(const Monomial& monomial) {
    int degree = 0;
    for (const auto& [f, p] : monomial) degree += std::abs(p);
    return degree;
  }
  bool is_exponential(int code) const {
    return table_[code].name == "exp" || table_[code].name == "exp_neg";
  }
  Tree monomial(const Monomial& m) const { return monomial_tree(table_, m); }
  Operand operand(const Monomial& m, bool negative) const {
    if (m.empty()) return composition::one(negative);
    if (m.size() == 1 && m[0].second == 1)
      return composition::feature(negative ? -m[0].first : m[0].first);
    return composition::row(monomial(m), negative);
  }
  Tree sum(const std::vector<std::pair<const Monomial*, bool>>& parts) const {
    std::vector<Operand> operands;
    for (const auto& [m, negative] : parts) operands.push_back(operand(*m, negative));
    return combine(table_, ArgumentType::sum, std::move(operands));
  }
  void add(int cost, std::function<Tree()> make) {
    sketches_.push_back({cost, std::move(make), 0});
  }

  static int size(const Power& p) { return std::max(p.degree, 1); }
  // Sums of unlike degrees are rarer than those of like ones and those with the number 1.
  static int mismatch(const Power& a, const Power& b) {
    return a.degree != b.degree && a.degree != 0 && b.degree != 0 ? 1 : 0;
  }

  template <typename Visit>
  void each_binomial(int most, Visit visit) const {
    for (std::size_t i = 0; i < powers_.size(); ++i)
      for (std::size_t j = i + 1; j < powers_.size(); ++j) {
        const Power& a = powers_[i];
        const Power& b = powers_[j];
        const int cost = 1 + size(a) + size(b) + mismatch(a, b);
        if (cost > most || shares_feature(a.monomial, b.monomial)) continue;
        visit(a.monomial, b.monomial, cost);
      }
  }

  void binomials() {
    each_binomial(9, [&](const Monomial& a, const Monomial& b, int cost) {
      for (const bool minus : {false, true})
        add(cost, [this, &a, &b, minus] { return sum({{&a, false}, {&b, minus}}); });
    });
  }

  void unary_of_monomials() {
    for (const Power& p : laurent_)
      for (const int code : unary_)
        add(p.degree + table_[code].cost,
            [this, &p, code] { return apply(table_, code, monomial(p.monomial)); });
  }

  void unary_of_binomials() {
    each_binomial(5, [&](const Monomial& a, const Monomial& b, int cost) {
      for (const int code : unary_) {
        if (table_[code].name == "sqrt" || is_exponential(code)) continue;
        for (const bool minus : {false, true})
          add(cost + 1, [this, &a, &b, code, minus] {
            return apply(table_, code, sum({{&a, false}, {&b, minus}}));
          });
      }
    });
    // x + x^2 and its like share a feature: only as arguments.
    for (const int f : features_)
      for (const int code : unary_)
        if (table_[code].family == Family::trigonometric)
          for (const bool minus : {false, true})
            add(6, [this, f, code, minus] {
              const Monomial one{{f, 1}}, two{{f, 2}};
              return apply(table_, code, sum({{&one, false}, {&two, minus}}));
            });
  }

  Tree one_plus(const Tree& tree, bool minus) const {
    return combine(table_, ArgumentType::sum, {composition::one(), composition::row(tree, minus)});
  }

  void one_and_unary() {
    for (const Power& p : laurent_)
      for (const int code : shifted_)
        for (const bool minus : {true, false})
          add(3 + p.degree, [this, &p, code, minus] {
            return one_plus(apply(table_, code, monomial(p.monomial)), minus);
          });
  }

  // They are less common than the others, and come after them.
  void cube_roots_and_arctangents() {
    for (const char* name : {"cbrt", "arctan"})
      if (const int code = table_.find(name); code >= 0)
        for (const Power& p : laurent_)
          if (p.degree <= 2)
            add(p.degree + 2,
                [this, &p, code] { return apply(table_, code, monomial(p.monomial)); });
  }

  // |x|, its cube root, exp(-|x|) and ln(1 + |x|).
  void of_absolute_values() {
    const int code = table_.find("abs");
    if (code < 0) return;
    for (const int f : of_both_signs_) {
      const Tree size = apply(table_, code, monomial({{f, 1}}));
      add(2, [size] { return size; });
      for (const char* name : {"cbrt", "sqrt", "exp_neg", "ln"})
        if (const int outer = table_.find(name); outer >= 0)
          add(4, [this, size, outer, shifted = table_[outer].name == "ln"] {
            return apply(table_, outer, shifted ? one_plus(size, false) : size);
          });
    }
  }

  // exp(m) + exp(-m) and exp(m) - exp(-m).
  void exponential_pairs() {
    const int code = table_.find("exp");
    if (code < 0) return;
    for (const Power& p : laurent_)
      for (const bool minus : {false, true})
        add(4 + p.degree, [this, &p, code, minus] {
          const Tree up = apply(table_, code, monomial(p.monomial));
          return combine(
              table_, ArgumentType::sum,
              {composition::row(up), composition::row(composition::reciprocal(up), minus)});
        });
  }

  void trinomials() {
    const std::size_t n = std::min<std::size_t>(powers_.size(), 40);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = i + 1; j < n; ++j)
        for (std::size_t k = j + 1; k < n; ++k) {
          const Power &a = powers_[i], &b = powers_[j], &c = powers_[k];
          const int cost = 2 + size(a) + size(b) + size(c) + mismatch(a, b) + mismatch(b, c);
          if (cost > 9) continue;
          for (const int signs : {0, 1, 2, 3})
            add(cost + 1, [this, &a, &b, &c, signs] {
              return sum({{&a.monomial, false},
                          {&b.monomial, (signs & 1) != 0},
                          {&c.monomial, (signs & 2) != 0}});
            });
        }
  }

  // 1 + x1 cos(x2) and its like.
  void one_and_products() {
    const auto add_one_and = [&](const Power& p, int cost, const Tree& function) {
      for (const bool minus : {false, true})
        add(4 + p.degree + cost, [this, &p, function, minus] {
          Tree inner = monomial(p.monomial);
          inner.argument = ArgumentType::product;
          inner.operands.push_back(composition::row(function));
          return one_plus(inner, minus);
        });
    };
    for (const Power& p : laurent_) {
      if (p.degree > 3) break;
      for (const Power& q : powers_) {
        if (q.degree == 0 || q.degree > 2 || shares_feature(p.monomial, q.monomial)) continue;
        for (const int code : shifted_)
          add_one_and(p, q.degree, apply(table_, code, monomial(q.monomial)));
      }
      if (p.degree > 1) continue;
      each_binomial(3, [&](const Monomial& a, const Monomial& b, int) {
        if (shares_feature(p.monomial, a) || shares_feature(p.monomial, b) || a.empty()) return;
        for (const int code : shifted_)
          if (table_[code].family == Family::trigonometric)
            add_one_and(p, 2, apply(table_, code, sum({{&a, false}, {&b, true}})));
      });
    }
  }

  // sin(x1 (x2 - x3)) and its like.
  void unary_of_products() {
    each_binomial(3, [&](const Monomial& a, const Monomial& b, int cost) {
      for (const int f : features_) {
        if (shares_feature(a, {{f, 1}}) || shares_feature(b, {{f, 1}})) continue;
        for (const int code : unary_) {
          if (table_[code].family != Family::trigonometric && table_[code].name != "exp") continue;
          for (const bool minus : {true, false})
            for (const int sign : {1, -1})
              add(cost + 3, [this, &a, &b, f, code, minus, sign] {
                return of_product(code, f, sign, sum({{&a, false}, {&b, minus}}));
              });
        }
      }
    });
  }

  Tree of_product(int code, int f, int sign, const Tree& factor) const {
    return apply(table_, code,
                 combine(table_, ArgumentType::product,
                         {composition::feature(sign * f), composition::row(factor)}));
  }

  // 1 - cos(x1 (x2 - x3)) and its like, which are squares of sines of the half.
  void one_minus_function_of_products() {
    each_binomial(3, [&](const Monomial& a, const Monomial& b, int cost) {
      for (const int f : features_) {
        if (shares_feature(a, {{f, 1}}) || shares_feature(b, {{f, 1}})) continue;
        for (const char* name : {"cos", "exp"}) {
          const int code = table_.find(name);
          if (code < 0) continue;
          for (const bool minus : {true, false})
            for (const int sign : {1, -1})
              add(cost + 5 + (minus ? 0 : 1) + (sign > 0 ? 0 : 1), [this, &a, &b, f, code, minus,
                                                                    sign] {
                return one_plus(of_product(code, f, sign, sum({{&a, false}, {&b, minus}})), true);
              });
        }
      }
    });
  }

  // sin((x1 - 1) (x2 - 1)) and its like.
  void unary_of_two_binomials() {
    std::vector<std::array<const Monomial*, 2>> cheap;
    each_binomial(3, [&](const Monomial& a, const Monomial& b, int) { cheap.push_back({&a, &b}); });
    if (cheap.size() > kMostBinomials) cheap.resize(kMostBinomials);
    for (std::size_t i = 0; i < cheap.size(); ++i)
      for (std::size_t j = i; j < cheap.size(); ++j)
        for (const int code : unary_) {
          if (table_[code].family != Family::trigonometric && table_[code].name != "exp") continue;
          for (const int signs : {3, 0, 1, 2})
            add(9, [this, first = cheap[i], second = cheap[j], code, signs] {
              const Tree a = sum({{first[1], false}, {first[0], (signs & 1) != 0}});
              const Tree b = sum({{second[1], false}, {second[0], (signs & 2) != 0}});
              return apply(table_, code,
                           combine(table_, ArgumentType::product,
                                   {composition::row(a), composition::row(b)}));
            });
        }
  }

  // exp(cos x), sin(sqrt x), tanh(sin x) ...
  void nested() {
    for (const Power& p : laurent_) {
      if (p.degree > 2) break;
      for (const int outer : unary_)
        for (const int inner : unary_) {
          if (outer == inner && table_[outer].name != "ln") continue;
          add(4 + p.degree, [this, &p, outer, inner] {
            return apply(table_, outer, apply(table_, inner, monomial(p.monomial)));
          });
        }
    }
    nested_of_shifted();
  }

  // sin(ln(1 + x)), exp(sqrt(1 + x)) ...
  void nested_of_shifted() {
    for (const char* name : {"ln", "sqrt"}) {
      const int inner = table_.find(name);
      if (inner < 0) continue;
      for (const int f : features_)
        for (const int outer : unary_) {
          if (outer == inner || (is_exponential(outer) && table_[inner].name == "ln")) continue;
          add(6, [this, f, outer, inner] {
            return apply(table_, outer, apply(table_, inner, one_plus(monomial({{f, 1}}), false)));
          });
        }
    }
  }

  const Table& table_;
  const Settings& settings_;
  const std::vector<int>& features_;
  const std::vector<int>& of_both_signs_;
  std::vector<Power> powers_, laurent_;
  std::vector<int> unary_, shifted_;
  std::vector<Sketch> sketches_;
  std::size_t n_families_ = 0;
};

}  // namespace

std::vector<Recipe> atom_recipes(const Table& table, const Settings& settings,
                                 const std::vector<int>& features,
                                 const std::vector<int>& of_both_signs, const Reach& reach) {
  return Cook(table, settings, features, of_both_signs, reach).cook(reach.atoms / 2, reach.deep);
}

}  // namespace gsr
