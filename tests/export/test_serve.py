"""The programs of docs/how-to/services.md, as they stand there, where their libraries are installed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hedgerow as hr
from tests.choose.test_select import quiet

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "services.md"
TREE = hr.Hierarchy.from_edges([("root", "pet"), ("root", "wolf"), ("pet", "cat"), ("pet", "dog")])


def program(word: str) -> dict[str, Any]:
    """Run the only block of Python on the page that holds a word, and return its names."""
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    (code,) = [block for block in blocks if word in block]
    names: dict[str, Any] = {"__name__": "served"}
    exec(compile(code, str(PAGE), "exec", dont_inherit=True), names)  # noqa: S102
    return names


def save_point() -> hr.OperatingPoint:
    q = hr.likelihood.from_leaves(TREE, [[0.5, 0.25, 0.25]] * 20)
    point = quiet(TREE, q, ["cat"] * 10 + ["dog"] * 9 + ["wolf"], target=("correct", 0.9))
    point.save("point.json")
    return point


def test_fastapi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("fastapi")
    pytest.importorskip("httpx")
    testing = pytest.importorskip("fastapi.testclient")
    monkeypatch.chdir(tmp_path)
    save_point()
    client = testing.TestClient(program("FastAPI()")["app"])
    found = client.post("/answer", json={"wolf": 0, "dog": 0.5, "cat": 0.5})
    assert found.status_code == 200
    assert found.json() == {
        "node": 1,
        "name": "pet",
        "likelihood": 1.0,
        "lineage": ["root", "pet"],
        "promise": "correct >= 0.9",
        "guarantee": "conformal",
    }
    for wrong in ({"wolf": 0.5, "dog": 0, "cat": 0}, {"wolf": 0.5, "lion": 0.5, "cat": 0}):
        refused = client.post("/answer", json=wrong)
        assert refused.status_code == 422
        assert refused.json()["detail"]


def test_litserve(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    litserve = pytest.importorskip("litserve")
    classifier = pytest.importorskip("hedgerow.learn.classifier").HedgedClassifier
    monkeypatch.chdir(tmp_path)
    x = np.random.default_rng(0).normal(size=(60, 4))
    clf = classifier(TREE, C=20.0, epochs=1, random_state=0)
    clf.fit(x, ["cat", "dog", "wolf"] * 20)
    clf.set_operating_point(save_point())
    clf.export("model.npz")
    api = program("LitAPI")["Answers"]()
    assert isinstance(api, litserve.LitAPI)
    api.setup("cpu")
    found = api.predict({"features": x.tolist()})
    assert [each["name"] for each in found["answers"]] == clf.predict(x).tolist()
    assert found["promise"] == "correct >= 0.9"
    refusals: list[dict[str, Any]] = [{}, {"features": [[1, 2]]}, {"features": [["a"] * 4]}, {"features": []}]
    for wrong in refusals:
        with pytest.raises(Exception, match=r"422: Features") as refused:
            api.predict(wrong)
        assert type(refused.value).__name__ == "HTTPException"


def test_the_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("huggingface_hub")
    torch = pytest.importorskip("torch")
    from hedgerow.learn.training.run import train
    from tests.learn.training.toy import recipe, splits

    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    train(recipe(), tmp_path / "run", progress=False, splits=splits())
    kind = program("PyTorchModelHubMixin, snapshot")["Run"]
    run = kind(str(tmp_path / "run"))
    run.save_pretrained(tmp_path / "saved")
    again = kind.from_pretrained(str(tmp_path / "saved"))
    inputs = torch.from_numpy(np.asarray(splits().test.inputs))
    assert torch.equal(again(inputs), run(inputs))
    assert "hierarchical-classification" in (tmp_path / "saved" / "README.md").read_text(encoding="utf-8")
