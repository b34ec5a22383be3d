"""Sentences of the page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hedgerow.errors import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hedgerow.measure import Evaluation

LEVEL = 0.95
"""The share of right answers that the headline is about."""
_NAMED = 3  # models in the headline
_PERCENT = "\N{NO-BREAK SPACE}%"


def headline(exact: Sequence[tuple[str, float]], thing: str) -> str:
    """Say how often each model names the exact class while 95 % of its answers are right.

    Parameters
    ----------
    exact
        The names of the models, and the shares of examples whose exact class they name.
    thing
        What an example is, in the plural.

    Examples
    --------
    >>> print(headline([("keen", 0.66), ("careful", 0.714)], "images").replace("\N{NO-BREAK SPACE}", " "))
    At 95 % correct, careful still names the exact class for 71 % of the images; keen for 66 %.
    """
    (name, share), *others = sorted(exact, key=lambda model: -model[1])
    said = f"At {percent(LEVEL)} correct, {name} still names the exact class for {percent(share)} of the {thing}"
    named, rest = others[: _NAMED - 1], others[_NAMED - 1 :]
    if len(rest) == 1:
        named, rest = others, []
    said += "".join(f"; {other} for {percent(value)}" for other, value in named)
    if rest:
        low, high = percent(rest[-1][1]), percent(rest[0][1])
        said += f"; the other {len(rest)} for {high if low == high else f'{low} to {high}'}"
    return said + "."


def percent(share: float) -> str:
    """Write a share as a percentage; only 0 and 1 are written as 0 and 100.

    >>> [percent(share).replace("\N{NO-BREAK SPACE}", " ") for share in (0.714, 0.9996, 1.0, 0.0003)]
    ['71 %', '99.9 %', '100 %', '0.1 %']
    """
    if 0 < share < 0.005 or 0.995 <= share < 1:
        return f"{min(99.9, max(0.1, 100 * share)):.1f}{_PERCENT}"
    return f"{100 * share:.0f}{_PERCENT}"


def shortened(text: str, longest: int) -> str:
    """Return text of at most so many characters; the last one shows that something is missing."""
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def facts(evaluations: Sequence[Evaluation], models: int, thing: str) -> str:
    """Say what was evaluated: models, examples, tree."""
    said = [counted(models, "model", "models")]
    if evaluations:
        sizes = sorted({len(evaluation) for evaluation in evaluations})
        number = (
            counted(sizes[0], thing[:-1], thing) if len(sizes) == 1 else f"{sizes[0]:,} to {sizes[-1]:,} {thing}"
        )
        hierarchy = evaluations[0].hierarchy
        leaves = counted(len(hierarchy.leaves), "leaf", "leaves")
        said += [number, f"a tree of {len(hierarchy):,} nodes with {leaves}"]
    return " · ".join(said)


def thing(evaluations: Sequence[Evaluation], drawn: bool = False) -> str:
    """Return what examples are called: images, texts or examples; `drawn` ones are images."""
    if drawn:
        return "images"
    for kind in ("images", "texts"):
        if evaluations and all(getattr(evaluation.answers, kind) is not None for evaluation in evaluations):
            return kind
    return "examples"
