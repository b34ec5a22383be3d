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
from plotly.offline import get_plotlyjs

from hedgerow.errors import ParameterError
from hedgerow.files import atomic_write
from hedgerow.measure import Evaluation
from hedgerow.show.evaluation import MEANINGS, percent, percent_range
from hedgerow.show.page import words
from hedgerow.show.page.data import PageData, PageModel, aligned
from hedgerow.show.page.thumbnails import check_folder, thumbnail

if TYPE_CHECKING:
    from collections.abc import Sequence
    from os import PathLike

    from jinja2 import Template

    from hedgerow.show.page.data import PagePoint

SCRIPTS = ("text", "series", "answers", "state", "curves", "figures", "tree", "cards", "mistakes", "table", "main")
"""Our own scripts, in the order in which they are run."""

_TABLE = ("AP", "AC", "AC_exact", "AURC", "R@90C", "R@95C", "E@95C", "majority_F1", "leaf_F1", "leaf_exact")


def write_page(path: str | PathLike[str], models: Sequence[Evaluation | PageModel], **options: Any) -> None:
    """Write the page to a file; the parameters are those of `page_html`."""
    html = page_html(models, **options)
    with atomic_write(path) as file:
        file.write(html)


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
        An operating point to mark.
    images
        The folder that holds the images of the examples; without it, no image is shown.
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
    thing = words.thing(evaluations, all(model.picture is not None for model in ordered))
    exact = data.at_headline("exact")
    content = data.to_dict() | {"thing": thing}
    own = _own_script()
    return _template().render(
        title=title or " and ".join(_listed([model.name for model in ordered])),
        policy=_policy(get_plotlyjs(), own),
        style=Markup(_file("style.css")),  # noqa: S704  (our own file)
        headline=words.headline([(model.name, share) for model, share in zip(ordered, exact, strict=True)], thing),
        facts=words.facts(evaluations, len(ordered), thing),
        thing=thing,
        notes=[*notes, *_image_notes(content, evaluations, folder is not None), *_warnings(evaluations)],
        models=ordered,
        has_tree=bool(evaluations),
        modes=_MODES,
        kinds=_KINDS,
        point=point,
        table=_summary_table(ordered),
        meanings=[(name, MEANINGS[name]) for name in _TABLE if name in ordered[0].summary],
        settings=[_settings(evaluation) for evaluation in evaluations],
        command=command,
        versions=f"hedgerow {version('hedgerow')}, Python {platform.python_version()}",
        data=Markup(_json(content)),  # noqa: S704  (escaped by _json)
        plotly=Markup(get_plotlyjs()),  # noqa: S704  (Plotly's own file)
        script=Markup(own),  # noqa: S704  (our own files)
    )


_KINDS = {
    "precision-recall": "Precision, recall",
    "correct-exact": "Correct, exact",
    "correct-recall": "Correct, recall",
}
_MODES = {
    "correct": ("Share correct", "at least this share of the answers is right"),
    "recall": ("Recall", "at least this share of the labels' information is found"),
    "threshold": ("Threshold", "an answer must be more likely than this"),
}


def _listed(names: list[str]) -> list[str]:
    return names if len(names) <= 3 else [f"{len(names)} models"]


@cache
def _template() -> Template:
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    return environment.from_string(_file("template.html"))


def _file(name: str) -> str:
    return files("hedgerow.show.page").joinpath(name).read_text(encoding="utf-8")


def _own_script() -> str:
    """Return our own scripts as one, whose names are not visible to others."""
    return '"use strict";\n(() => {\n' + "\n".join(_file(f"js/{name}.js") for name in SCRIPTS) + "\n})();\n"


def _policy(*scripts: str) -> str:
    """Return a policy under which a browser runs only these scripts and loads nothing."""
    digests = (base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts)
    allowed = " ".join(f"'sha256-{digest}'" for digest in digests)
    # Plotly sets styles from its script, and Chromium counts those as inline styles.
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data:; "
        f"base-uri 'none'; form-action 'none'"
    )


def _json(content: Any) -> str:
    """Return JSON that cannot end the script element that it is in."""
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    # A lone surrogate, which UTF-8 cannot encode, becomes a question mark.
    text = text.encode("utf-8", "replace").decode("utf-8")
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _image_notes(content: dict[str, Any], evaluations: Sequence[Evaluation], folder_given: bool) -> list[str]:
    if not evaluations or all(evaluation.answers.images is None for evaluation in evaluations):
        return []
    shown = [example for each in content["tree"]["sets"] for example in each["shown"]]
    missing = sum("image" not in example for example in shown)
    if not folder_given:
        return ["The images are not shown: give the folder that holds them with --images FOLDER."]
    if missing:
        return [f"{missing} of {len(shown)} images are missing from the folder, or cannot be read."]
    return []


def _warnings(evaluations: Sequence[Evaluation]) -> list[str]:
    return [f"{evaluation.name}: {warning}" for evaluation in evaluations for warning in evaluation.warnings]


def _summary_table(models: Sequence[PageModel]) -> dict[str, Any]:
    names = [name for name in _TABLE if all(name in model.summary for model in models)]
    rows = []
    for model in models:
        cells = []
        for name in names:
            value, interval = model.summary[name], model.intervals.get(name)
            spread = None if interval is None else percent_range(interval.low, interval.high)
            cells.append({"value": value, "shown": percent(value), "spread": spread})
        rows.append({"name": model.name, "cells": cells})
    return {"names": names, "rows": rows}


def _settings(evaluation: Evaluation) -> list[tuple[str, str]]:
    about = evaluation.to_dict()
    tree = about["tree"]
    return [
        ("examples", f"{len(evaluation):,}"),
        ("specificity measured by", about["settings"]["information"]),
        (
            "an answer below its label",
            "is wrong" if evaluation.settings.below_label == "wrong" else "counts as the label",
        ),
        ("scale of the likelihoods", evaluation.scale),
        ("tree", f"{tree['nodes']:,} nodes, {tree['leaves']:,} leaves, depth {tree['depth']}"),
        ("fingerprint of the tree", tree["fingerprint"]),
    ]
