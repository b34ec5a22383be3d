"""Hierarchical classification at every operating point."""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from hedgerow import infer, likelihood, show  # noqa: F401  (show attaches the plot methods)
from hedgerow.choose import OperatingPoint, select
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
    from hedgerow import cluster
    from hedgerow.learn.classifier import HedgedClassifier

__version__ = "0.2.0"
__all__ = [
    "CurveBuilder",
    "Evaluation",
    "EvaluationBuilder",
    "HedgerowError",
    "Hierarchy",
    "OperatingCurve",
    "OperatingPoint",
    "ScoreReading",
    "TreeReading",
    "__version__",
    "cluster",
    "compare",
    "evaluate",
    "infer",
    "likelihood",
    "metrics",
    "open_scores",
    "operating_curve",
    "ordered_pareto_sets",
    "select",
]
if find_spec("torch") is not None and find_spec("sklearn") is not None:
    __all__ += ["HedgedClassifier"]

if not TYPE_CHECKING:

    def __dir__() -> list[str]:
        """Name what is there, and what is loaded on first use."""
        return sorted([*globals(), "HedgedClassifier", "cluster"])

    def __getattr__(name: str) -> Any:
        """Load on first use what needs torch, or is needed only for many parts."""
        if name == "cluster":
            return import_module("hedgerow.cluster")
        if name != "HedgedClassifier":
            raise AttributeError(f"module 'hedgerow' has no attribute {name!r}")
        try:
            return import_module("hedgerow.learn.classifier").HedgedClassifier
        except ModuleNotFoundError as error:
            if error.name not in ("torch", "sklearn"):
                raise
            raise ImportError(
                f"HedgedClassifier needs {error.name}, which is not installed: pip install 'hedgerow[torch]'"
            ) from error
