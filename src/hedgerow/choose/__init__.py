"""Operating points that keep a promise: "right at least 95 % of the time".

In come likelihoods and labels of examples that were not used in training, and a target; out goes an
`OperatingPoint`, a small file that says how to answer new examples. Everything works on threshold events
(`measure.Events`), so it is the same for dense and sparse likelihoods.
"""

from hedgerow.choose.among import ANSWERED
from hedgerow.choose.calibration import gather
from hedgerow.choose.explain import Explanation, describe, explain
from hedgerow.choose.families import FAMILIES, Family
from hedgerow.choose.guarantees import GUARANTEES, Guarantee
from hedgerow.choose.monitor import Monitor, Test
from hedgerow.choose.point import OperatingPoint, clade_of_node
from hedgerow.choose.proposals import Silence
from hedgerow.choose.ranks import RANKS
from hedgerow.choose.select import choose, expecting, select
from hedgerow.choose.shift import Stratum
from hedgerow.choose.spec import SelectionSpec
from hedgerow.choose.specification import point_schema
from hedgerow.choose.thresholds import CannotPromiseError
from hedgerow.choose.watched import Watched

__all__ = [
    "ANSWERED",
    "FAMILIES",
    "GUARANTEES",
    "RANKS",
    "CannotPromiseError",
    "Explanation",
    "Family",
    "Guarantee",
    "Monitor",
    "OperatingPoint",
    "SelectionSpec",
    "Silence",
    "Stratum",
    "Test",
    "Watched",
    "choose",
    "clade_of_node",
    "describe",
    "expecting",
    "explain",
    "gather",
    "point_schema",
    "select",
]
