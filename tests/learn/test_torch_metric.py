"""The torchmetrics metric: one process, several processes, copies."""

from __future__ import annotations

import copy
import datetime
import pickle
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from torch import distributed
from torch.multiprocessing.spawn import spawn

import hedgerow as hr
from hedgerow import Hierarchy, metrics
from hedgerow.errors import ParameterError, ScoreError
from hedgerow.learn.torch_metric import (
    HierarchicalAP,
    OperatingCurveMetric,
    RecallAtCorrect,
    SummaryMetric,
)
from tests.curve_strategies import raw

if TYPE_CHECKING:
    from pathlib import Path

DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
OPTIONS: list[dict[str, Any]] = [{}, {"metrics": [metrics.edge_distance], "information": "depth"}]


def example_data() -> tuple[Hierarchy, torch.Tensor, torch.Tensor]:
    random = np.random.default_rng(0)
    parent = [-1, *(int(random.integers(i)) for i in range(1, 30))]
    h = Hierarchy.from_parents([f"n{i}" for i in range(30)], parent)
    theta = 3 * random.standard_normal((41, len(h.leaves)))
    q = hr.likelihood.flat_softmax(h, theta.round(1))
    return h, torch.tensor(q, dtype=torch.float32), torch.tensor(random.integers(30, size=41))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("options", OPTIONS)
def test_batches_give_the_builders_curve(options: dict[str, Any], device: str) -> None:
    h, q, labels = example_data()
    metric = OperatingCurveMetric(h, **options).to(device)
    for rows in (slice(0, 7), slice(7, 7), slice(7, 41)):
        metric.update(q[rows].to(device), labels[rows].to(device))
    expected = raw(hr.operating_curve(h, q, labels, **options))
    assert raw(metric.compute()) == expected
    metric.reset()
    metric.update(q.to(device), labels.to(device))
    assert raw(metric.compute()) == expected


@pytest.mark.parametrize("options", OPTIONS)
def test_forward_gives_the_curve_of_the_batch(options: dict[str, Any]) -> None:
    h, q, labels = example_data()
    metric = OperatingCurveMetric(h, **options)
    for rows in (slice(0, 20), slice(20, 41)):
        batch = metric(q[rows], labels[rows])
        assert raw(batch) == raw(hr.operating_curve(h, q[rows], labels[rows], **options))
    assert raw(metric.compute()) == raw(hr.operating_curve(h, q, labels, **options))


@pytest.mark.parametrize("options", OPTIONS)
def test_copies_go_on_by_themselves(options: dict[str, Any]) -> None:
    h, q, labels = example_data()
    metric = OperatingCurveMetric(h, **options)
    metric.update(q[:20], labels[:20])
    metric.compute()
    expected = raw(hr.operating_curve(h, q, labels, **options))
    for other in (pickle.loads(pickle.dumps(metric)), copy.deepcopy(metric), metric.clone()):  # noqa: S301
        other.update(q[20:], labels[20:])
        assert raw(other.compute()) == expected
    assert metric.compute().examples == 20


@pytest.mark.parametrize("options", OPTIONS)
def test_merged_states(options: dict[str, Any]) -> None:
    h, q, labels = example_data()
    parts = [OperatingCurveMetric(h, **options) for _ in range(3)]
    parts[0].update(q[:5], labels[:5])
    parts[1].update(q[5:], labels[5:])
    for part in parts[1:]:  # the last has seen nothing
        parts[0].merge_state(part)
    assert raw(parts[0].compute()) == raw(hr.operating_curve(h, q, labels, **options))


def test_only_like_metrics_merge() -> None:
    h, _, _ = example_data()
    with pytest.raises(ParameterError, match="same tree"):
        OperatingCurveMetric(h).merge_state(OperatingCurveMetric(h, scale="log"))


def test_names_arrays_and_gradients() -> None:
    h, q, labels = example_data()
    metric = OperatingCurveMetric(h)
    metric.update(q[:20].requires_grad_(), h.names[labels[:20].numpy()].tolist())
    metric.update(q[20:].detach(), labels[20:].numpy())
    assert raw(metric.compute()) == raw(hr.operating_curve(h, q.detach(), labels))


def test_nothing_seen() -> None:
    h, _, _ = example_data()
    for options in OPTIONS:
        with (
            pytest.warns(UserWarning, match="before the ``update``"),
            pytest.raises(ScoreError, match="one example"),
        ):
            OperatingCurveMetric(h, **options).compute()


def test_options_are_checked_when_the_metric_is_made() -> None:
    h, _, _ = example_data()
    with pytest.raises(ParameterError, match="scale must be"):
        OperatingCurveMetric(h, scale="odds")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="Unexpected keyword"):
        OperatingCurveMetric(h, colour="green")


# Rows of each of two processes; the curve is always that of all rows.
SPLITS = [
    (slice(0, 20), slice(20, 41)),
    (slice(0, 3), slice(3, 41)),
    (slice(0, 0), slice(0, 41)),
    (None, slice(0, 41)),
]


def work(rank: int, folder: str) -> None:
    distributed.init_process_group(
        "gloo", f"file://{folder}/meeting", datetime.timedelta(seconds=60), rank=rank, world_size=2
    )
    h, q, labels = example_data()
    curves = []
    for options in OPTIONS:
        for split in SPLITS:
            metric = OperatingCurveMetric(h, **options)
            if (rows := split[rank]) is not None:
                metric.update(q[rows], labels[rows])
            metric._update_count = 1  # silence the warning of a process that has seen nothing
            curves.append(raw(metric.compute()))
            local = [] if rows is None else labels[rows].tolist()
            assert sum(map(len, metric.label)) == len(local)  # what was gathered is let go of again
    with open(f"{folder}/{rank}.pickle", "wb") as file:  # noqa: PTH123
        pickle.dump(curves, file)
    distributed.destroy_process_group()


def test_two_processes_give_the_bytes_of_one(tmp_path: Path) -> None:
    spawn(work, (str(tmp_path),), nprocs=2)  # type: ignore[no-untyped-call]
    h, q, labels = example_data()
    expected = [raw(hr.operating_curve(h, q, labels, **options)) for options in OPTIONS for _ in SPLITS]
    for rank in range(2):
        assert pickle.loads((tmp_path / f"{rank}.pickle").read_bytes()) == expected  # noqa: S301


def test_the_package_does_not_import_torch() -> None:
    code = "import sys, hedgerow; sys.exit(any(name in sys.modules for name in ('torch', 'torchmetrics')))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_figures_are_those_of_an_evaluation() -> None:
    h, q, labels = example_data()
    expected = hr.evaluate(h, q, labels).summary()
    summary, precision, recall = SummaryMetric(h), HierarchicalAP(h), RecallAtCorrect(h, level=0.9)
    for metric in (summary, precision, recall):
        for rows in (slice(0, 7), slice(7, 41)):
            metric.update(q[rows], labels[rows])
    assert summary.compute() == {**expected, "examples": 41.0}
    assert precision.compute().item() == expected["AP"]
    assert recall.compute().item() == expected["R@90C"]
    assert HierarchicalAP(h)(q, labels).item() == expected["AP"]


def test_without_likely_leaves_the_most_specific_node_is_no_leaf() -> None:
    h = Hierarchy.from_edges([("root", "pet"), ("root", "wolf"), ("pet", "cat"), ("pet", "dog")])
    q = torch.tensor([[1.0, 0.5, 0.0, 0.0, 0.0], [1.0, 0.5, 0.5, 0.0, 0.0]])
    metric = SummaryMetric(h)
    metric.update(q, torch.tensor([2, 2]))
    assert metric.compute()["leaf_F1"] == hr.evaluate(h, q, torch.tensor([2, 2])).summary()["leaf_F1"]
    by_depth = SummaryMetric(h, information="depth")
    by_depth.update(q, torch.tensor([2, 2]))
    with pytest.raises(ParameterError, match="only if all leaves, and no other nodes, are the most specific"):
        by_depth.compute()
