"""Recipes: everything that decides a training run, in one small TOML file.

A recipe names the data, the model and the method, each with its parameters, and says how to optimise and how to
run. Every field has a default and a description; `hedgerow train RECIPE --show` prints them.
"""

from __future__ import annotations

import dataclasses
import textwrap
import tomllib
from dataclasses import dataclass, field
from importlib import resources
from pathlib import PurePath
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
    Self,
    final,
    get_args,
    get_origin,
    get_type_hints,
)

import msgspec

from hedgerow.arrays import available_cores
from hedgerow.errors import ParameterError, closest, no_such
from hedgerow.files import described, descriptions, read_toml

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_LARGEST = 1e6  # with larger steps or penalties, weights soon exceed what a float can hold

_Count = Annotated[int, msgspec.Meta(ge=1, le=2**31 - 1)]
_Rate = Annotated[float, msgspec.Meta(gt=0, le=_LARGEST)]
_Decay = Annotated[float, msgspec.Meta(ge=0, le=_LARGEST)]
_Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
_Limit = Annotated[float, msgspec.Meta(ge=0)]
_Seed = Annotated[int, msgspec.Meta(ge=0, le=2**32 - 1)]
_Processes = Annotated[int, msgspec.Meta(ge=1, le=1_000)]
_Workers = Annotated[int, msgspec.Meta(ge=-1, le=1_000)]
_Machines = Annotated[int, msgspec.Meta(ge=1, le=100_000)]

Kept = Literal["auto", "all", "compact", "none"]

_RECIPES = resources.files("hedgerow.learn.training").joinpath("recipes")


class Section:
    """A table of a recipe; values are checked against the declared types of its fields."""

    def __post_init__(self) -> None:
        for key, kind in get_type_hints(type(self), include_extras=True).items():
            value = getattr(self, key)
            if get_origin(kind) is Literal and isinstance(value, bool | int | float):
                # Such as run.precision=32 and run.compile=true.
                value = {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)
            try:
                object.__setattr__(self, key, msgspec.convert(value, kind))
            except msgspec.ValidationError:
                raise ParameterError(
                    f"{type(self).__name__.lower()}.{key} must be {_described(kind)}, not {value!r}."
                ) from None


def _described(kind: Any) -> str:
    """Describe the values that a field takes."""
    if get_origin(kind) is Literal:
        return "one of " + ", ".join(map(repr, get_args(kind)))
    number, limits = get_args(kind)
    word = "a whole number" if number is int else "a number"
    if limits.le is None:
        return f"{word}, {limits.ge:g} or more"
    most = str(limits.le) if number is int else f"{limits.le:g}"
    return (
        f"{word} from {limits.ge} to {most}" if limits.gt is None else f"{word} above {limits.gt} and up to {most}"
    )


@final
@dataclass(frozen=True)
class Choice:
    """Something chosen by name, with its parameters."""

    name: str
    params: Mapping[str, Any] = field(default_factory=dict)

    def table(self) -> dict[str, Any]:
        """Return the TOML table."""
        return {"name": self.name, **self.params}


@final
@dataclass(frozen=True)
class Optimiser(Section):
    """How the weights are fitted."""

    epochs: _Count = described("Passes over the training data.", 20)
    batch_size: _Count = described("Mini-batch size, over all devices.", 64)
    least_steps: _Count = described(
        "An epoch passes over small data several times, to have about this many batches or more.", 1
    )
    lr: _Rate = described("Initial learning rate.", 0.01)
    schedule: Literal["cosine", "constant"] = described(
        'How the learning rate changes: "cosine" (down to 0) or "constant".', "cosine"
    )
    kind: Literal["sgd", "adamw", "per-output"] = described(
        '"sgd" (with momentum), "adamw", or "per-output" (the solver of HedgedClassifier; for scaled features).',
        "sgd",
    )
    momentum: _Share = described("Momentum of SGD.", 0.9)
    even_steps: Literal["yes", "no"] = described(
        "Whether SGD takes steps for each output that suit the method: see `hedgerow.methods.HierarchicalHead`.",
        "yes",
    )
    weight_decay: _Decay = described("Weight decay of SGD and AdamW.", 3e-4)
    C: _Limit = described(
        'Penalty of "per-output", as in HedgedClassifier: smaller is stronger. 0 chooses it as HedgedClassifier '
        "does if the model is linear with scaled inputs, and otherwise by the number of examples per label.",
        0.0,
    )
    accumulate: _Count = described("Batches whose gradients are added up before each step.", 1)
    clip: _Limit = described("Largest norm of the gradient; 0 for no limit.", 0.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if 0 < self.C < 1 / _LARGEST:
            raise ParameterError(f"optimiser.C must be 0, or {1 / _LARGEST:g} or more, not {self.C!r}.")
        useless = {
            "sgd": ("C",),
            "adamw": ("C", "even_steps"),
            "per-output": ("momentum", "weight_decay", "even_steps"),
        }
        for name in useless[self.kind]:
            if getattr(self, name) != getattr(Optimiser, name):
                instead = "Set optimiser.C instead" if name == "weight_decay" else "Leave it out"
                raise ParameterError(
                    f"optimiser.{name} has no effect if optimiser.kind is {self.kind!r}. {instead}."
                )


@final
@dataclass(frozen=True)
class Run(Section):
    """Where and how it runs."""

    seed: _Seed = described("Random seed: of weights, the order of the data, changes to images, tree cuts.", 0)
    devices: _Processes = described("Devices per machine; with several, one process each.", 1)
    nodes: _Machines = described(
        "Number of machines; start the command on each of them, with torchrun or SLURM.", 1
    )
    strategy: Literal["auto", "ddp", "fsdp"] = described(
        'How processes work together: "auto" (ddp if there are several), "ddp" or "fsdp" (GPUs share the '
        "weights).",
        "auto",
    )
    accelerator: Literal["auto", "cpu", "gpu"] = described(
        '"auto" (a GPU if there is one), "cpu" or "gpu".', "auto"
    )
    precision: Literal["auto", "32", "bf16-mixed", "16-mixed"] = described(
        '"auto" (bf16-mixed on a GPU, 32 otherwise), "32", "bf16-mixed" or "16-mixed".', "auto"
    )
    compile: Literal["auto", "yes", "no"] = described(
        'Whether to compile the model and its loss: "auto" (on a GPU), "yes" or "no".', "auto"
    )
    workers: _Workers = described(
        "Processes that load image files, per device; -1 for one per core. Not used for data in memory.", -1
    )
    scores: Kept = described(
        'The scores of the test data to keep: "all", "compact" (what thresholds need), "none", or "auto" '
        "(all up to 100 MB, compact beyond).",
        "auto",
    )
    monitor: Literal["AP", "AC", "AC_exact", "R@90C", "R@95C", "majority_F1"] = described(
        "The summary metric of the validation data by which the best checkpoint is chosen.", "AP"
    )

    @property
    def loaders(self) -> int:
        """The number of processes that load image files for one device."""
        return max(available_cores() // self.devices, 1) if self.workers < 0 else self.workers


@final
@dataclass(frozen=True)
class Recipe:
    """A whole training run."""

    data: Choice = described("The data set: see `hedgerow.learn.data`.", Choice("glyphs"))
    model: Choice = described("What maps an input to features: see `hedgerow.learn.models`.", Choice("cnn"))
    method: Choice = described("Loss and likelihood: see `hedgerow.methods`.", Choice("flat-softmax"))
    optimiser: Optimiser = described("How the weights are fitted.", Optimiser())
    run: Run = described("Where and how it runs.", Run())

    @classmethod
    def from_tables(cls, tables: Mapping[str, Any], where: str = "The recipe") -> Self:
        """Build a recipe from TOML tables; unknown keys are refused."""
        _refuse_unknown(tables, cls, where)
        built: dict[str, Any] = {}
        for name, table in tables.items():
            if not isinstance(table, dict):
                raise ParameterError(f"{where}: [{name}] must be a table, not {table!r}.")
            kind = {"optimiser": Optimiser, "run": Run}.get(name)
            if kind is not None:
                _refuse_unknown(table, kind, f"{where}, [{name}]")
                try:
                    built[name] = kind(**table)
                except ParameterError as error:
                    raise ParameterError(f"{where}: {error}") from None
            elif isinstance(table.get("name"), str):
                built[name] = Choice(table["name"], {key: table[key] for key in table if key != "name"})
            else:
                raise ParameterError(f'{where}: [{name}] needs a name, such as name = "...".')
        return cls(**built)

    @classmethod
    def load(cls, name: str, changes: Iterable[str] = ()) -> Self:
        """Load a recipe by name or path, and apply changes such as "optimiser.lr=0.05"."""
        if PurePath(name).suffix == ".toml":
            tables = read_toml(name, "a recipe")
        elif name in available():
            tables = tomllib.loads(_RECIPES.joinpath(f"{name}.toml").read_text(encoding="utf-8"))
        else:
            raise ParameterError(f"{no_such('recipe', name, available())} You can also give a .toml file.")
        for change in changes:
            _apply(tables, change)
        return cls.from_tables(tables, name)

    def with_penalty(self, strength: float) -> Self:
        """Return the recipe with another optimiser.C."""
        return dataclasses.replace(self, optimiser=dataclasses.replace(self.optimiser, C=strength))

    def with_run(self, **changes: Any) -> Self:
        """Return the recipe with other values in its section [run]."""
        return dataclasses.replace(self, run=dataclasses.replace(self.run, **changes))

    def tables(self) -> dict[str, dict[str, Any]]:
        """Return every section as a plain table."""
        sections = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        return {k: v.table() if isinstance(v, Choice) else dataclasses.asdict(v) for k, v in sections.items()}

    def to_toml(self, *, explained: bool = False) -> str:
        """Return the recipe as TOML with every field written out, and explained if requested."""
        headings = descriptions(type(self)) if explained else {}
        lines = []
        for section, table in self.tables().items():
            comments = descriptions(type(getattr(self, section))) if explained else {}
            lines += [*_comment(headings.get(section, "")), f"[{section}]"]
            for key, entry in table.items():
                lines += [*_comment(comments.get(key, "")), f"{key} = {_toml(entry)}"]
            lines.append("")
        return "\n".join(lines)


def available() -> list[str]:
    """Return the names of the recipes that ship with the package."""
    return sorted(entry.name.removesuffix(".toml") for entry in _RECIPES.iterdir() if entry.name.endswith(".toml"))


def _apply(tables: dict[str, Any], change: str) -> None:
    """Apply one "section.key=value" to the tables."""
    target, equals, text = change.partition("=")
    section, dot, key = target.strip().partition(".")
    if not (equals and dot and key):
        raise ParameterError(f"Write a change as section.key=value, such as optimiser.lr=0.05, not {change!r}.")
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except (tomllib.TOMLDecodeError, RecursionError):
        value = text.strip()  # a bare word is a string
    table = tables.setdefault(section, {})
    if not isinstance(table, dict):
        raise ParameterError(f"{change!r} cannot be applied: in the recipe, {section!r} is not a table.")
    if key == "name" and table.get("name") != value:
        table.clear()  # the parameters belonged to the previous choice
    table[key] = value


def _refuse_unknown(given: Iterable[str], kind: Any, where: str) -> None:
    known = [each.name for each in dataclasses.fields(kind)]
    for key in given:
        if key not in known:
            raise ParameterError(
                f"{where}: there is no {key!r}.{closest([key], known)} Known names: {', '.join(known)}."
            )


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_toml, value)) + "]"
    text = str(value)
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if c.isprintable() else f"\\U{ord(c):08x}" for c in escaped) + '"'


def _comment(text: str) -> list[str]:
    return textwrap.wrap(text, 110, initial_indent="# ", subsequent_indent="# ")
