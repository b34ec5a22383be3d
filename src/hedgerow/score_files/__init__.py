"""Score files in, predictions out.

In comes a score file in any format, and how to read it; out go blocks of likelihoods with labels, so that a file
may be larger than memory. A format yields raw blocks, with the names and numbers of the file; a binder turns them
into likelihoods, matching classes to the tree by name alone.
"""

from hedgerow.score_files.class_tables import read_prior, read_shares
from hedgerow.score_files.examples import COLUMNS, FACTS, KEPT, Block, Examples, as_column, as_names
from hedgerow.score_files.label_file import LabelFile
from hedgerow.score_files.labels import MISSING, no_label, read_labels
from hedgerow.score_files.lineage_binding import bare_name
from hedgerow.score_files.lineage_lines import LineageLineReader
from hedgerow.score_files.listed import ExampleReader, Lineages, ListedBlock, ListReader
from hedgerow.score_files.predictions import (
    PREDICTION_FORMATS,
    STDOUT,
    Written,
    check_layout,
    prediction_writer,
    write_predictions,
)
from hedgerow.score_files.score_formats import FORMATS, WIDE, ScoreFormat, find_format
from hedgerow.score_files.score_reading import ScoreReader, ScoreReading
from hedgerow.score_files.scores import Progress, Scores, open_label_file, open_parts, open_scores, silent
from hedgerow.score_files.wide_binder import check_clash, column_fit, misfit
from hedgerow.score_files.wide_files import WideReader, open_wide

__all__ = [
    "COLUMNS",
    "FACTS",
    "FORMATS",
    "KEPT",
    "MISSING",
    "PREDICTION_FORMATS",
    "STDOUT",
    "WIDE",
    "Block",
    "ExampleReader",
    "Examples",
    "LabelFile",
    "LineageLineReader",
    "Lineages",
    "ListReader",
    "ListedBlock",
    "Progress",
    "ScoreFormat",
    "ScoreReader",
    "ScoreReading",
    "Scores",
    "WideReader",
    "Written",
    "as_column",
    "as_names",
    "bare_name",
    "check_clash",
    "check_layout",
    "column_fit",
    "find_format",
    "misfit",
    "no_label",
    "open_label_file",
    "open_parts",
    "open_scores",
    "open_wide",
    "prediction_writer",
    "read_labels",
    "read_prior",
    "read_shares",
    "silent",
    "write_predictions",
]
