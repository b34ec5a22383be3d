"""Operating points that keep a promise: "right at least 95 % of the time"."""

from hedgerow.choose.answer_paths import RANKS
from hedgerow.choose.calibration import gather
from hedgerow.choose.explain import Explanation, describe, explain
from hedgerow.choose.families import FAMILIES, Family
from hedgerow.choose.guarantees import GUARANTEES, Guarantee
from hedgerow.choose.monitor import Monitor, Test
from hedgerow.choose.point import OperatingPoint
from hedgerow.choose.promise import ANSWERED
from hedgerow.choose.request import PROMISES, Request
from hedgerow.choose.select import choose, select
from hedgerow.choose.specification import point_schema
from hedgerow.choose.suggestions import Silence
from hedgerow.choose.thresholds import CannotPromiseError
from hedgerow.choose.watched import read_answers, watched_answers
