"""The decision of an operating point for other programs: services, browsers, runtimes.

In comes an operating point, and for some a model; out go answers with their names and lineages, ONNX graphs,
JavaScript with a page to try it, and models that need NumPy alone. All of them follow one specification, and all
must pass the same test vectors.
"""

from hedgerow.export.answers import Answer, answers
from hedgerow.export.browser import write_app

__all__ = ["Answer", "answers", "write_app"]
