"""Score files in, predictions out.

In comes an `.npz` archive, or a CSV or Parquet table, with one column per class; out go blocks of likelihoods, so
that a file may be larger than memory, their columns bound to the tree by name alone. Errors name the row of the
file, counted from 0, and the class. The next room is `infer`.
"""

from hedgerow.score_files.binding import bare_name
from hedgerow.score_files.chained import ChainedScores
from hedgerow.score_files.class_columns import ColumnFit
from hedgerow.score_files.derived import DerivedScores, TemperedScores
from hedgerow.score_files.formats import FORMATS, WIDE, column_names, find_format
from hedgerow.score_files.label_file import LabelFile
from hedgerow.score_files.labels import read_labels
from hedgerow.score_files.layouts import check_layout
from hedgerow.score_files.predictions import Written, prediction_writer, write_predictions
from hedgerow.score_files.progress import Progress, silent
from hedgerow.score_files.score_file import ScoreFile, Scores, open_reader, open_scores
from hedgerow.score_files.score_tables import ColumnNames, check_clash
from hedgerow.score_files.source import Block
from hedgerow.score_files.tables import TABLES, own_delimiter

__all__ = [
    "FORMATS",
    "TABLES",
    "WIDE",
    "Block",
    "ChainedScores",
    "ColumnFit",
    "ColumnNames",
    "DerivedScores",
    "LabelFile",
    "Progress",
    "ScoreFile",
    "Scores",
    "TemperedScores",
    "Written",
    "bare_name",
    "check_clash",
    "check_layout",
    "column_names",
    "find_format",
    "open_reader",
    "open_scores",
    "own_delimiter",
    "prediction_writer",
    "read_labels",
    "silent",
    "write_predictions",
]
