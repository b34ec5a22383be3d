"""What scores, labels and a tree say about a model: its operating curve, its figures, and what each rule answers.

`evaluate` reads scores once, block by block, and returns an `Evaluation`, which can be saved as a folder.
`compare` sets several evaluations side by side and asks, with a paired bootstrap, whether they really differ.
"""

from hedgerow.evaluation.comparing import SystemComparison, compare
from hedgerow.evaluation.evaluating import RULES, answering_rule, evaluate
from hedgerow.evaluation.folder import read_or_evaluate
from hedgerow.evaluation.result import Evaluation, Examples

__all__ = [
    "RULES",
    "Evaluation",
    "Examples",
    "SystemComparison",
    "answering_rule",
    "compare",
    "evaluate",
    "read_or_evaluate",
]
