"""Reports as single HTML pages; what they are made with is imported when one is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hedgerow.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from os import PathLike

    from hedgerow.measure import Evaluation
    from hedgerow.show.page import PageModel, PagePoint

_EXTRA = ("jinja2", "markupsafe", "plotly", "PIL")


def require_report() -> None:
    """Raise an error if what the page is made with is not installed."""
    try:
        import hedgerow.show.page  # noqa: F401
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in _EXTRA:
            raise
        raise ParameterError(
            f"A report needs {error.name}, which is not installed: pip install 'hedgerow[report]'"
        ) from None


def write_report(
    path: str | PathLike[str],
    models: Sequence[Evaluation | PageModel],
    *,
    title: str | None = None,
    point: PagePoint | None = None,
    images: str | PathLike[str] | None = None,
    command: str = "",
) -> None:
    """Write one HTML page about one or more models, with a slider over all operating points.

    Parameters
    ----------
    path
        The file to write.
    models
        Evaluations with the same tree.
    title
        The heading; by default the names of the models.
    point
        An operating point to mark; `PagePoint.of` makes it from one that `select` chose.
    images
        The folder that holds the images of the examples. Images outside it are not shown.
    command
        The command that makes the page, to be shown on it.
    """
    require_report()
    from hedgerow.show.page import write_page

    write_page(path, models, title=title, point=point, images=images, command=command)


def report_evaluation(self: Evaluation, path: str | PathLike[str], **options: Any) -> None:
    """Write one HTML page with a slider over all operating points, the tree and examples.

    Parameters
    ----------
    path
        The file to write.
    options
        See `hedgerow.show.write_report`.
    """
    write_report(path, [self], **options)
