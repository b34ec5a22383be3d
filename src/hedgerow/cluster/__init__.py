"""Data in many parts, on one machine or many: always the same evaluation."""

from hedgerow.cluster.client import connect
from hedgerow.cluster.data_parts import ComputedPart, DataPart, FilePart, expand
from hedgerow.cluster.engine import Failure, PartsError, run_tasks
from hedgerow.cluster.evaluating import evaluate
from hedgerow.cluster.predicting import output_names, predict
