"""Recipes: everything that decides a training run, in one small TOML file.

A recipe names the data, the model and the method, each with its parameters, and says how to optimise and how to
run. Every field has a default and a docstring; `hedgerow train RECIPE --show` prints them.
"""

from __future__ import annotations

import ast
import dataclasses
import difflib
import inspect
import itertools
import textwrap
import tomllib
from dataclasses import dataclass, field
from importlib import resources
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Self, final

from hedgerow.errors import ParameterError
from hedgerow.files import read_toml

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_LARGEST_SEED = 2**32 - 1
_MOST = 2**31 - 1
_MOST_PROCESSES = 1_000  # on one machine
_MOST_MACHINES = 100_000
_LARGEST = 1e6  # with larger steps or penalties, weights soon exceed what a float can hold


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
class Optimiser:
    """How the weights are fitted."""

    epochs: int = 20
    """Passes over the training data."""
    batch_size: int = 64
    """Examples per step, over all devices."""
    least_steps: int = 1
    """An epoch passes over small data several times, to have about so many batches or more."""
    lr: float = 0.01
    """Learning rate at the start."""
    schedule: str = "cosine"
    """How the learning rate changes: "cosine" (down to 0) or "constant"."""
    kind: str = "sgd"
    """"sgd" (with momentum), "adamw", or "per-output" (as HedgedClassifier learns; for scaled features)."""
    momentum: float = 0.9
    """Momentum of SGD."""
    weight_decay: float = 3e-4
    """Weight decay of SGD and AdamW."""
    C: float = 0.0
    """Penalty of "per-output", as in HedgedClassifier: smaller is stronger. 0 chooses it as HedgedClassifier does,
    if the model is linear with scaled inputs; for other models it goes by the number of examples."""
    accumulate: int = 1
    """Batches whose gradients are added up before each step."""
    clip: float = 0.0
    """Largest norm of the gradient; 0 for no limit."""

    def __post_init__(self) -> None:
        for name in ("epochs", "batch_size", "least_steps", "accumulate"):
            value = getattr(self, name)
            _require(1 <= value <= _MOST, f"optimiser.{name}", f"a whole number from 1 to {_MOST}", value)
        _require(0 < self.lr <= _LARGEST, "optimiser.lr", f"positive, and at most {_LARGEST:g}", self.lr)
        _require(0 <= self.momentum <= 1, "optimiser.momentum", "from 0 to 1", self.momentum)
        most = f"from 0 to {_LARGEST:g}"
        _require(0 <= self.weight_decay <= _LARGEST, "optimiser.weight_decay", most, self.weight_decay)
        _require(self.C == 0 or self.C >= 1 / _LARGEST, "optimiser.C", f"0, or {1 / _LARGEST:g} or more", self.C)
        _require(self.clip >= 0, "optimiser.clip", "0 or more", self.clip)
        _one_of("optimiser.schedule", self.schedule, ("cosine", "constant"))
        _one_of("optimiser.kind", self.kind, ("sgd", "adamw", "per-output"))
        own = self.kind == "per-output"
        for name in ("momentum", "weight_decay") if own else ("C",):
            if getattr(self, name) != getattr(Optimiser, name):
                instead = "Set optimiser.C instead" if name == "weight_decay" else "Leave it out"
                raise ParameterError(
                    f"optimiser.{name} has no effect if optimiser.kind is {self.kind!r}. {instead}."
                )


@final
@dataclass(frozen=True)
class Run:
    """Where and how it runs."""

    seed: int = 0
    """Everything random depends on this: weights, order of the data, changes to the images, tree cuts."""
    devices: int = 1
    """Number of devices on each machine; with several, one process each."""
    nodes: int = 1
    """Number of machines; the command is started on each of them, by torchrun or SLURM."""
    strategy: str = "auto"
    """How processes work together: "auto" (ddp if there are several), "ddp" or "fsdp" (GPUs share the weights)."""
    accelerator: str = "auto"
    """"auto" (a GPU if there is one), "cpu" or "gpu"."""
    precision: str = "auto"
    """"auto" (bf16-mixed on a GPU, 32 otherwise), "32", "bf16-mixed" or "16-mixed"."""
    compile: str = "auto"
    """Whether to compile the model and its loss: "auto" (on a GPU), "yes" or "no"."""
    workers: int = 2
    """Processes that load image files; data in memory needs none."""
    monitor: str = "AP"
    """The summary figure of the validation curve by which the best checkpoint is chosen."""

    def __post_init__(self) -> None:
        _require(0 <= self.seed <= _LARGEST_SEED, "run.seed", f"from 0 to {_LARGEST_SEED}", self.seed)
        for name, least, most in (
            ("devices", 1, _MOST_PROCESSES),
            ("nodes", 1, _MOST_MACHINES),
            ("workers", 0, _MOST_PROCESSES),
        ):
            value = getattr(self, name)
            _require(least <= value <= most, f"run.{name}", f"a whole number from {least} to {most}", value)
        _one_of("run.monitor", self.monitor, ("AP", "AC", "AC_exact", "R@90C", "R@95C", "majority_F1"))
        _one_of("run.accelerator", self.accelerator, ("auto", "cpu", "gpu"))
        _one_of("run.strategy", self.strategy, ("auto", "ddp", "fsdp"))
        _one_of("run.precision", self.precision, ("auto", "32", "bf16-mixed", "16-mixed"))
        _one_of("run.compile", self.compile, ("auto", "yes", "no"))


@final
@dataclass(frozen=True)
class Recipe:
    """A whole training run."""

    data: Choice = field(default_factory=lambda: Choice("glyphs"))
    """The data set: see `hedgerow.learn.data`."""
    model: Choice = field(default_factory=lambda: Choice("cnn"))
    """What maps an input to features: see `hedgerow.learn.models`."""
    method: Choice = field(default_factory=lambda: Choice("flat-softmax"))
    """Loss and likelihood: see `hedgerow.methods`."""
    optimiser: Optimiser = field(default_factory=Optimiser)
    run: Run = field(default_factory=Run)

    @classmethod
    def from_tables(cls, tables: Mapping[str, Any], where: str = "The recipe") -> Self:
        """Build a recipe from TOML tables; unknown keys are refused."""
        sections = {f.name: f for f in dataclasses.fields(cls)}
        _refuse_unknown(tables, sections, where)
        built: dict[str, Any] = {}
        for name, table in tables.items():
            if not isinstance(table, dict):
                raise ParameterError(f"{where}: [{name}] must be a table, not {table!r}.")
            kind = {"optimiser": Optimiser, "run": Run}.get(name)
            if kind is None:
                built[name] = _choice(name, table, where)
            else:
                _refuse_unknown(table, [f.name for f in dataclasses.fields(kind)], f"{where}, [{name}]")
                built[name] = kind(**_converted(kind, table, f"{where}, [{name}]"))
        return cls(**built)

    @classmethod
    def load(cls, name: str, changes: Iterable[str] = ()) -> Self:
        """Load a recipe by name or path, and apply changes such as "optimiser.lr=0.05"."""
        if PurePath(name).suffix == ".toml":
            tables = read_toml(name, "a recipe")
        elif name in available():
            tables = tomllib.loads(_shipped(name).read_text(encoding="utf-8"))
        else:
            near = difflib.get_close_matches(name, available(), 1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise ParameterError(
                f"There is no recipe {name!r}.{hint} Choose from {', '.join(available())}, or give a .toml file."
            )
        for change in changes:
            _apply(tables, change)
        return cls.from_tables(tables, name)

    def with_penalty(self, strength: float) -> Self:
        """Return the recipe with another optimiser.C."""
        return dataclasses.replace(self, optimiser=dataclasses.replace(self.optimiser, C=strength))

    def tables(self) -> dict[str, dict[str, Any]]:
        """Return every section as a plain table."""
        sections = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        return {k: v.table() if isinstance(v, Choice) else dataclasses.asdict(v) for k, v in sections.items()}

    def to_toml(self) -> str:
        """Return the recipe as TOML with every field written out."""
        lines = []
        for section, table in self.tables().items():
            lines += [f"[{section}]", *(f"{key} = {_toml(value)}" for key, value in table.items()), ""]
        return "\n".join(lines)

    def explained(self) -> str:
        """Return the recipe as TOML with the docstring of every field above it."""
        own = field_docs(type(self))
        lines = []
        for section, table in self.tables().items():
            value = getattr(self, section)
            docs = {} if isinstance(value, Choice) else field_docs(type(value))
            lines += _comment(own.get(section) or inspect.getdoc(type(value)) or "")
            lines.append(f"[{section}]")
            for key, entry in table.items():
                lines += [*_comment(docs.get(key, "")), f"{key} = {_toml(entry)}"]
            lines.append("")
        return "\n".join(lines)


def available() -> list[str]:
    """Return the names of the recipes that ship with the package."""
    folder = resources.files("hedgerow.learn.training").joinpath("recipes")
    return sorted(entry.name.removesuffix(".toml") for entry in folder.iterdir() if entry.name.endswith(".toml"))


def field_docs(kind: type) -> dict[str, str]:
    """Return the docstrings below the fields of a dataclass."""
    body = ast.parse(textwrap.dedent(inspect.getsource(kind))).body[0].body  # type: ignore[attr-defined]
    docs = {}
    for statement, following in itertools.pairwise(body):
        if isinstance(statement, ast.AnnAssign) and isinstance(following, ast.Expr):
            docs[statement.target.id] = inspect.cleandoc(following.value.value)  # type: ignore[union-attr, attr-defined]
    return docs


def _shipped(name: str) -> Any:
    return resources.files("hedgerow.learn.training").joinpath("recipes", f"{name}.toml")


def _choice(section: str, table: dict[str, Any], where: str) -> Choice:
    if not isinstance(table.get("name"), str):
        raise ParameterError(f'{where}: [{section}] needs a name, such as name = "...".')
    return Choice(table["name"], {key: value for key, value in table.items() if key != "name"})


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


def _converted(kind: type, table: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Check the types of a table's values; whole numbers are accepted as floats."""
    wanted = {f.name: type(getattr(kind(), f.name)) for f in dataclasses.fields(kind)}
    result = {}
    for key, value in table.items():
        plain = float(value) if wanted[key] is float and type(value) is int else value
        if wanted[key] is str and type(value) in (int, float, bool):
            plain = {True: "yes", False: "no"}.get(value, str(value)) if type(value) is bool else str(value)
        if type(plain) is not wanted[key]:
            raise ParameterError(f"{where}: {key} must be {_KINDS[wanted[key]]}, not {value!r}.")
        result[key] = plain
    return result


_KINDS: dict[type, str] = {int: "a whole number", float: "a number", str: "a string", bool: "true or false"}


def _refuse_unknown(given: Iterable[str], known: Iterable[str], where: str) -> None:
    known = list(known)
    for key in given:
        if key not in known:
            near = difflib.get_close_matches(key, known, 1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise ParameterError(f"{where}: there is no {key!r}.{hint} Known names: {', '.join(known)}.")


def _require(holds: bool, name: str, wanted: str, value: Any) -> None:
    if not holds:
        raise ParameterError(f"{name} must be {wanted}, not {value!r}.")


def _one_of(name: str, value: str, allowed: tuple[str, ...]) -> None:
    _require(value in allowed, name, "one of " + ", ".join(map(repr, allowed)), value)


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
    return [f"# {line}" for line in text.splitlines() if line]
