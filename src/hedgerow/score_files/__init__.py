"""Score files in, predictions out.

In comes an `.npz` archive, or a CSV or Parquet table, with one column per class; out go blocks of likelihoods, so
that a file may be larger than memory, their columns bound to the tree by name alone. Errors name the row of the
file, counted from 0, and the class. The next room is `infer`.
"""

from hedgerow.score_files.predictions import Written, prediction_writer, write_predictions
from hedgerow.score_files.progress import Progress, silent
from hedgerow.score_files.scores import Block, ScoreFile, Scores, open_scores

__all__ = [
    "Block",
    "Progress",
    "ScoreFile",
    "Scores",
    "Written",
    "open_scores",
    "prediction_writer",
    "silent",
    "write_predictions",
]
