"""The only package that measures: what likelihoods and labels say about a model."""

from hedgerow.measure import metrics
from hedgerow.measure.bootstrap import Difference, Interval, difference_of_runs, replicated
from hedgerow.measure.builder import STANDARD_METRICS, CurveBuilder, Measures, operating_curve
from hedgerow.measure.clusters import Clusters
from hedgerow.measure.comparison import SystemComparison, compare, side_by_side
from hedgerow.measure.curve import OperatingCurve, intercept
from hedgerow.measure.evaluation import Evaluation
from hedgerow.measure.evaluation_builder import (
    EvaluationBuilder,
    evaluate,
    example_blocks,
    labels_at_the_root,
    merge,
    natural,
    repeated_ids,
    with_intervals,
)
from hedgerow.measure.events import Events, Part
from hedgerow.measure.from_path import read_or_evaluate
from hedgerow.measure.metrics import Comparison, Metric, name_of_metric, right_of_answered
from hedgerow.measure.ranks import Ranks, mistakes
from hedgerow.measure.reliability import Reliability, calibration_error
from hedgerow.measure.saved import MEMBERS, try_evaluation_folder
