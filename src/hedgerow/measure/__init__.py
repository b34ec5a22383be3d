"""The room that measures: what likelihoods and labels say about a model.

In come likelihoods, block by block, with labels; out come operating curves, summary figures and an `Evaluation`,
which can be saved as a folder; `compare` asks whether several really differ. No other room turns likelihoods and
labels into figures. The next room is `show`.
"""

from hedgerow.measure import metrics
from hedgerow.measure.bootstrap import Difference, Interval
from hedgerow.measure.compare import SystemComparison, compare
from hedgerow.measure.curve import STANDARD_METRICS, CurveBuilder, OperatingCurve, operating_curve
from hedgerow.measure.evaluate import RULES, answering_rule, evaluate
from hedgerow.measure.evaluation import Evaluation, Examples
from hedgerow.measure.events import Events
from hedgerow.measure.folder import MEMBERS, read_or_evaluate, try_evaluation_folder
from hedgerow.measure.metrics import BelowLabel, Comparison, Metric
from hedgerow.measure.summary import intercept

__all__ = [
    "MEMBERS",
    "RULES",
    "STANDARD_METRICS",
    "BelowLabel",
    "Comparison",
    "CurveBuilder",
    "Difference",
    "Evaluation",
    "Events",
    "Examples",
    "Interval",
    "Metric",
    "OperatingCurve",
    "SystemComparison",
    "answering_rule",
    "compare",
    "evaluate",
    "intercept",
    "metrics",
    "operating_curve",
    "read_or_evaluate",
    "try_evaluation_folder",
]
