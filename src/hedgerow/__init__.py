"""Hierarchical classification at every operating point."""

from hedgerow import likelihood, metrics
from hedgerow.errors import HedgerowError
from hedgerow.hierarchy import Hierarchy
from hedgerow.pareto import ordered_pareto_sets

__version__ = "0.1.0"
__all__ = ["HedgerowError", "Hierarchy", "__version__", "likelihood", "metrics", "ordered_pareto_sets"]
