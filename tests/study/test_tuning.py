"""The learning rate of each method is chosen on the validation data, never on the test data."""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from hedgerow import study
from hedgerow.errors import ParameterError
from hedgerow.learn.training.run import fit
from hedgerow.learn.training.scores import likelihood_blocks
from hedgerow.measure import evaluate
from hedgerow.study import tuning
from hedgerow.study.cells import StudyPlan
from hedgerow.study.records import Records
from tests.study.small import TWO, recipe, run, splits
from tests.study.test_experiments import CPU

if TYPE_CHECKING:
    from pathlib import Path

    from hedgerow.learn.data import DataSplits
    from hedgerow.study.cells import Cell


def pretending(monkeypatch: pytest.MonkeyPatch, best: dict[str, float], worked: list[Cell]) -> None:
    """Let the score of a rate be the nearer to 1 the nearer the rate is to the best of its method."""

    def work(cell: Cell, _: DataSplits) -> dict[str, Any]:
        worked.append(cell)
        apart = abs(np.log(cell.recipe.optimiser.lr / best[cell.recipe.method.name]))
        return {"results": [], "validation": {"AP": float(1 / (1 + apart))}}

    instead = dataclasses.replace(study.EXPERIMENTS["tuning"], work=work)
    monkeypatch.setitem(study.EXPERIMENTS, "tuning", instead)


def rates_of(cells: list[Cell], method: str) -> list[float]:
    return [cell.recipe.optimiser.lr for cell in cells if cell.recipe.method.name == method]


def test_the_ladder_goes_on_while_its_end_is_best(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    worked: list[Cell] = []
    pretending(monkeypatch, {"flat-softmax": 0.3, "ps-softmax": 0.01, "hxe": 1e-9, "softmax-margin": 1e9}, worked)
    chosen = ["flat-softmax", "ps-softmax", "hxe", "softmax-margin"]
    report = run(tmp_path, "tuning", tune=True, recipe=recipe("optimiser.lr=0.3"), chosen=chosen, seeds=2)
    assert rates_of(worked, "flat-softmax") == [0.1, 0.3, 0.9]
    assert rates_of(worked, "ps-softmax") == pytest.approx([0.1, 0.3, 0.9, 0.3 / 9, 0.1 / 9])  # 0.1 / 9 is best
    assert rates_of(worked, "hxe") == pytest.approx([0.1, 0.3, 0.9, 0.3 / 9, 0.3 / 27])
    assert rates_of(worked, "softmax-margin") == pytest.approx([0.1, 0.3, 0.9, 2.7, 8.1])
    assert {cell.recipe.run.seed for cell in worked} == {0}
    assert report.plan.rates == pytest.approx(
        {"flat-softmax": 0.3, "ps-softmax": 0.1 / 9, "hxe": 0.1 / 9, "softmax-margin": 8.1}, rel=1e-5
    )
    (said,) = report.findings["tuning"].tables["tuning"].notes
    assert said == (
        "Learning rates, chosen on the validation data: 0.0111 for HXE, PS softmax; 0.3 for Flat softmax; "
        "8.1 for Soft-max-margin."
    )


def test_of_rates_that_are_as_good_the_one_nearest_to_the_recipe_is_chosen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scores = {0.1: 0.8495, 0.3: 0.85, 0.9: 0.8509, 2.7: 0.8525}
    tried = list[float]()

    def work(cell: Cell, _: DataSplits) -> dict[str, Any]:
        tried.append(cell.recipe.optimiser.lr)
        return {"results": [], "validation": {"AP": scores[cell.recipe.optimiser.lr]}}

    monkeypatch.setitem(study.EXPERIMENTS, "tuning", dataclasses.replace(study.EXPERIMENTS["tuning"], work=work))
    given = {"tune": True, "recipe": recipe("optimiser.lr=0.3"), "chosen": ["hxe"]}
    assert run(tmp_path / "near", "tuning", **given).plan.rates == {"hxe": 0.3}
    assert tried == [0.1, 0.3, 0.9]
    scores[0.9] = 0.852  # more than noise above that of the recipe, so that a further rate is tried
    assert run(tmp_path / "far", "tuning", **given).plan.rates == {"hxe": 0.9}
    assert tried[3:] == [0.1, 0.3, 0.9, 2.7]


def test_experiments_train_with_the_chosen_rate_and_their_tables_name_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    worked: list[Cell] = []
    pretending(monkeypatch, {"flat-softmax": 0.3, "ps-softmax": 0.1}, worked)
    given = {"tune": True, "recipe": recipe("optimiser.lr=0.3"), "seeds": 2}
    report = run(tmp_path, "main", **given)
    assert len(worked) == 7
    records = [record["cell"] for record in Records(tmp_path / "records").all()]
    found = {(cell["method"]["name"], cell["optimiser"]["lr"]) for cell in records if cell["task"] == "main"}
    assert found == {("flat-softmax", 0.3), ("ps-softmax", 0.1)}
    assert {cell["seed"] for cell in records if cell["task"] == "main"} == {0, 1}
    said = "Learning rates, chosen on the validation data: 0.1 for PS softmax; 0.3 for Flat softmax."
    assert report.findings["main"].tables["main"].notes[-1] == said
    assert said in (tmp_path / "study.md").read_text()
    assert json.loads((tmp_path / "study.json").read_text())["rates"] == {"flat-softmax": 0.3, "ps-softmax": 0.1}

    again = run(tmp_path, "main", **given)
    assert len(worked) == 7  # everything has a record
    assert again.to_dict() == report.to_dict()
    other = run(tmp_path, "main", **{**given, "chosen": ["flat-softmax"], "limit": 0.0})
    assert (
        other.to_dict()["experiments"] == report.to_dict()["experiments"]
    )  # the page shows the other method of the folder, with its own rate
    plain = run(tmp_path, "main", **{**given, "tune": False})
    assert plain.findings["main"].tables["main"].notes[-1] == "Every method has the recipe's learning rate, 0.3."
    assert len(worked) == 7
    assert "tuning" not in plain.findings


def test_a_rate_is_measured_on_the_validation_data_alone(tmp_path: Path) -> None:
    class Untouchable:
        def __getattr__(self, name: str) -> Any:
            raise AssertionError("the test data was looked at")

    (cell, *_) = tuning.cells(StudyPlan(recipe("optimiser.lr=0.3"), splits(), methods=TWO))
    blind = dataclasses.replace(splits())
    object.__setattr__(blind, "test", Untouchable())
    found = tuning.work(cell, blind)
    classifier = fit(cell.recipe, splits())
    blocks = likelihood_blocks(classifier, splits().val, CPU)
    assert found["validation"] == evaluate(splits().hierarchy, blocks).summary()
    assert found["results"] == []


def test_a_rate_with_which_training_diverges_is_not_chosen(tmp_path: Path) -> None:
    wild = ("optimiser.kind=sgd", "optimiser.C=0", "optimiser.weight_decay=1", "optimiser.batch_size=20")
    report = run(
        tmp_path, "tuning", tune=True, recipe=recipe(*wild, "optimiser.lr=5", "optimiser.epochs=6"), chosen=["hxe"]
    )
    tried = {
        record["cell"]["optimiser"]["lr"]: record["validation"] for record in Records(tmp_path / "records").all()
    }
    assert report.failures == []
    assert tried[15.0] == {}
    assert report.plan.rates is not None
    assert tried[report.plan.rates["hxe"]]["AP"] > 0.3


def test_methods_without_a_rate_have_no_cells(tmp_path: Path) -> None:
    bad = recipe("method.name=ps-softmax", "method.nonsense=1")
    report = run(tmp_path, "main", tune=True, recipe=bad)
    assert {failure.cell.task for failure in report.failures} == {"tuning"}
    assert {failure.cell.recipe.method.name for failure in report.failures} == {"ps-softmax"}
    assert [row.name for row in report.findings["main"].tables["main"].rows] == ["Flat softmax"]
    assert run(tmp_path / "late", tune=True, limit=0.0).findings["main"].tables == {}


def test_tuning_needs_validation_data_and_is_not_left_out_by_name(tmp_path: Path) -> None:
    nothing = splits().val.subset(np.array([], dtype=np.int64))
    with pytest.raises(ParameterError, match=r"no validation examples, .* Use tune=False"):
        run(tmp_path, tune=True, splits=dataclasses.replace(splits(), val=nothing))
    with pytest.raises(ParameterError, match="The validation data is the test data"):
        run(tmp_path, tune=True, splits=dataclasses.replace(splits(), val=splits().test))
    with pytest.raises(ParameterError, match=r"'tuning' is what tune=False leaves out"):
        run(tmp_path, "tuning")
    assert list(tmp_path.iterdir()) == []
