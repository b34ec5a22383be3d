"""Score files in, predictions out.

A score file is an `.npz` archive, or a CSV or Parquet table, with one column per class; see the page on formats.
It is read in blocks of rows, so that it may be larger than memory, and its columns are bound to the tree by their
names alone. Errors name the row of the file, counted from 0, and the class.
"""

from hedgerow.predictions_io.scores import Block, ScoreFile, Scores, open_scores
from hedgerow.predictions_io.writers import prediction_writer, write_predictions

__all__ = ["Block", "ScoreFile", "Scores", "open_scores", "prediction_writer", "write_predictions"]
