"""The paper's empirical study, and some experiments beyond it: one file each.

In come a recipe and the names of experiments; out go records, tables, figures and sentences about the results. An
experiment is a grid of cells; each cell is one training and its measurements. A finished cell is one small JSON
record; tables and figures are made from records alone.
"""

from __future__ import annotations

from hedgerow.registry import Registry
from hedgerow.study import (
    calibration,
    hyper_parameters,
    levels,
    long_tail,
    main,
    mixed_granularity,
    out_of_scope,
    tuning,
    unseen,
)
from hedgerow.study.cells import PAPER_METHODS, Cell, StudyPlan
from hedgerow.study.experiment import Experiment, Findings
from hedgerow.study.records import Records

__all__ = ["EXPERIMENTS", "PAPER_METHODS", "Cell", "Experiment", "Findings", "Records", "StudyPlan"]

EXPERIMENTS: Registry[Experiment] = Registry(
    "experiment",
    {
        tuning.TASK: tuning.EXPERIMENT,
        "main": main.EXPERIMENT,
        "unseen": unseen.EXPERIMENT,
        "levels": levels.EXPERIMENT,
        "hyper_parameters": hyper_parameters.EXPERIMENT,
        "calibration": calibration.EXPERIMENT,
        "long_tail": long_tail.EXPERIMENT,
        "mixed_granularity": mixed_granularity.EXPERIMENT,
        "out_of_scope": out_of_scope.EXPERIMENT,
    },
)
"""Every experiment by its name, in the order in which `all` runs them."""
