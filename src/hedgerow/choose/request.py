"""The request for a point: what `select` is asked for.

Each field is declared here once, as a keyword of `select`, an option of the command and an entry of the point's
file. A request knows neither the tree nor the examples: of groups, clusters and weights, it only says whether
there are any.
"""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003  (the types are read when the module is loaded)
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Literal, final

import msgspec
import numpy as np

from hedgerow.choose.answered import STARTS
from hedgerow.choose.families import FAMILIES
from hedgerow.choose.guarantees import GUARANTEES
from hedgerow.choose.promise import MetricLoss, Promise, RankLoss, among_nodes, check_level
from hedgerow.choose.shift import Strata
from hedgerow.choose.written import (
    check_delta,
    plain_number,
    read_bounds,
    read_levels,
    read_number,
    read_size,
    read_table,
    read_target,
    read_unit,
    typed,
)
from hedgerow.errors import ParameterError, argument, some
from hedgerow.files import described, struct_of
from hedgerow.measure import Metric, Ranks, metrics
from hedgerow.tree import Hierarchy, SavedSettings, Settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

By = Literal["all", "group", "clade", "rank"]
PART_COLUMNS = {"group": "groups", "clade": "clade"}
"""The column of a table of examples that says which threshold is for each."""
"""What has a threshold of its own."""
PROMISES = "What is promised"
"""The title of these options in the help."""


def _option(
    metavar: str | None,
    help: str,  # noqa: A002
    default: Any = None,
    *,
    read: Callable[[Any], Any] = str,
    shown: bool = False,
    text: str | None = None,
    panel: str | None = PROMISES,
) -> Any:
    """Return a field with its option and the function that reads what users write."""
    about = {"metavar": metavar, "help": help, "read": read, "shown": shown, "panel": panel}
    about |= {} if text is None else {"text": text}  # the default as users write it
    return field(default=default, metadata=about)


@final
@dataclass(frozen=True, kw_only=True)
class Request:
    """What `select` is asked for; `Request.of` reads what users write.

    >>> asked = Request.of(target="correct=0.95", among="answered")
    >>> asked.guarantee, asked.by
    ('pac', 'all')
    >>> asked == Request.of(target=("correct", 0.95), among="answered")
    True
    """

    panel: ClassVar[str] = PROMISES

    target: tuple[Any, Fraction] | None = _option(
        "METRIC=LEVEL",
        "What to promise, such as correct=0.95. Answers are as specific as it allows; for recall, exact and f1, "
        "as conservative as it allows.",
        read=read_target,
        panel=None,
    )
    per_rank: Mapping[str, Fraction] | None = _option(
        "RANK=LEVEL,...",
        "Instead of a target: the share of examples that are not wrong at each rank (without ranks, depth).",
        read=read_levels("per_rank"),
    )
    overclassification: Mapping[str, Fraction] | None = _option(
        "RANK=SHARE,...",
        "The share of examples of unknown taxa (named by --clusters, labelled above the rank) that may get a name "
        "at each rank.",
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
        "With pac, the probability of breaking the promise.",
        Fraction(1, 20),
        read=read_number("delta"),
        shown=True,
        text="0.05",
    )
    among: str | None = _option(
        "answered|RANK|DEPTH",
        "Make the promise about the answers below the root, or at a rank (or depth) or below it, not about all.",
    )
    groups: bool = described("Whether each group has its own threshold and promise.", False)
    clusters: bool = described("Whether the promise is for an example of a new cluster.", False)
    weights: bool = described("Whether calibration examples count by weights.", False)
    expect: Mapping[str, Fraction] | None = _option(
        "FILE",
        "The shares of classes where the point will be used: a table of class and share.",
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
        "M", "With --unit example, the size of the largest cluster, old or new.", read=read_size
    )
    clades: str | None = _option(
        "RANK|DEPTH", "A threshold for each clade at this rank or depth: that of the most likely tip."
    )
    merge_small: Mapping[str, Fraction] | None = _option(
        "counted|FILE",
        "Merge groups or clades with too few examples: by their counts here, or by sizes from other data, a table "
        "of name and size (with --clusters, in clusters).",
        read=read_table("merge_small", "The size", ("size", "name"), counted=True),
    )
    rule: str = _option(
        "RULE",
        f"The rule of the answers: {', '.join(FAMILIES)}; the last one maximises (I + λ) q.",
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
    settings: Settings = described("What counts as specific and as right.", default_factory=Settings)

    @classmethod
    def of(cls, **given: Any) -> Request:
        """Read a request as users write it, in Python or as options; None means not given."""
        readers = {each.name: each.metadata.get("read", _as_given) for each in fields(cls)}
        return cls(
            **{name: readers.get(name, _as_given)(each) for name, each in given.items() if each is not None}
        )

    def __post_init__(self) -> None:
        """Fill in the default guarantee, and refuse unknown names."""
        if not self.guarantee:
            object.__setattr__(self, "guarantee", "conformal" if self.among is None else "pac")
        GUARANTEES.find(self.guarantee)
        FAMILIES.find(self.rule)
        check_delta(self.delta)

    @property
    def by(self) -> By:
        """What has a threshold of its own."""
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
        """Return the request with another level of its target."""
        assert self.target is not None  # noqa: S101
        return replace(self, target=(self.target[0], level))

    @property
    def is_shifted(self) -> bool:
        """Whether the promise is for data that differ from the calibration data."""
        return self.weights or self.expect is not None

    def clade_depth(self, hierarchy: Hierarchy) -> int | None:
        """Return the depth of the clades in a tree; None without clades."""
        if self.clades is None:
            return None
        if not self.clades.isdecimal():
            depths = np.unique(hierarchy.depth[Ranks.of(hierarchy).nodes(self.clades)])
            if len(depths) > 1:
                raise ParameterError(
                    f"The nodes of rank {self.clades!r} are at several depths "
                    f"({some(map(str, depths.tolist()))}). Give one depth instead."
                )
            return int(depths[0])
        depth, deepest = int(self.clades), int(hierarchy.depth.max())
        if not 1 <= depth <= deepest:
            raise ParameterError(f"The depth of clades must be 1 to {deepest}, not {depth}.")
        return depth

    # Its promises in a tree --------------------------------------------------------------------------------------

    def promises(self, hierarchy: Hierarchy) -> tuple[Promise, ...]:
        """Return the promise of a target, or one for each rank; refuse what cannot be promised in this tree.

        Promises for several ranks, and several walks of one promise, share δ equally.
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
            raise ParameterError(_only_for_correct())
        alpha = loss.loss_at(level)
        between = " and ".join(f"{bound:g}" for bound in loss.bounds)
        check_level(f"The level of {loss.metric.name}", level, alpha, self.guarantee, between)
        walks = 1 if self.among is None else len(STARTS)
        return Promise("", loss, alpha, self.guarantee, self.delta / walks)

    def _bounds_of(self, metric: Any) -> tuple[float, float]:
        """Return the smallest and largest value of a metric; for a fraction or a plain function, 0 and 1."""
        found = metrics.METRICS.find(metric) if isinstance(metric, str) else metric
        is_fraction = isinstance(found, Metric) and found.is_fraction
        if self.bounds is not None and not is_fraction:
            return self.bounds
        if self.bounds not in (None, (0, 1)):
            raise ParameterError(f"The values of {found.name!r} lie between 0 and 1: leave out {typed('bounds')}.")
        if isinstance(found, Metric) and not is_fraction:
            raise ParameterError(
                f"The values of {found.name!r} are not fractions, so a promise needs the smallest and largest "
                f"possible value: give {argument('bounds', 'LOW,HIGH', python='bounds=(low, high)')}."
            )
        return 0.0, 1.0

    def _of_ranks(self, hierarchy: Hierarchy) -> tuple[Promise, ...]:
        asked = [(rank, level, 1 - level, "per_rank") for rank, level in (self.per_rank or {}).items()]
        asked += [
            (rank, share, share, "overclassification") for rank, share in (self.overclassification or {}).items()
        ]
        promises = []
        for rank, level, alpha, name in asked:
            check_level(f"{typed(name)}: the level of {rank!r}", level, alpha, self.guarantee)
            Ranks.of(hierarchy).nodes(rank)
            unknown = name == "overclassification"
            loss = RankLoss(hierarchy, rank, unknown, self.settings.strict if unknown else self.settings)
            called = f"unknown {rank}" if unknown else rank
            promises.append(Promise(called, loss, alpha, self.guarantee, self.delta / len(asked)))
        return tuple(promises)

    def _conflicts(self) -> Iterator[str]:
        """Yield an error message for each combination that is not possible."""
        by_rank, parts = self.by == "rank", (self.groups, self.clades is not None)
        guarantee, example = GUARANTEES[self.guarantee], argument("unit", "example")
        shifts = [argument("weight_column", "COLUMN", python="weights=")] * self.weights
        shifts += [argument("expect", "FILE", python="expect=")] * (self.expect is not None)
        if (self.target is None) != by_rank:
            whole = argument("target", "correct=0.95", python="target=('correct', 0.95)")
            ranks = argument("per_rank", "family=0.95", python="per_rank={'family': 0.95}")
            unknown = typed("overclassification")
            yield f"Give either a target ({whole}) or levels per rank ({ranks}, or {unknown})."
        if by_rank and any(parts):
            yield "Levels per rank cannot be combined with groups or clades: leave out one of them."
        if by_rank and self.rule != "threshold":
            yield "Levels per rank need the rule 'threshold': leave out the other rule."
        if all(parts):
            yield "Thresholds are either by group or by clade: leave out one of them."
        if self.merge_small is not None and not any(parts):
            yield (
                f"{typed('merge_small')} needs groups or clades: give "
                f"{argument('groups', 'COLUMN', python='groups=')} or "
                f"{argument('clades', 'RANK', python='clades=')} too, or leave it out."
            )
        if (self.unit == "example") != (self.largest_cluster is not None):
            yield (
                f"{example} counts examples instead of clusters, and needs the size of the largest cluster: give "
                f"{argument('largest_cluster', 'M', python='largest_cluster=')} with it, or neither."
            )
        if self.unit == "example" and not self.clusters:
            clusters = argument("clusters", "COLUMN", python="clusters=")
            yield f"{example} needs clusters: give {clusters} too, or leave it out."
        if len(shifts) > 1:
            yield f"{' and '.join(shifts)} are two ways to describe new data: give one of them."
        if shifts and (by_rank or any(parts) or self.clusters or not guarantee.covers_other_data):
            yield (
                f"{shifts[0]} needs a conformal promise about all examples, without ranks, groups, clades or "
                f"clusters: leave out one or the other."
            )
        if self.among is not None and by_rank:
            yield _only_for_correct()
        if self.among is not None and FAMILIES[self.rule].is_lambda:
            yield (
                f"A promise about the answers given needs a rule with a threshold, not {self.rule!r}: leave out "
                f"one of them."
            )
        if self.among is not None and not guarantee.covers_answers:
            yield (
                f"{self.guarantee!r} averages over all examples, so it cannot promise a share of the answers "
                f"given: give {argument('guarantee', 'pac')}."
            )
        if self.bounds is not None and by_rank:
            yield f"{typed('bounds')} needs a target: leave it out."
        if not isinstance(self.settings.information, str):
            yield "A point is stored with the name of its measure of specificity: use 'leaves' or 'depth'."

    # Files -------------------------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Return everything, ready for JSON; a metric becomes its name."""
        content = {each.name: getattr(self, each.name) for each in fields(self)}
        if self.target is not None:
            content["target"] = (self.metric_name, self.target[1])
        content["settings"] = self.settings.to_dict()
        written: dict[str, Any] = msgspec.to_builtins(content, enc_hook=plain_number)
        return written

    @classmethod
    def of_file(cls, file: Any, *, at_most: bool) -> Request:
        """Return the request in a file, a `RequestFile`, with every value checked.

        A metric that is not registered keeps its name, and `at_most` says whether lower values are better.
        """
        given = {each.name: getattr(file, each.name) for each in fields(cls)}
        if file.target is not None:
            name, level = file.target
            known = name in metrics.METRICS
            given["target"] = name if known else _unregistered(name, at_most, file.bounds is None), level
        return cls.of(**given | {"settings": file.settings.opened()})


def _as_given(value: Any) -> Any:
    return value


def _only_for_correct() -> str:
    example = argument("target", "correct=0.95", python="target=('correct', 0.95)")
    return f"A promise about the answers given needs the metric correct or exact: give {example}."


def _unregistered(name: str, at_most: bool, is_fraction: bool) -> Metric:
    """Return a metric that only has a name."""

    def refuse(_: Any) -> Any:
        raise ParameterError(f"The metric {name!r} is not known here: register it with metrics.METRICS.register.")

    return Metric(name, not at_most, refuse, is_fraction)


RequestFile: Any = struct_of(
    "RequestFile", Request, {"target": tuple[str, Fraction] | None, "settings": SavedSettings}
)
"""A request as it is written; see `written.plain_number`."""
