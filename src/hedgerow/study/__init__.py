"""The paper's empirical study, and some experiments beyond it: one file each."""

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
from hedgerow.study.experiment import Experiment, Findings  # noqa: TC001  (for others)
from hedgerow.study.records import Records

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
