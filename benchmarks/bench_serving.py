"""What answering costs where a model runs: imports, single rows, batches, files.

Run with `python -m benchmarks.bench_serving`. Every figure is a ratio of two measurements of the same run, which
alternate; each is the least processor time of many, so that other programs on the machine matter little.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
import warnings
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

import hedgerow as hr
from hedgerow.choose import Request

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

LEAVES = 10_000
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": ""}


def main() -> None:
    imports()
    tree, point = big_point()
    one_row(tree, point)
    classifier()
    if find_spec("onnxruntime") and find_spec("onnx"):
        onnx_tail(point)
    else:
        print("onnx or onnxruntime is not installed: no ONNX file was measured")


def printed(what: str, slow: float, quick: float, than: str, unit: str = "ms") -> None:
    scale = {"ms": 1e3, "µs": 1e6}[unit]
    print(f"{what}: {slow * scale:,.1f} {unit}, {slow / quick:.1f} times {than} ({quick * scale:,.1f} {unit})")


def fastest(*calls: Callable[[], Any], rounds: int = 300, repeats: int = 3) -> list[float]:
    """Return the least processor time of each call, in seconds, as a mean over some repeats."""
    best = [np.inf] * len(calls)
    for _ in range(rounds):
        for i, call in enumerate(calls):
            start = time.process_time()
            for _ in range(repeats):
                call()
            best[i] = min(best[i], (time.process_time() - start) / repeats)
    return best


def processor_time(*commands: Sequence[str]) -> list[float]:
    """Return the least processor time of each command, in seconds."""
    best = [np.inf] * len(commands)
    for _ in range(15):
        for i, command in enumerate(commands):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run([sys.executable, *command], check=True, capture_output=True, env=ENVIRONMENT)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            best[i] = min(best[i], after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return best


def imports() -> None:
    numpy, hedgerow, command = processor_time(
        ["-c", "import numpy"], ["-c", "import hedgerow"], ["-m", "hedgerow", "--help"]
    )
    printed("import hedgerow", hedgerow, numpy, "import numpy")
    printed("hedgerow --help", command, hedgerow, "import hedgerow")


def big_point() -> tuple[hr.Hierarchy, hr.OperatingPoint]:
    lineages = [(f"o{i // 400}", f"f{i // 40}", f"g{i // 4}", f"s{i}") for i in range(LEAVES)]
    tree = hr.Hierarchy.from_lineages(lineages, ranks=["order", "family", "genus", "species"])
    request = Request.of(target="correct=0.9", guarantee="empirical")
    return tree, hr.OperatingPoint(tree, request, thresholds={"": 0.4}, scale="probability")


def softmax(x: Any) -> Any:
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def one_row(tree: hr.Hierarchy, point: hr.OperatingPoint) -> None:
    x = np.random.default_rng(0).normal(size=(1, LEAVES)) * 3
    p = softmax(x)
    quick, slow = fastest(lambda: softmax(x), lambda: point.predict(hr.likelihood.from_leaves(tree, p)))
    printed(f"one row of {LEAVES:,} leaves through a point", slow, quick, "its softmax in NumPy", "µs")


def classifier() -> None:
    from sklearn.linear_model import LogisticRegression
    from threadpoolctl import threadpool_limits

    from hedgerow.learn.classifier import HedgedClassifier

    random = np.random.default_rng(0)
    lineages = [(f"o{i // 60}", f"f{i // 10}", f"s{i}") for i in range(300)]
    tree = hr.Hierarchy.from_lineages(lineages, ranks=["order", "family", "species"])
    leaf, centres = random.integers(300, size=3000), random.normal(size=(300, 64))
    x, new = centres[leaf] + random.normal(size=(3000, 64)), random.normal(size=(4096, 64))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # neither needs to converge
        names = tree.names[tree.leaves][leaf]
        hedged = HedgedClassifier(tree, C=30.0, epochs=2, operating_point=0.7, random_state=0).fit(x, names)
        flat = LogisticRegression(max_iter=20).fit(x, names)
    for rows, rounds in ((4096, 50), (1, 300)):
        part = new[:rows]
        with threadpool_limits(1):  # threads that wait for each other take processor time
            quick, slow = fastest(partial(flat.predict, part), partial(hedged.predict, part), rounds=rounds)
        printed(f"HedgedClassifier.predict, {rows:,} rows", slow, quick, "LogisticRegression.predict")


def onnx_tail(point: hr.OperatingPoint) -> None:
    import onnx
    import onnxruntime
    from onnx import TensorProto, helper

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    shape: list[str | int | None] = ["N", LEAVES]
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in "xy")
    graph = helper.make_graph([helper.make_node("Softmax", ["x"], ["y"], axis=1)], "softmax", [x], [y])
    plain = helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 19)], ir_version=9)
    content = hr.export.onnx_model(point).SerializeToString()
    sessions = [
        onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        for model in (plain.SerializeToString(), content)
    ]
    p = softmax(np.random.default_rng(0).normal(size=(1, LEAVES)) * 3).astype(np.float32)
    quick, slow = fastest(
        lambda: sessions[0].run(None, {"x": p}), lambda: sessions[1].run(None, {"probabilities": p})
    )
    printed("one row through tail.onnx", slow, quick, "a softmax in onnxruntime", "µs")
    print(f"tail.onnx of {LEAVES:,} leaves: {len(content) / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
