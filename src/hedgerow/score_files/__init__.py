"""Score files in, predictions out."""

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
