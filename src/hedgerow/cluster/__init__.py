"""Data in many parts, on one machine or many: always the same evaluation.

In come score files, or functions that compute blocks of examples, and perhaps a Dask client; out goes one
evaluation, or a file of answers for every part. Without a client, parts are processed one after the other, and
Dask is not needed. A part that fails does not stop the others.
"""

from hedgerow.cluster.client import connect
from hedgerow.cluster.data_parts import ComputedPart, DataPart, FilePart, expand
from hedgerow.cluster.engine import Failure, PartsError, run_tasks
from hedgerow.cluster.evaluating import evaluate
from hedgerow.cluster.predicting import output_names, predict

__all__ = [
    "ComputedPart",
    "DataPart",
    "Failure",
    "FilePart",
    "PartsError",
    "connect",
    "evaluate",
    "expand",
    "output_names",
    "predict",
    "run_tasks",
]
