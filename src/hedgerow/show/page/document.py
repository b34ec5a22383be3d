"""The page as one HTML file: data, styles and scripts are written into it, and nothing else is loaded."""

from __future__ import annotations

import base64
import hashlib
import json
import platform
from functools import cache, partial
from importlib.metadata import version
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from hedgerow.errors import ParameterError, counted
from hedgerow.measure import Evaluation
from hedgerow.show.page.page_data import HEADLINE, LEVEL, PageData, PageModel, PagePoint, aligned
from hedgerow.show.page.thumbnails import check_folder, thumbnail
from hedgerow.show.printed_evaluation import MEANINGS, shown

if TYPE_CHECKING:
    from collections.abc import Sequence
    from os import PathLike

    from jinja2 import Template


SCRIPTS = ("text", "series", "answers", "state", "curves", "figures", "tree", "cards", "mistakes", "table", "main")
"""Our own scripts, in the order in which they are run."""

_TABLE = ("AP", "AC", "AC_exact", "AURC", "R@90C", "R@95C", "E@95C", "majority_F1", "leaf_F1", "leaf_exact")
_NAMED = 3  # models in the title and in the headline


def page_html(
    models: Sequence[Evaluation | PageModel],
    *,
    title: str | None = None,
    point: PagePoint | None = None,
    images: str | PathLike[str] | None = None,
    command: str = "",
) -> str:
    """Return the page of one or more models.

    Parameters
    ----------
    models
        Evaluations with the same tree, or curves alone.
    title
        The heading; by default the names of the models.
    point
        An operating point to mark; `PagePoint.of` makes it from one that `select` chose.
    images
        The folder that holds the images of the examples. Images outside it are not shown.
    command
        The command that makes the page, to be shown on it.
    """
    if not models:
        raise ParameterError("A page needs at least one evaluation.")
    folder = None if images is None else check_folder(images)
    picture = (lambda _: None) if folder is None else partial(thumbnail, folder=folder)
    given = [PageModel.of(model) if isinstance(model, Evaluation) else model for model in models]
    ordered, notes = aligned(given)
    data = PageData(ordered, point, picture)
    evaluations = [model.evaluation for model in ordered if model.evaluation is not None]
    thing = _thing(evaluations, drawn=all(model.picture is not None for model in ordered))
    names = [model.name for model in ordered]
    content = data.to_dict() | {"thing": thing}
    warnings = [f"{evaluation.name}: {warning}" for evaluation in evaluations for warning in evaluation.warnings]
    style, script = _file("style.css"), _script()
    figures = {f"{rule}_{metric.name}": metric for rule in ("majority", "leaf") for metric in data.own}
    table = [name for name in (*_TABLE, *figures) if all(name in model.summary for model in ordered)]
    return _template().render(
        title=title or (" and ".join(names) if len(names) <= _NAMED else f"{len(names)} models"),
        policy=_policy(style, script),
        style=Markup(style),  # noqa: S704  (our own file)
        headline=headline([(model.name, model.summary[HEADLINE]) for model in ordered]),
        facts=_facts(evaluations, len(ordered), thing),
        thing=thing,
        notes=[*notes, *_image_notes(content, evaluations, folder is not None), *warnings],
        models=ordered,
        has_tree=bool(evaluations),
        point=point,
        table=table,
        own=data.own,
        figures=figures,
        shown=shown,
        meanings=[(name, MEANINGS[name]) for name in table if name in MEANINGS],
        command=command,
        versions=f"hedgerow {version('hedgerow')}, Python {platform.python_version()}",
        data=Markup(_json(content)),  # noqa: S704  (escaped by _json)
        script=Markup(script),  # noqa: S704  (our own files)
    )


@cache
def _template() -> Template:
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    return environment.from_string(_file("template.html"))


def _file(name: str) -> str:
    return files("hedgerow.show.page").joinpath(name).read_text(encoding="utf-8")


def _script() -> str:
    """Return our own scripts as one, with a scope of its own."""
    return '"use strict";\n(() => {\n' + "\n".join(_file(f"js/{name}.js") for name in SCRIPTS) + "\n})();\n"


def _policy(style: str, script: str) -> str:
    """Return a policy under which a browser applies and runs only these, and loads nothing."""
    return (
        f"default-src 'none'; script-src {_digest(script)}; style-src {_digest(style)}; img-src data:; "
        f"base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _json(content: Any) -> str:
    """Return JSON that cannot end the script element that it is in."""
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    # A lone surrogate, which UTF-8 cannot encode, becomes a question mark.
    text = text.encode("utf-8", "replace").decode("utf-8")
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _image_notes(content: dict[str, Any], evaluations: Sequence[Evaluation], folder_given: bool) -> list[str]:
    if not evaluations or all(evaluation.examples.images is None for evaluation in evaluations):
        return []
    shown = [example for each in content["tree"]["sets"] for example in each["shown"]]
    missing = sum("image" not in example for example in shown)
    if not folder_given:
        return ["The images are not shown: give the folder that holds them with --images DIR."]
    if missing:
        return [f"{missing} of {len(shown)} images are missing from the folder, or cannot be read."]
    return []


# Sentences -----------------------------------------------------------------------------------------------


def headline(recall: Sequence[tuple[str, float]]) -> str:
    """Return a sentence: how specific each model still is while 95 % of its answers are right.

    Parameters
    ----------
    recall
        The names of the models, and their recall there: the summary figure `HEADLINE`.

    Examples
    --------
    >>> print(headline([("keen", 0.66), ("careful", 0.714)]).replace("\N{NO-BREAK SPACE}", " "))
    At 95 % correct, careful still finds 71 % of the labels' information (R@95C); keen finds 66 %.
    """
    (name, share), *others = sorted(recall, key=lambda model: -model[1])
    finds = f"still finds {_percent(share)} of the labels' information ({HEADLINE})"
    said = f"At {_percent(LEVEL)} correct, {name} {finds}"
    named, rest = others[: _NAMED - 1], others[_NAMED - 1 :]
    if len(rest) == 1:
        named, rest = others, []
    said += "".join(f"; {other} finds {_percent(value)}" for other, value in named)
    if rest:
        low, high = _percent(rest[-1][1]), _percent(rest[0][1])
        said += f"; the other {len(rest)} find {high if low == high else f'{low} to {high}'}"
    return said + "."


def _percent(share: float) -> str:
    """Write a share as a percentage; only 0 and 1 are written as 0 and 100.

    >>> [_percent(share).replace("\N{NO-BREAK SPACE}", " ") for share in (0.714, 0.9996, 1.0, 0.0003)]
    ['71 %', '99.9 %', '100 %', '0.1 %']
    """
    if 0 < share < 0.005 or 0.995 <= share < 1:
        return f"{min(99.9, max(0.1, 100 * share)):.1f}\N{NO-BREAK SPACE}%"
    return f"{100 * share:z.0f}\N{NO-BREAK SPACE}%"


def _facts(evaluations: Sequence[Evaluation], models: int, thing: str) -> str:
    """Return what was evaluated: models, examples, tree."""
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


def _thing(evaluations: Sequence[Evaluation], drawn: bool = False) -> str:
    """Return what examples are called: images, texts or examples; `drawn` ones are images."""
    if drawn:
        return "images"
    for kind in ("images", "texts"):
        if evaluations and all(kind in evaluation.examples for evaluation in evaluations):
            return kind
    return "examples"
