"""Implicit laws in model files; terms are stored as text for the formula parser."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from gsr.files import write_whole
from gsr.formula import expression
from gsr.implicit.form import Form, column_symbols, inner_symbol
from gsr.implicit.law import ImplicitLaw
from gsr.saving import document_text, forms
from gsr.selection.residuals import Level

if TYPE_CHECKING:
    from gsr.implicit.estimator import GSRImplicit


class LawForm(forms.Form):
    """A law as plain data."""

    terms: list[str]
    coefficients: list[float]
    right: float
    inside: list[float]
    open_right: bool
    covariance: list[list[float]]
    error: float
    spread: float
    level: Level


class ModelForm(forms.Form):
    """A fitted `GSRImplicit` as plain data."""

    names: list[str]
    kept: list[int]
    left_out: list[str]
    scale: list[float]
    positive: list[bool]
    n_rows: int
    sample: list[list[float]]
    laws: list[LawForm]


def save(model: GSRImplicit, path: str | PathLike[str]) -> None:
    """Write a fitted model to a file."""
    laws = model.equations_
    any_law = laws[0] if laws else None
    content = ModelForm(
        names=model.names_,
        kept=model._kept_columns,
        left_out=model.left_out_,
        scale=[] if any_law is None else any_law.scale.tolist(),
        positive=[] if any_law is None else [bool(c.is_positive) for c in any_law.form.columns],
        n_rows=0 if any_law is None else any_law.n_rows,
        sample=[] if any_law is None else any_law.sample.tolist(),
        laws=[_plain(law) for law in laws],
    )
    write_whole(document_text({"implicit": content.model_dump()}), path)


def _plain(law: ImplicitLaw) -> LawForm:
    form = law.form
    return LawForm(
        terms=list(map(str, form.terms)),
        coefficients=form.coefficients.tolist(),
        right=form.right,
        inside=form.inside.tolist(),
        open_right=form.open_right,
        covariance=law.covariance.tolist(),
        error=law.error,
        spread=law.spread,
        level=law.level,
    )


def model(document: Any) -> GSRImplicit:
    """Return the fitted model of a document."""
    from gsr.implicit.estimator import GSRImplicit

    content = forms.read(ModelForm, document, "implicit")
    found = GSRImplicit()
    found.names_, found.left_out_ = content.names, content.left_out
    found._kept_columns, found.n_features_in_ = content.kept, len(content.names)
    found.equations_ = [_law(each, content) for each in content.laws]
    found.equation_ = found.equations_[-1] if found.equations_ else None
    return found


def _law(plain: LawForm, content: ModelForm) -> ImplicitLaw:
    columns = column_symbols(content.positive)
    inner = map(inner_symbol, range(len(plain.inside)))
    symbols = {symbol.name: symbol for symbol in (*columns, *inner)}
    form = Form(
        columns,
        tuple(expression(term, symbols) for term in plain.terms),
        np.array(plain.coefficients),
        plain.right,
        np.array(plain.inside),
        plain.open_right,
    )
    names = tuple(content.names[j] for j in content.kept)
    return ImplicitLaw(
        form, names, np.array(content.scale), np.array(plain.covariance), plain.error,
        plain.spread, plain.level, content.n_rows, np.array(content.sample),
    )  # fmt: skip
