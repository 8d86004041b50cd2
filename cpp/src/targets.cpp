#include "gsr/targets.hpp"

#include <algorithm>

#include "gsr/composition.hpp"

namespace gsr {
namespace {

using composition::apply;
using composition::combine;
using composition::Tree;

class Kitchen {
 public:
  Kitchen(const Table& table, const Settings& settings) : table_(table), settings_(settings) {}

  bool has(const char* name) const { return table_.find(name) >= 0; }
  Tree y() const { return combine(table_, ArgumentType::variable, {composition::feature(1)}); }
  Tree of(const char* name, const Tree& tree) const {
    return apply(table_, table_.find(name), tree);
  }
  Tree inverse(const Tree& tree) const { return composition::reciprocal(tree); }
  // tree + 1 or tree - 1
  Tree shifted(const Tree& tree, bool minus) const {
    return combine(table_, ArgumentType::sum, {composition::row(tree), composition::one(minus)});
  }
  void add(const Tree& tree, std::vector<Basis>& out) const {
    Basis basis;
    if (!composition::allowed(tree, table_, settings_) || !composition::write({tree}, basis))
      return;
    basis = canonical(basis, table_, 1);  // as a set of psi writes it
    if (std::find(out.begin(), out.end(), basis) == out.end()) out.push_back(basis);
  }
  void add(const Tree& h, const Tree& plain, std::vector<LogTarget>& out) const {
    std::vector<Basis> both;
    add(of("ln", h), both);
    add(plain, both);
    if (both.size() == 2) out.push_back({both[0], both[1]});
  }

 private:
  const Table& table_;
  const Settings& settings_;
};

}  // namespace

std::vector<Basis> sum_targets(const Table& table, const Settings& settings) {
  const Kitchen k(table, settings);
  std::vector<Basis> out;
  if (table.identity() >= 0) k.add(k.y(), out);
  if (!settings.transform_target) return out;
  if (table.identity() >= 0) k.add(k.inverse(k.y()), out);
  for (const char* name : {"square", "ln", "sqrt", "exp", "cube"})
    if (k.has(name)) k.add(k.of(name, k.y()), out);
  if (k.has("square")) k.add(k.inverse(k.of("square", k.y())), out);
  for (const char* name : {"exp_neg", "sin", "cos", "tan", "tanh", "inverse"})
    if (k.has(name)) k.add(k.of(name, k.y()), out);
  for (int code = 0; code < table.size(); ++code)
    if (table[code].custom) k.add(apply(table, code, k.y()), out);
  if (table.identity() < 0) return out;
  for (const bool minus : {true, false}) k.add(k.inverse(k.shifted(k.y(), minus)), out);
  if (k.has("ln"))
    for (const bool minus : {false, true})
      k.add(k.of("ln", k.shifted(k.inverse(k.y()), minus)), out);
  return out;
}

std::vector<Basis> power_targets(const Table& table, const Settings& settings) {
  const Kitchen k(table, settings);
  std::vector<Basis> out;
  if (table.identity() < 0) return out;
  k.add(k.y(), out);
  if (!settings.transform_target) return out;
  k.add(k.inverse(k.y()), out);
  if (!k.has("square")) return out;
  k.add(k.of("square", k.y()), out);
  k.add(k.inverse(k.of("square", k.y())), out);
  return out;
}

std::vector<LogTarget> log_targets(const Table& table, const Settings& settings) {
  const Kitchen k(table, settings);
  std::vector<LogTarget> out;
  if (!k.has("ln") || table.identity() < 0 || !settings.transform_target) return out;
  k.add(k.y(), k.y(), out);
  for (const bool minus : {true, false}) k.add(k.shifted(k.y(), minus), k.y(), out);
  for (const bool minus : {false, true})
    k.add(k.shifted(k.inverse(k.y()), minus), k.inverse(k.y()), out);
  if (k.has("square"))
    for (const bool minus : {true, false})
      k.add(k.shifted(k.of("square", k.y()), minus), k.of("square", k.y()), out);
  for (const char* name : {"sin", "cos", "tan", "ln", "tanh"})
    if (k.has(name)) k.add(k.of(name, k.y()), k.of(name, k.y()), out);
  if (k.has("exp"))
    for (const bool minus : {true, false})
      k.add(k.shifted(k.of("exp", k.y()), minus), k.of("exp", k.y()), out);
  const Tree bose = k.of("ln", k.shifted(k.inverse(k.y()), false));
  k.add(bose, bose, out);
  return out;
}

}  // namespace gsr
