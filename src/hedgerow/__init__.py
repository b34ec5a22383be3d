"""Hierarchical classification at every operating point."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from hedgerow import infer, likelihood, show  # noqa: F401  (show attaches the plot methods)
from hedgerow.errors import HedgerowError
from hedgerow.infer import ordered_pareto_sets
from hedgerow.measure import CurveBuilder, OperatingCurve, metrics, operating_curve
from hedgerow.tree import Hierarchy

__version__ = "0.1.0"
__all__ = [
    "CurveBuilder",
    "HedgerowError",
    "Hierarchy",
    "OperatingCurve",
    "__version__",
    "infer",
    "likelihood",
    "metrics",
    "operating_curve",
    "ordered_pareto_sets",
]

HedgedClassifier: Any  # named here for type checkers; importing its module would load torch

if not TYPE_CHECKING:

    def __dir__() -> list[str]:
        """Name what is there, and what would be loaded on first use."""
        return sorted([*globals(), "HedgedClassifier"])

    def __getattr__(name: str) -> Any:
        """Load on first use what needs torch."""
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
