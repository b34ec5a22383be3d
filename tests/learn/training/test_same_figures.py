"""One model, three places that state its figures: training, `hedgerow evaluate RUN`, a cell of a study."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from hedgerow import methods
from hedgerow.cli import app
from hedgerow.learn.data import DataSplits, LabelledInputs
from hedgerow.learn.training.run import train
from hedgerow.study.scoring import readings, score
from tests.learn.training.toy import TREE, recipe, splits

if TYPE_CHECKING:
    from pathlib import Path

    from hedgerow.learn.training.module import Classifier

CPU = torch.device("cpu")


def loud(given: DataSplits, factor: float) -> DataSplits:
    """Return features so large that the scores of a trained model saturate every sigmoid in single precision."""

    def scaled(examples: LabelledInputs) -> LabelledInputs:
        return LabelledInputs(np.asarray(examples.inputs) * factor, examples.labels)

    return DataSplits(given.name, TREE, *(scaled(given.split(name)) for name in ("train", "val", "test")))


def study_figures(classifier: Classifier, name: str, data: DataSplits) -> dict[str, float]:
    found = score(classifier, data.test, CPU, {"plain": readings(classifier.method, name)[:1]})
    summary: dict[str, float] = found[0]["summary"]
    return {figure: value for figure, value in summary.items() if figure != "leaf_ECE"}


@pytest.mark.parametrize("name", methods.available())
@pytest.mark.parametrize("factor", [1.0, 3000.0])
def test_every_place_states_the_same_figures(name: str, factor: float, tmp_path: Path) -> None:
    data = loud(splits(), factor)
    settings = [f"method.name={name}", "model.scale_inputs=false", "optimiser.epochs=2"]
    run = train(recipe(*settings), tmp_path / "run", progress=False, splits=data)
    trained = run.metrics()["test"]

    shown = CliRunner().invoke(app, ["evaluate", str(run.path), "--json", str(tmp_path / "figures.json")])
    assert shown.exit_code == 0, shown.output
    evaluated: dict[str, Any] = json.loads((tmp_path / "figures.json").read_text())
    assert evaluated["summary"] == trained
    assert evaluated["scale"] == methods.METHODS[name].scale

    assert study_figures(run.classifier(), name, data) == trained


def test_validation_figures_are_those_of_an_evaluation(tmp_path: Path) -> None:
    data = splits()
    run = train(recipe("optimiser.epochs=1"), tmp_path / "run", progress=False, splits=data)
    (log,) = run.path.glob("logs/csv/*/metrics.csv")
    head, *rows = [line.split(",") for line in log.read_text().splitlines()]
    logged = {name: float(row[head.index(name)]) for name in head for row in rows if row[head.index(name)]}
    for figure, value in run.metrics()["val"].items():
        assert logged[f"val/{figure}"] == pytest.approx(value, abs=1e-6)  # logged in single precision
