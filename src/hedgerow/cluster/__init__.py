"""Many parts, on one machine or many: the same evaluation, however they are shared out.

In come score files, or functions that make blocks of examples where they are needed, and a Dask client if there is
one; out goes one evaluation, or a file of answers for every part. Without a client, the parts are
worked through one after the other, and Dask is not needed. A part that fails does not stop the others.
"""

from hedgerow.cluster.client import connect
from hedgerow.cluster.engine import Failure, PartsError, run_tasks
from hedgerow.cluster.evaluating import evaluate
from hedgerow.cluster.predicting import output_names, predict
from hedgerow.cluster.sources import FileSource, MadeSource, Source, expand

__all__ = [
    "Failure",
    "FileSource",
    "MadeSource",
    "PartsError",
    "Source",
    "connect",
    "evaluate",
    "expand",
    "output_names",
    "predict",
    "run_tasks",
]
