"""A user's program with strict types: `make lint` checks what it asserts about types, and here it runs."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray

import hedgerow as hr


def test_types_of_a_users_program() -> None:
    h = hr.Hierarchy.from_json({"animal": {"bird": ["robin", "wren"], "fish": ["cod", "pike"]}})
    assert_type(h, hr.Hierarchy)
    assert_type(h.names, NDArray[np.object_])
    assert_type(h.parent, NDArray[np.int64])
    assert_type(h.index("robin"), int)
    assert_type(h.indices(["robin"]), NDArray[np.int64])
    assert_type(h.fingerprint, str)
    assert_type(h["bird"].children, tuple[str, ...])
    q = hr.likelihood.from_leaves(h, [[0.7, 0.2, 0.06, 0.04]], classes=["robin", "wren", "cod", "pike"])
    curve = hr.operating_curve(h, q, ["robin"])
    assert_type(curve, hr.OperatingCurve)
    assert_type(curve.at(0.5), dict[str, float])
    assert_type(curve.summary(), dict[str, float])
    builder = hr.CurveBuilder(h)
    builder.update(q, ["robin"])
    assert_type(builder.compute(), hr.OperatingCurve)
    evaluation = hr.evaluate(h, q, ["robin"])
    assert_type(evaluation, hr.Evaluation)
    assert_type(evaluation.summary()["AP"], float)
    scores = [[1, 0.9, 0.7, 0.2, 0.1, 0.06, 0.04], [1, 0.1, 0.06, 0.04, 0.9, 0.2, 0.7]]
    point = hr.select(h, scores, ["robin", "pike"], target=("correct", 0.9), guarantee="empirical")
    assert_type(point, hr.OperatingPoint)
    with tempfile.TemporaryDirectory() as folder:
        point.save(Path(folder, "point.json"))
        assert_type(hr.OperatingPoint.load(Path(folder, "point.json")), hr.OperatingPoint)
    assert_type(hr.metrics.correct(h, ["robin"], ["bird"]), NDArray[np.float64])
    answers: NDArray[np.int64] | Any = hr.infer.threshold(h, q, 0.5)
    assert h.names[answers].tolist() == ["robin"]
