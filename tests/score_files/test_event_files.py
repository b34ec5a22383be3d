"""Events in score files: pooled wherever their rows are, with one label, one id and one cluster each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from hedgerow.errors import ParameterError
from hedgerow.score_files import Block

if TYPE_CHECKING:
    from pathlib import Path

TREE = hr.Hierarchy.from_json({"animal": {"bird": ["robin", "wren"], "fish": ["cod"]}})
LEAVES = TREE.names[TREE.leaves].tolist()


def table(events: list[str], labels: list[str], seed: int = 0, **more: Any) -> pd.DataFrame:
    p = np.random.default_rng(seed).dirichlet(np.ones(3), size=len(events))
    ids = [f"i{row}" for row in range(len(events))]
    return pd.DataFrame(p, columns=LEAVES).assign(id=ids, label=labels, burst=events, **more)


def opened(path: Path, block_rows: int | None = None, labels: bool = True, **how: Any) -> Any:
    reading = hr.ScoreReading(event_column="burst", **how)
    return Block.concatenate(list(hr.open_scores(path, TREE, reading, labels=labels, block_rows=block_rows)))


@pytest.mark.parametrize("block_rows", [None, 1, 2, 3, 100])
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_rows_of_an_event_may_be_anywhere(tmp_path: Path, block_rows: int | None, suffix: str) -> None:
    events = ["b", "a", "b", "c", "a", "d", "b", "d"]
    label = {"a": "robin", "b": "cod", "c": "bird", "d": "wren"}
    frame = table(events, [label[event] for event in events])
    path = tmp_path / f"scores.{suffix}"
    getattr(frame, f"to_{suffix}")(path, index=False)
    block = opened(path, block_rows)
    expected = frame.groupby("burst")[LEAVES].mean()
    assert sorted(block.ids.tolist()) == ["a", "b", "c", "d"]
    for name, row, node in zip(block.ids.tolist(), block.q, block.labels.tolist(), strict=True):
        assert row[TREE.leaves] == pytest.approx(expected.loc[name].to_numpy())
        assert TREE.names[node] == label[name]
    if block_rows in (None, 100):
        assert block.ids.tolist() == ["b", "a", "c", "d"]


def test_the_deepest_label_counts(tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    table(["e", "e", "e", "f", "g", "g"], ["animal", "robin", "bird", "", "", "fish"]).to_csv(path, index=False)
    scores = hr.open_scores(path, TREE, hr.ScoreReading(event_column="burst"))
    block: Any = Block.concatenate(list(scores))
    assert block.ids.tolist() == ["e", "g"]
    assert TREE.names[block.labels].tolist() == ["robin", "fish"]
    assert any("1 example has no label" in warning for warning in scores.warnings)


def test_examples_without_a_label_are_pooled_too(tmp_path: Path) -> None:
    """Otherwise a point would be chosen with other events than it answers."""
    frame = table(["e", "e", "f"], ["", "", ""]).drop(columns="label")
    frame.to_csv(tmp_path / "scores.csv", index=False)
    (tmp_path / "labels.csv").write_text("id,label\ni1,robin\n", encoding="utf-8")
    block = opened(tmp_path / "scores.csv", labels_file=tmp_path / "labels.csv")
    assert block.ids.tolist() == ["e"]
    assert block.q[0][TREE.leaves] == pytest.approx(frame[LEAVES][:2].mean().to_numpy())
    alone = opened(tmp_path / "scores.csv", labels=False)
    assert np.array_equal(alone.q[0], block.q[0])


def test_events_from_the_file_of_labels(tmp_path: Path) -> None:
    frame = table(["e", "e", "f"], ["robin", "robin", "cod"])
    frame[[*LEAVES, "id"]].to_csv(tmp_path / "scores.csv", index=False)
    frame[["id", "label", "burst"]].to_csv(tmp_path / "labels.csv", index=False)
    for labels in (True, False):
        block = opened(tmp_path / "scores.csv", labels=labels, labels_file=tmp_path / "labels.csv")
        assert block.ids.tolist() == ["e", "f"]
        assert block.q[0][TREE.leaves] == pytest.approx(frame[LEAVES][:2].mean().to_numpy())


def test_several_models_on_one_example(tmp_path: Path) -> None:
    """Events may be spread over files, and the temperature comes before the pooling."""
    frames = [table(["x", "y"], ["robin", "cod"], seed) for seed in (0, 1)]
    for number, frame in enumerate(frames):
        frame.drop(columns="id").to_csv(tmp_path / f"{number}.csv", index=False)
    scores = hr.score_files.open_parts(
        [tmp_path / "0.csv", tmp_path / "1.csv"], TREE, hr.ScoreReading(event_column="burst", pool="geometric")
    )
    block: Any
    (block,) = scores.tempered(2.0)
    root = np.sqrt(np.stack([frame[LEAVES].to_numpy() for frame in frames]))
    softened = root / root.sum(axis=2, keepdims=True)
    product = np.sqrt(softened[0] * softened[1])
    assert block.q[:, TREE.leaves] == pytest.approx(product / product.sum(axis=1, keepdims=True))
    assert block.likelihoods.treatment == hr.likelihood.Treatment(2.0, None, "geometric")


@pytest.mark.parametrize(
    ("events", "labels", "more", "said"),
    [
        (
            ["e", "f", "e"],
            ["robin", "cod", "cod"],
            {},
            "labels from two clades: 'e'; the first, 'robin' and 'cod'",
        ),
        (["e", "", "f"], ["robin"] * 3, {}, "the event is blank for 1 example, the first in row 1"),
        (["e", "e", "f"], ["robin"] * 3, {"cluster": ["p", "q", "p"]}, "'e' have different clusters: 'p' and 'q'"),
        (["e", "e", "f"], ["robin"] * 3, {"group": ["p", "q", "p"]}, "'e' have different groups: 'p' and 'q'"),
    ],
)
def test_events_that_contradict_themselves(
    tmp_path: Path, events: list[str], labels: list[str], more: dict[str, Any], said: str
) -> None:
    table(events, labels, **more).to_csv(tmp_path / "scores.csv", index=False)
    with pytest.raises(hr.HedgerowError, match=said):
        opened(tmp_path / "scores.csv")


def test_npz_and_long_tables(tmp_path: Path) -> None:
    frame = table(["e", "e", "f"], ["robin", "robin", "cod"])
    arrays = {name: frame[name].to_numpy(dtype=str) for name in ("id", "label", "burst")}
    np.savez(
        tmp_path / "s.npz",
        probabilities=frame[LEAVES].to_numpy(),
        classes=np.array(LEAVES),
        labels=arrays["label"],
        burst=arrays["burst"],
    )
    long = frame.melt(["id", "label", "burst"], LEAVES, "class", "score").sort_values("id", kind="stable")
    long.to_csv(tmp_path / "long.csv", index=False)
    wide, listed = opened(tmp_path / "s.npz"), opened(tmp_path / "long.csv")
    assert wide.ids.tolist() == listed.ids.tolist() == ["e", "f"]
    assert np.allclose(wide.q, listed.q)


def test_points_are_for_events_or_for_examples(tmp_path: Path) -> None:
    events = [f"e{row // 2}" for row in range(80)]
    frame = table(events, ["robin"] * 40 + ["cod"] * 40)
    frame.to_csv(tmp_path / "s.csv", index=False)
    reading = hr.ScoreReading(event_column="burst", pool="max")
    scores = hr.open_scores(tmp_path / "s.csv", TREE, reading)
    point = hr.select(TREE, scores, target=("correct", 0.5))
    assert (point.examples, point.pool) == (40, "max")
    point.save(tmp_path / "p.json")
    again = hr.OperatingPoint.load(tmp_path / "p.json")
    assert again == point
    assert len(again.predict(scores)) == 40
    single = hr.likelihood.Likelihoods.of(TREE, hr.likelihood.from_leaves(TREE, frame[LEAVES]))
    with pytest.raises(ParameterError, match="these are single examples, not events"):
        point.predict(single)
    pooled, _ = hr.likelihood.pool(TREE, single, events)
    with pytest.raises(ParameterError, match="these events are pooled by mean, not by max"):
        point.predict(pooled)
    pooled, _ = hr.likelihood.pool(TREE, single, events, "max")
    assert np.array_equal(point.predict(pooled), point.predict(scores))
    alone = hr.select(TREE, single, frame["label"], target=("correct", 0.5))
    with pytest.raises(ParameterError, match="these are pooled by event"):
        alone.predict(pooled)
