"""The corpus of textbook formulas: it can be read, and holds no problem that gsr is judged by."""

import re

import pytest

import formula_corpus as corpus
from formula_forms import corpus_forms, form, read
from gsr.benchmarks.suites import ALL_PROBLEMS, get
from gsr.selection import grammar
from gsr.selection.expressions import variables_of

#: Models of NIST StRD, the laws of EmpiricalBench and usual curves of one variable.
JUDGED_BY = """
c0*(1 - exp(-c1*x))
c0*(1 - 1/(1 + c1*x)^2)
c0*(1 - 1/sqrt(1 + c1*x))
c0*x/(1 + c1*x)
exp(-c0*x)/(c1 + c2*x)
c0*exp(-c1*x) + c2*exp(-c3*x) + c4*exp(-c5*x)
c0*exp(-c1*x) + c2*exp(-(x - c3)^2/c4) + c5*exp(-(x - c6)^2/c7)
c0*x^c1
(c0 + c1*x + c2*x^2)/(1 + c3*x + c4*x^2)
(c0 + c1*x + c2*x^2 + c3*x^3)/(1 + c4*x + c5*x^2 + c6*x^3)
c0 - c1*x1*exp(-c2*x2)
c0 + c1*exp(-c2*x) + c3*exp(-c4*x)
c0 - c1*x - atan(c2/(x - c3))
c0*(x^2 + c1*x)/(x^2 + c2*x + c3)
c0*exp(c1/(x + c2))
c0*exp(-(x - c1)^2/c2)
c0/(1 + exp(c1 - c2*x))
c0/(1 + exp(c1 - c2*x))^(1/c3)
c0*(c1 + x)^(-1/c2)
c0 + c1*cos(2*pi*x/12) + c2*sin(2*pi*x/12) + c3*cos(2*pi*x/c4) + c5*sin(2*pi*x/c4)
c0*x
c0*sqrt(x^3)
c0*ln(x) + c1
c0*n^3/(exp(c1*n/T) - 1)
c0*L^c1*exp(-c2*L)
c0*m1*m2/r^2
c0*n*T/V
c0*(1/n1^2 - 1/n2^2)
1/(c0*(1/n1^2 - 1/n2^2))
c0 + c1*2^n
c0*exp(-c1/T)
c0/(1 + c1*t)
c0*x^c1/(c2 + x^c1)
c0/(1 + (c1/x)^c2)
c0*exp(-c1*exp(-c2*t))
c0*exp(-c1*t)*cos(c2*t + c3)
c0*exp(-c1*t)*sin(c2*t + c3) + c4
c0 + c1*exp(-c2*t)
"""


def lines():
    return [x for x in corpus.FILE.read_text("utf-8").splitlines() if x and x[0] != "#"]


def test_every_line_is_a_formula():
    found = list(corpus.formulas())
    assert len(found) == len(lines()) >= 300
    assert len({each.name for each in found}) == len(found)
    assert len({each.field for each in found}) >= 10
    for each in found:
        assert variables_of(each.target), each.name
        assert variables_of(each.expression), each.name


def test_forms_do_not_depend_on_names_and_constants():
    kepler = get("Feynman-B5").expression
    assert form(read(kepler)) == form(read("c7*sqrt(a^3/(b*(p + q)))"))


def test_forms_tell_formulas_apart():
    assert form(read("a*x/(b + x)")) != form(read("a*x/(b + d)"))
    assert form(read("exp(-c0*t) - exp(-c1*t)")) != form(read("exp(-c0*t)"))


def test_the_corpus_holds_no_problem_of_the_suites():
    judged = {form(read(problem.expression)): problem.name for problem in ALL_PROBLEMS}
    judged |= {form(read(text)): text for text in JUDGED_BY.split("\n") if text}
    found = {
        line: [judged[f] for f in forms if f in judged] for line, forms in corpus_forms().items()
    }
    assert {line: names for line, names in found.items() if names} == {}


def test_the_counts_are_those_of_the_corpus():
    assert grammar.FILE.read_text("utf-8") == corpus.counts_text()


@pytest.mark.parametrize("text", ["x +", "x.y", "f(x, y)", "x ? y : z", "__import__('os')", "'a'"])
def test_only_formulas_are_read(text):
    with pytest.raises(ValueError, match=re.compile("cannot be read")):
        corpus.parse(text)
