"""The request for a point: what `select` is asked for.

Each field is a keyword of `select`, an option of the command and an entry of the point's file, declared here once.
A request knows neither the tree nor the examples: of groups, clusters and weights it holds only that there are
some.
"""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003  (the types are read when the module is loaded)
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Literal, final, get_type_hints

import msgspec
import numpy as np

from hedgerow.choose.answered import STARTS
from hedgerow.choose.families import FAMILIES
from hedgerow.choose.guarantees import GUARANTEES
from hedgerow.choose.promise import MetricLoss, Promise, RankLoss, among_nodes, check_level
from hedgerow.choose.shift import Strata
from hedgerow.choose.written import (
    exactly,
    read_bounds,
    read_levels,
    read_number,
    read_size,
    read_table,
    read_target,
    read_unit,
)
from hedgerow.errors import ParameterError, argument, some
from hedgerow.measure import Metric, Ranks, metrics
from hedgerow.tree import Hierarchy, Settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

By = Literal["all", "group", "clade", "rank"]
"""What the thresholds are for."""
PROMISES = "What is promised"
"""The panel of the help."""


def _option(
    metavar: str | None,
    help: str,  # noqa: A002
    default: Any = None,
    *,
    read: Callable[[Any], Any] = str,
    shown: str | bool = False,
    panel: str | None = PROMISES,
) -> Any:
    """Return a field: its option, and how it is read from what people write."""
    about = {"metavar": metavar, "help": help, "read": read, "shown": shown, "panel": panel}
    return field(default=default, metadata=about)


def _fact(help: str) -> Any:  # noqa: A002
    return field(default=False, metadata={"about": help})


@final
@dataclass(frozen=True, kw_only=True)
class Request:
    """What `select` is asked for; `Request.of` reads it as people write it.

    >>> asked = Request.of(target="correct=0.95", among="answered")
    >>> asked.guarantee, asked.by
    ('pac', 'all')
    >>> asked == Request.of(target=("correct", 0.95), among="answered")
    True
    """

    panel: ClassVar[str] = PROMISES

    target: tuple[Any, Fraction] | None = _option(
        "METRIC=LEVEL",
        "What to promise, such as correct=0.95, with answers as specific as that allows; with recall, exact or f1 "
        "as conservative as that allows.",
        read=read_target,
        panel=None,
    )
    per_rank: Mapping[str, Fraction] | None = _option(
        "RANK=LEVEL,...",
        "Instead of a target: the share of examples not answered wrongly at each rank (or depth).",
        read=read_levels("per_rank"),
    )
    overclassification: Mapping[str, Fraction] | None = _option(
        "RANK=SHARE,...",
        "The share of examples of unknown taxa (named by --clusters, labelled above the rank) that may be given a "
        "name at a rank.",
        read=read_levels("overclassification"),
    )
    guarantee: str = _option(
        "NAME",
        "; ".join(f"{name}: {each.help}" for name, each in GUARANTEES.items())
        + ". The default is conformal; with --among, pac.",
        "",
    )
    delta: Fraction = _option(  # noqa: RUF009
        "X",
        "With pac, the probability that the promise is broken.",
        Fraction(1, 20),
        read=read_number("delta"),
        shown="0.05",
    )
    among: str | None = _option(
        "answered|RANK|DEPTH",
        "Promise it among the answers below the root, or at a rank (or depth) or below, not among all.",
    )
    groups: bool = _fact("Whether each group has its own threshold and promise.")
    clusters: bool = _fact("Whether the promise is for an example of a new cluster.")
    weights: bool = _fact("Whether calibration examples count by weights.")
    expect: Mapping[str, Fraction] | None = _option(
        "FILE",
        "The shares of classes where the point will be used, a table of class and share.",
        read=read_table("expect", "The expected share", ("share", "class")),
    )
    unit: str = _option(
        "cluster|example",
        "With --clusters, what counts once in the promise.",
        "cluster",
        read=read_unit,
        shown=True,
    )
    largest_cluster: int | None = _option(
        "M", "With --unit example, the size that no cluster, old or new, exceeds.", read=read_size
    )
    clades: str | None = _option(
        "RANK|DEPTH", "A threshold for each clade at this rank or depth, by the most likely tip."
    )
    merge_small: bool = _option(
        None, "Merge groups or clades that have too few examples for a promise.", False, read=bool
    )
    merge_sizes: Mapping[str, Fraction] | None = _option(
        "FILE",
        "Merge them by sizes from elsewhere, a table of name and size (with --clusters, in clusters).",
        read=read_table("merge_sizes", "The size", ("size", "name")),
    )
    rule: str = _option(
        "RULE",
        f"Which answers: {', '.join(FAMILIES)}; the last is (I + λ) q.",
        "threshold",
        shown=True,
        panel=None,
    )
    bounds: tuple[float, float] | None = _option(
        "LOW,HIGH",
        "The smallest and largest value of a metric that is not a fraction.",
        read=read_bounds,
        panel=None,
    )
    settings: Settings = field(
        default_factory=Settings, metadata={"about": "What counts as specific and as right."}
    )

    @classmethod
    def of(cls, **given: Any) -> Request:
        """Read a request as people write it, in Python or as options; None is the same as leaving one out."""
        readers = {each.name: each.metadata.get("read", _as_given) for each in fields(cls)}
        return cls(**{name: readers[name](value) for name, value in given.items() if value is not None})

    def __post_init__(self) -> None:
        """Fill in the usual guarantee, and refuse names that are not known."""
        if not self.guarantee:
            object.__setattr__(self, "guarantee", "conformal" if self.among is None else "pac")
        GUARANTEES.find(self.guarantee)
        FAMILIES.find(self.rule)
        if not 0 < self.delta < 1:
            raise ParameterError(
                f"delta is the probability that the promise is broken: it must lie between 0 and 1, not "
                f"{float(self.delta):g}. Give {argument('delta', '0.05')}, for example."
            )

    @property
    def by(self) -> By:
        """What the thresholds are for."""
        if self.per_rank or self.overclassification:
            return "rank"
        return "clade" if self.clades is not None else "group" if self.groups else "all"

    @property
    def metric_name(self) -> str:
        """The name of the metric of the target; "" without a target."""
        return "" if self.target is None else metrics.as_metric(self.target[0]).name

    @property
    def level(self) -> Fraction:
        """The level of the target."""
        assert self.target is not None  # noqa: S101
        return self.target[1]

    def at_level(self, level: Fraction) -> Request:
        """Return the same request with another level of its target."""
        assert self.target is not None  # noqa: S101
        return replace(self, target=(self.target[0], level))

    @property
    def merges(self) -> bool:
        """Whether small groups or clades are merged."""
        return self.merge_small or self.merge_sizes is not None

    @property
    def is_shifted(self) -> bool:
        """Whether the promise is for other data than the calibration data."""
        return self.weights or self.expect is not None

    def clade_depth(self, hierarchy: Hierarchy) -> int | None:
        """Return the depth of the clades in a tree; None if there are none."""
        if self.clades is None:
            return None
        if not self.clades.isdecimal():
            depths = np.unique(hierarchy.depth[Ranks.of(hierarchy).nodes(self.clades)])
            if len(depths) > 1:
                raise ParameterError(
                    f"The nodes of rank {self.clades!r} are at several depths "
                    f"({some(map(str, depths.tolist()))}). Give a depth."
                )
            return int(depths[0])
        depth, deepest = int(self.clades), int(hierarchy.depth.max())
        if not 1 <= depth <= deepest:
            raise ParameterError(f"Clades are at a depth from 1 to {deepest}, not at {depth}.")
        return depth

    # What it promises in a tree --------------------------------------------------------------------------------

    def promises(self, hierarchy: Hierarchy) -> tuple[Promise, ...]:
        """Return the promise of a target, or that for each rank; what cannot be promised in this tree is refused.

        All of them together, or all walks of one, are kept with probability 1 - δ.
        """
        if (conflict := next(self._conflicts(), None)) is not None:
            raise ParameterError(conflict)
        self.clade_depth(hierarchy)
        if self.expect is not None:
            Strata.of(hierarchy, self.expect)
        return self._of_ranks(hierarchy) if self.target is None else (self._of_target(hierarchy, *self.target),)

    def _of_target(self, hierarchy: Hierarchy, metric: Any, level: Fraction) -> Promise:
        loss = MetricLoss(hierarchy, metrics.as_metric(metric), self._bounds_of(metric), self.settings, self.among)
        among_nodes(hierarchy, self.among)
        if self.among is not None and (not loss.is_binary or loss.metric is metrics.non_root):
            raise ParameterError(_about_correct())
        alpha = loss.of_level(level)
        between = " and ".join(f"{bound:g}" for bound in loss.bounds)
        check_level(f"The level of {loss.metric.name}", level, alpha, self.guarantee, between)
        walks = 1 if self.among is None else len(STARTS)
        return Promise("", loss, alpha, self.guarantee, self.delta / walks)

    def _bounds_of(self, metric: Any) -> tuple[float, float]:
        """Return the smallest and largest value of a metric; those of a plain function are 0 and 1."""
        if self.bounds is not None:
            return self.bounds
        found = metrics.METRICS.find(metric) if isinstance(metric, str) else metric
        if isinstance(found, Metric) and not found.is_fraction:
            raise ParameterError(
                f"The values of {found.name!r} are not fractions. A promise about them needs their smallest and "
                f"largest possible value: give {argument('bounds', 'LOW,HIGH', python='bounds=(low, high)')}."
            )
        return 0.0, 1.0

    def _of_ranks(self, hierarchy: Hierarchy) -> tuple[Promise, ...]:
        known, unknown = self.per_rank or {}, self.overclassification or {}
        asked = [(rank, level, 1 - level, "per_rank") for rank, level in known.items()]
        asked += [(rank, share, share, "overclassification") for rank, share in unknown.items()]
        promises = []
        for rank, level, alpha, name in asked:
            check_level(f"{name}: the level of {rank!r}", level, alpha, self.guarantee)
            Ranks.of(hierarchy).nodes(rank)
            of_unknown = name == "overclassification"
            loss = RankLoss(hierarchy, rank, of_unknown, self.settings.strict if of_unknown else self.settings)
            called = f"unknown {rank}" if of_unknown else rank
            promises.append(Promise(called, loss, alpha, self.guarantee, self.delta / len(asked)))
        return tuple(promises)

    def _conflicts(self) -> Iterator[str]:
        """Yield what to say of everything that was combined and cannot be."""
        by_rank, parts = self.by == "rank", (self.groups, self.clades is not None)
        guarantee, example = GUARANTEES[self.guarantee], argument("unit", "example")
        shifts = [argument("weight_column", "COLUMN", python="weights=")] * self.weights
        shifts += [argument("expect", "FILE", python="expect=")] * (self.expect is not None)
        if (self.target is None) != by_rank:
            whole = argument("target", "correct=0.95", python="target=('correct', 0.95)")
            ranks = argument("per_rank", "family=0.95", python="per_rank={'family': 0.95}")
            yield f"Give either a target ({whole}) or levels per rank ({ranks})."
        if by_rank and any(parts):
            yield "Levels per rank cannot be combined with groups or clades: choose one of them."
        if by_rank and self.rule != "threshold":
            yield "Levels per rank are for the rule 'threshold': leave out the other rule."
        if all(parts):
            yield "Thresholds are either by group or by clade: choose one of them."
        if self.merges and not any(parts):
            yield (
                f"{argument('merge_small', True)} is for groups or clades: give {argument('groups', 'COLUMN')} or "
                f"{argument('clades', 'RANK')} too, or leave it out."
            )
        if (self.unit == "example") != (self.largest_cluster is not None):
            yield (
                f"{example} counts examples instead of clusters, and needs the size that no cluster will ever "
                f"exceed: give {argument('largest_cluster', 'M')} with it, or neither."
            )
        if self.unit == "example" and not self.clusters:
            clusters = argument("clusters", "COLUMN", python="clusters=")
            yield f"{example} is for examples in clusters: give {clusters} too, or leave it out."
        if len(shifts) > 1:
            yield f"{' and '.join(shifts)} say the same in two ways: give one of them."
        if shifts and (by_rank or any(parts) or self.clusters or not guarantee.covers_other_data):
            yield (
                f"{shifts[0]} is for a conformal promise about all examples, without ranks, groups, clades or "
                f"clusters: leave it out, or them."
            )
        if self.among is not None and by_rank:
            yield _about_correct()
        if self.among is not None and FAMILIES[self.rule].is_lambda:
            yield (
                f"A promise among the answers given is for rules with a threshold, not for {self.rule!r}: leave "
                f"it out."
            )
        if self.among is not None and not guarantee.covers_answers:
            yield (
                f"{self.guarantee!r} cannot promise a share of the answers given: which answers these are changes "
                f"with the threshold, and it averages over all examples. Give {argument('guarantee', 'pac')}."
            )
        if not isinstance(self.settings.information, str):
            yield "A point keeps the measure of specificity by its name: 'leaves' or 'depth'."

    # In a file ---------------------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Return everything, ready for JSON; a metric is written by its name."""
        content = {each.name: getattr(self, each.name) for each in fields(self)}
        if self.target is not None:
            content["target"] = (self.metric_name, self.target[1])
        content["settings"] = self.settings.to_dict()
        written: dict[str, Any] = msgspec.to_builtins(content, enc_hook=float)
        return written

    @classmethod
    def from_dict(cls, content: Mapping[str, Any], *, at_most: bool) -> Request:
        """Return the request in a file, of which every value is checked.

        A metric that is not registered keeps its name and its direction, `at_most`.
        """
        file = msgspec.convert(content, RequestFile, dec_hook=from_number)
        given = {each.name: getattr(file, each.name) for each in fields(cls)}
        if given["target"] is not None:
            name, level = given["target"]
            given["target"] = metrics.METRICS.get(name) or _unknown(name, at_most), level
        return cls.of(**given | {"settings": Settings.from_dict(file.settings)})


def _as_given(value: Any) -> Any:
    return value


def _about_correct() -> str:
    example = argument("target", "correct=0.95", python="target=('correct', 0.95)")
    return f"A promise among the answers given is about correct or exact: give {example}."


def _unknown(name: str, at_most: bool) -> Metric:
    def refuse(_: Any) -> Any:
        raise ParameterError(f"The metric {name!r} is not known here: register it with metrics.METRICS.register.")

    return Metric(name, not at_most, refuse, is_fraction=True)


_TYPES = get_type_hints(Request) | {"target": tuple[str, Fraction] | None, "settings": dict[str, str]}
RequestFile: Any = msgspec.defstruct(
    "RequestFile", [(each.name, _TYPES[each.name]) for each in fields(Request)], forbid_unknown_fields=True
)
"""A request as it is written; its fractions are numbers: see `from_number`."""


def from_number(kind: type, given: Any) -> Fraction:
    """Return the fraction that a number in a file means."""
    if kind is not Fraction or not isinstance(given, int | float) or isinstance(given, bool):
        raise TypeError(f"Expected `float`, got `{type(given).__name__}`")
    return exactly(given)
