// What is sought: left sides to explain, in the order of what they promise.
#pragma once

#include <cstdint>
#include <vector>

#include "gsr/state.hpp"
#include "sample.hpp"

namespace gsr::guide {

enum class Form { sum, product };

// A left side to explain on the chosen rows.
// Of a sum: psi(y), divided by a monomial that is a factor of every term.
// Of a product: ln|h(y)|, or ln|plain/p - 1| for a law plain = p (1 + product) with the prefactor
// p.
struct Goal {
  Form form = Form::sum;
  Basis psi;
  Basis plain;  // of a product: the simplest psi that says the same of h
  Monomial prefactor;
  Buffer values;
  Basis partner;  // a second psi beside the first; of size 0: none
  Buffer partner_values;
  Buffer weights;        // of the rows; empty: all alike
  double promise = 1.0;  // what the best set so far leaves of it
  Index number = 0;      // the same on every island, whatever they promise

  bool has_partner() const { return partner.size > 0; }
  bool is_plain() const { return !has_partner() && prefactor.empty(); }
  // Few laws need it.
  bool is_unusual() const { return form == Form::sum ? has_partner() : !prefactor.empty(); }
};

// Monomials that may be a factor of every term of h(y), by its logarithm.
std::vector<Monomial> find_prefactors(const Sample& sample, const Basis& logarithm);

// Promises by a fingerprint of the goal: those known when the stage was planned, and since.
struct PromiseBook {
  Promises at_planning, learned;

  double promised(std::uint64_t goal) const;
  void learn(const Promises& promises);
  // What was learned counts from now on.
  void settle();
};

struct Goals {
  std::vector<Goal> sums, products;
  std::vector<Monomial> prefactors;
  PromiseBook book;
  std::vector<Goal> glanced;  // products that are looked at once, with one factor

  // `first`: prefactors are looked for before. `shifted`: with goals of shifted products.
  void make(const Sample& sample, bool first, bool shifted);
  void clear();
  void weigh(const Rows& rows, const Problem& problem);

  std::vector<Goal>& of(Form form) { return form == Form::sum ? sums : products; }
  Index size() const { return ssize(sums) + ssize(products); }
  // In the order of its form.
  Index place(const Goal& goal) const;
  // The goal of a product with this logarithm on the left; nullptr: there is none.
  const Goal* product_of(const Basis& logarithm) const;

  // What was learned about goals here.
  Promises promises() const;
  std::vector<double> promise_of_each() const;
  void set_promise_of_each(const std::vector<double>& promises);
};

}  // namespace gsr::guide
