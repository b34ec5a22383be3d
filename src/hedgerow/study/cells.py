"""Cells: a cell is one training and its measurements, the unit of work, of resuming and of exchange."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, final

from hedgerow import methods
from hedgerow.learn.training.recipe import Choice, Recipe

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from hedgerow.learn.data import DataSplits

PAPER_METHODS = (
    "flat-softmax",
    "hxe",
    "multilabel-focal",
    "conditional-softmax",
    "conditional-sigmoid",
    "deep-rtc",
    "ps-softmax",
    "softmax-descendant",
    "softmax-margin",
)
"""The methods of the paper, in the order of its table."""

_NEAR = 1000  # records are included if their seeds are within this distance of those requested
_PLACES = ("path", "tree", "titles", "cache")  # where the data is stored is no part of its identity


@final
@dataclass(frozen=True)
class Cell:
    """A training by a recipe, including the seed, within a task.

    Experiments that need the same training and the same measurements share their cells.
    """

    task: str
    """The experiment that defines what to train and measure."""
    recipe: Recipe
    data: Mapping[str, Any]
    """The identity of the data: see `describe_data`."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Further parameters of the task."""

    @cached_property
    def identity(self) -> dict[str, Any]:
        """Everything that determines the result, ready for JSON; not where or on which device the cell runs."""
        recipe = self.recipe
        return {
            "task": self.task,
            "options": dict(self.options),
            "data": dict(self.data),
            "model": recipe.model.table(),
            "method": {"name": recipe.method.name, **_all_parameters(recipe.method)},
            "optimiser": dataclasses.asdict(recipe.optimiser),
            "seed": recipe.run.seed,
        }

    @cached_property
    def name(self) -> str:
        """A file name that no other cell has."""
        return name_of_cell(self.identity)

    @property
    def title(self) -> str:
        """The name of the cell in messages."""
        given = {**self.recipe.method.params, **{k: v for k, v in self.options.items() if k != "metrics"}}
        settings = "".join(f", {key} {value}" for key, value in given.items())
        return f"{self.recipe.method.name}{settings}, seed {self.recipe.run.seed}"


@final
@dataclass(frozen=True)
class StudyPlan:
    """What a study covers."""

    recipe: Recipe
    splits: DataSplits
    seeds: int = 1
    methods: Sequence[str] = PAPER_METHODS
    metrics: Sequence[str] = ()
    """Metrics to measure in addition, by name or path; they are part of what a cell is."""
    rates: Mapping[str, float] | None = None
    """The learning rates that were chosen for methods, instead of the recipe's; other methods have no cells."""

    @cached_property
    def data(self) -> dict[str, Any]:
        """The identity of the data."""
        return describe_data(self.splits, self.recipe.data)

    def cells(self, task: str, method: str, params: Mapping[str, Any] | None = None, **options: Any) -> list[Cell]:
        """Return the cells of a method, one per seed; parameters not given are the recipe's, or the defaults."""
        rate = self.rate(method)
        if rate is None:
            return []
        own = self.recipe.method.params if method == self.recipe.method.name else {}
        optimiser = dataclasses.replace(self.recipe.optimiser, lr=rate)
        choice = Choice(method, {**own, **(params or {})})
        recipe = dataclasses.replace(self.recipe, method=choice, optimiser=optimiser)
        first = self.recipe.run.seed
        seeds = range(first, first + self.seeds)
        options |= {"metrics": list(self.metrics)} if self.metrics else {}
        return [Cell(task, recipe.with_run(seed=seed), self.data, options) for seed in seeds]

    def rate(self, method: str) -> float | None:
        """Return the learning rate of a method; None if it must be chosen first."""
        return self.recipe.optimiser.lr if self.rates is None else self.rates.get(method)

    def cells_of_methods(self, task: str, **options: Any) -> list[Cell]:
        """Return the cells of every method and seed."""
        return [cell for method in self.methods for cell in self.cells(task, method, **options)]

    def covering(self, records: Iterable[Mapping[str, Any]]) -> StudyPlan:
        """Return the plan extended to methods and seeds that have records of the same data and recipe.

        Records may come from elsewhere, so methods outside hedgerow, which would have to be imported, are left out
        unless the plan names them, and so are seeds far from those of the plan.
        """
        mine = as_read(Cell("", self.recipe, self.data).identity)
        chosen, first = list(self.methods), self.recipe.run.seed
        seeds = {first, first + self.seeds - 1}
        for record in records:
            cell, own = record["cell"], record["cell"]["method"]["name"]
            optimiser = {**mine["optimiser"], "lr": self.rate(own)}
            same = (cell["data"], cell["model"], cell["optimiser"]) == (mine["data"], mine["model"], optimiser)
            if same and "validation" not in record:
                if own in methods.METHODS:
                    chosen.append(own)
                if first - _NEAR <= cell["seed"] < first + self.seeds + _NEAR:
                    seeds.add(cell["seed"])
        order = [*PAPER_METHODS, *chosen]
        return dataclasses.replace(
            self,
            recipe=self.recipe.with_run(seed=min(seeds)),
            seeds=max(seeds) - min(seeds) + 1,
            methods=tuple(name for name in dict.fromkeys(order) if name in chosen),
        )


def name_of_cell(identity: Mapping[str, Any]) -> str:
    """Return a file name that no cell with another identity has."""
    digest = hashlib.sha256(canonical(identity).encode()).hexdigest()[:12]
    method = identity["method"]["name"].replace(":", ".")  # "package.module:Class"
    return f"{identity['task']}-{method}-seed{identity['seed']}-{digest}"


def as_read(content: Any) -> Any:
    """Return content as it comes back from JSON: with lists for tuples."""
    return json.loads(canonical(content))


def describe_data(splits: DataSplits, choice: Choice) -> dict[str, Any]:
    """Describe the data: its name and parameters, its tree, the numbers of examples; not where it is stored."""
    parameters = {key: value for key, value in choice.params.items() if key not in _PLACES}
    if choice.params.get("cache") is not None:  # random parts of kept images are a little less sharp
        parameters["cache"] = True
    return {
        "name": splits.name,
        "parameters": parameters,
        "tree": splits.hierarchy.fingerprint,
        "examples": [len(splits.train), len(splits.val), len(splits.test)],
    }


def canonical(content: Any) -> str:
    """Return the canonical JSON text of some content."""
    return json.dumps(content, sort_keys=True, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _all_parameters(method: Choice) -> dict[str, Any]:
    """Return all parameters, including defaults, with whole numbers as floats if the default is a float."""
    defaults = {key: value for key, value in methods.parameters(method.name).items() if key != "counts"}
    given = {**defaults, **method.params}
    return {key: float(v) if isinstance(defaults.get(key), float) else v for key, v in given.items()}
