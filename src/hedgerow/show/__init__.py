"""What people look at: tables and progress on a terminal, figures.

In come evaluations and comparisons; out go text on a console and, from `show.figures`, matplotlib figures.
Nothing is computed here. The next room is `doctor`.
"""

from hedgerow.show.evaluation import print_comparison, print_evaluation, print_written
from hedgerow.show.terminal import live_bar, print_table

__all__ = ["live_bar", "print_comparison", "print_evaluation", "print_table", "print_written"]
