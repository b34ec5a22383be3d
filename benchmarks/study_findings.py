"""Checks of the paper's findings that no table of a study shows, from the records of its main experiment.

Run with `python -m benchmarks.study_findings studies/glyphs/main/records`. Curves are compared through their upper
envelopes, at every hundredth of the metric along the axis, and averaged over the seeds; in per cent. Records state
curves at some 600 thresholds: between two of them the envelope is taken as straight.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import special

from hedgerow import methods
from hedgerow.study.experiment import NAMES
from hedgerow.study.scoring import logits_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

GRID = np.arange(1, 100) / 100
AXES = (("recall", "precision"), ("exact", "correct"))
RULES = ("plurality", "expected-information")
ROUNDED = 2e-5
KNOT = 3  # recorded thresholds to either side of 0.5


def read(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """Return the results of every method with its default parameters and the study's learning rate, one a seed."""
    found: dict[str, dict[int, dict[str, Any]]] = {}
    study = json.loads((folder.parent / "study.json").read_text(encoding="utf-8"))
    for path in sorted(folder.glob("main-*.json")):
        record = json.loads(path.read_text(encoding="utf-8"))
        method = dict(record["cell"]["method"])
        name = method.pop("name")
        rate = study["recipe"]["optimiser"]["lr"] if study["rates"] is None else study["rates"].get(name)
        if record["cell"]["optimiser"]["lr"] != rate:
            continue
        if method != {key: value for key, value in methods.parameters(name).items() if key in method}:
            continue
        for result in record["results"]:
            if result["way"] == "plain":
                found.setdefault(result["reading"], {})[record["cell"]["seed"]] = result
    return {NAMES[key]: [found[key][seed] for seed in sorted(found[key])] for key in NAMES if key in found}


def envelope(result: dict[str, Any], along: str, up: str, at: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the best of one metric where the other is at least so large; NaN beyond its end."""
    a, b = (np.array(result["curve"][name]) for name in (along, up))
    order = np.argsort(a, kind="stable")
    a, b = a[order], np.maximum.accumulate(b[order][::-1])[::-1]
    return np.where(at > a[-1] + ROUNDED, np.nan, np.interp(at, a, b))


def compare(systems: dict[str, list[dict[str, Any]]], base: str) -> None:
    for along, up in AXES:
        print(f"\n{base}: {up} at the same {along}, less that of the other method")
        mine = np.array([envelope(result, along, up, GRID) for result in systems[base]])
        for name, results in systems.items():
            if name == base:
                continue
            gap = 100 * np.mean(mine - [envelope(result, along, up, GRID) for result in results], axis=0)
            there = ~np.isnan(gap)
            gap, at = gap[there], GRID[there]
            print(
                f"  {name:22} better at {np.sum(gap > ROUNDED):2} of {len(gap)} places, worse at "
                f"{np.sum(gap < -ROUNDED):2}; from {gap.min():+.2f} at {at[gap.argmin()]:.2f} "
                f"to {gap.max():+.2f} at {at[gap.argmax()]:.2f}; {gap[-1]:+.2f} at the end, {at[-1]:.2f}"
            )


def rules(systems: dict[str, list[dict[str, Any]]]) -> None:
    print(
        "\nSingle rules, less the envelope of the threshold curve, where it reaches as far: mean (least to most)"
    )
    for name, results in systems.items():
        said = []
        for rule in RULES:
            for along, up in AXES:
                points = [result["rules"][rule] for result in results]
                gap = [
                    100 * float(point[up] - envelope(result, along, up, np.array(point[along])))
                    for point, result in zip(points, results, strict=True)
                ]
                gap = [each for each in gap if not np.isnan(each)]
                said.append(f"{rule} {up} {np.mean(gap):+.2f} ({min(gap):+.2f} to {max(gap):+.2f})")
        print(f"  {name:22} {'; '.join(said)}")


def knots(systems: dict[str, list[dict[str, Any]]]) -> None:
    tau = special.expit(logits_of(next(iter(systems.values()))[0]))
    half = int(np.searchsorted(-tau, -0.5))
    places = [half - KNOT, half, half + KNOT]
    first, _, last = tau[places]
    print(f"\nFrom τ = {first:.3f} to 0.5, and on to {last:.3f}: what recall gains and precision loses")
    for name, results in systems.items():
        recall, precision = (
            100 * np.mean([np.array(result["curve"][metric])[places] for result in results], axis=0)
            for metric in ("recall", "precision")
        )
        (gain, more), (loss, lost) = np.diff(recall), np.diff(precision)
        print(f"  {name:22} recall {gain:+.2f}, then {more:+.2f}; precision {loss:+.2f}, then {lost:+.2f}")


def intercepts(systems: dict[str, list[dict[str, Any]]]) -> None:
    print("\nLargest recall with so many answers right: mean ± 2 standard deviations")
    for name, results in systems.items():
        said = []
        for right in (0.95, 0.98, 0.99, 0.995, 0.999):
            values = []
            for result in results:
                recall, correct = (np.array(result["curve"][metric]) for metric in ("recall", "correct"))
                values.append(100 * float(np.max(recall[correct >= right], initial=0)))
            said.append(f"{100 * right:g} %: {np.mean(values):.1f} ±{2 * np.std(values, ddof=1):.1f}")
        print(f"  {name:22} {', '.join(said)}")


def main() -> None:
    systems = read(Path(sys.argv[1]))
    for base in ("Flat softmax", "Soft-max-margin"):
        compare(systems, base)
    rules(systems)
    knots(systems)
    intercepts(systems)


if __name__ == "__main__":
    main()
