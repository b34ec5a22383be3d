"""Hierarchical classification at every operating point."""

from hedgerow import infer, likelihood, metrics
from hedgerow.curve import CurveBuilder, OperatingCurve, operating_curve
from hedgerow.errors import HedgerowError
from hedgerow.hierarchy import Hierarchy
from hedgerow.pareto import ordered_pareto_sets

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
