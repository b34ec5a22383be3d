"""Hierarchical classification at every operating point."""
# ruff: noqa: E402  (Ctrl-C counts from the first import on)

import os
import signal
import sys
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any

_IS_COMMAND = os.path.basename((sys.argv or [""])[0]) in ("hedgerow", "hedgerow.exe", "-m")  # noqa: PTH119
_IS_DEFAULT = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # a background job ignores Ctrl-C
if _IS_COMMAND and _IS_DEFAULT and "multiprocessing.spawn" not in sys.modules:
    with suppress(ValueError):  # in another thread
        # Ctrl-C ends the command without a traceback, until its `main` takes over.
        signal.signal(signal.SIGINT, signal.SIG_DFL)

from hedgerow import infer, likelihood, show
from hedgerow.choose import Monitor, OperatingPoint, select
from hedgerow.errors import HedgerowError
from hedgerow.infer import ordered_pareto_sets
from hedgerow.measure import (
    CurveBuilder,
    Evaluation,
    EvaluationBuilder,
    OperatingCurve,
    compare,
    evaluate,
    metrics,
    operating_curve,
)
from hedgerow.score_files import ScoreReading, open_scores
from hedgerow.tree import Hierarchy, TreeReading

if TYPE_CHECKING:
    from hedgerow import cluster as cluster
    from hedgerow import export as export
    from hedgerow import methods as methods
    from hedgerow.export import load_model as load_model
    from hedgerow.learn.classifier import HedgedClassifier as HedgedClassifier

__version__ = "0.3.0"
__all__ = [
    "CurveBuilder",
    "Evaluation",
    "EvaluationBuilder",
    "HedgerowError",
    "Hierarchy",
    "Monitor",
    "OperatingCurve",
    "OperatingPoint",
    "ScoreReading",
    "TreeReading",
    "__version__",
    "compare",
    "evaluate",
    "export",
    "infer",
    "likelihood",
    "load_model",
    "metrics",
    "open_scores",
    "operating_curve",
    "ordered_pareto_sets",
    "select",
]

if not TYPE_CHECKING:
    _LAZY = {
        "HedgedClassifier": "hedgerow.learn.classifier",
        "cluster": "hedgerow.cluster",
        "export": "hedgerow.export",
        "load_model": "hedgerow.export",
        "methods": "hedgerow.methods",
    }

    def __dir__() -> list[str]:
        """List all names, including those that are imported on first use."""
        return sorted({*globals(), *_LAZY})

    def __getattr__(name: str) -> Any:
        """Import on first use what needs torch or Dask, or what few need."""
        if name not in _LAZY:
            raise AttributeError(f"module 'hedgerow' has no attribute {name!r}")
        try:
            module = import_module(_LAZY[name])
        except ModuleNotFoundError as error:
            if error.name not in ("torch", "sklearn"):
                raise
            raise ModuleNotFoundError(
                f"{name} needs {error.name}, which is not installed: pip install 'hedgerow[torch]'",
                name=error.name,
            ) from error
        return getattr(module, name) if name in ("HedgedClassifier", "load_model") else module
