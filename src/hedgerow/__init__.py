"""Hierarchical classification at every operating point."""

from hedgerow.errors import HedgerowError
from hedgerow.hierarchy import Hierarchy

__version__ = "0.1.0"
__all__ = ["HedgerowError", "Hierarchy", "__version__"]
