"""What counts as specific and as right: one object that crosses all packages, and information measures."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypedDict, Unpack, final, get_args

import msgspec
import numpy as np
from msgspec import Meta

from hedgerow.errors import ParameterError, ScoreError, refuse_keywords

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from hedgerow.tree.layout import Indices
    from hedgerow.tree.names import Names

InformationKind = Literal["leaves", "depth"]
"""Named measures of how specific a node is: see `Hierarchy.information`."""
SingleChild = Literal["skip", "answer"]
"""Whether a node with exactly one child is skipped, or is an answer of its own."""
BelowLabel = Literal["label", "wrong"]
"""What an answer below its label counts as."""


class SettingKeywords(TypedDict, total=False):
    """The fields of `Settings` as keywords of public functions; None is the same as leaving one out."""

    information: InformationKind | ArrayLike | None
    single_child: SingleChild | None
    below_label: BelowLabel | None


@final
class SavedSettings(msgspec.Struct, forbid_unknown_fields=True):
    """Settings inside a document; the values of a "custom" measure stand elsewhere in it."""

    information: Annotated[Literal[InformationKind, "custom"], Meta(description="How specific nodes are.")]
    single_child: Annotated[SingleChild, Meta(description="Whether nodes with one child are skipped or answers.")]
    below_label: Annotated[BelowLabel, Meta(description="What an answer below its label counts as.")]

    def opened(self, information: NDArray[np.float64] | None = None) -> Settings:
        """Return the settings, with the values of the measure if it is "custom"."""
        return Settings(
            self.information if information is None else information, self.single_child, self.below_label
        )


@final
@dataclass(frozen=True, eq=False)
class Settings:
    """What counts as specific and as right. Public functions take the fields as keywords.

    Examples
    --------
    >>> Settings("depth") == Settings(information="depth"), Settings("depth") == Settings()
    (True, False)
    >>> Settings(single_child="answer").differences(Settings())
    "single_child ('answer' and 'skip')"
    >>> Settings(single_child="maybe")
    Traceback (most recent call last):
    hedgerow.errors.ParameterError: single_child must be 'skip' or 'answer', not 'maybe'.
    """

    information: InformationKind | ArrayLike = "leaves"
    """How specific nodes are: a named measure, or one value per node."""
    single_child: SingleChild = "skip"
    """Whether nodes with one child may be answers ("answer") or not ("skip")."""
    below_label: BelowLabel = "label"
    """How an answer below its label counts: as the "label" itself, or as "wrong"."""

    def __post_init__(self) -> None:
        """Refuse unknown choices."""
        for name, choices in (("single_child", SingleChild), ("below_label", BelowLabel)):
            allowed = get_args(choices)
            if getattr(self, name) not in allowed:
                raise ParameterError(
                    f"{name} must be {' or '.join(map(repr, allowed))}, not {getattr(self, name)!r}."
                )
        if not isinstance(self.information, str):
            object.__setattr__(self, "information", np.asarray(self.information, dtype=np.float64))
        elif self.information not in get_args(InformationKind):
            raise ParameterError(
                f"information must be 'leaves', 'depth' or one value per node, not {self.information!r}."
            )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Settings) and not self.differences(other)

    def __hash__(self) -> int:
        return hash((self.single_child, self.below_label))

    @property
    def below_is_right(self) -> bool:
        """Whether an answer below its label counts as the label, and is right."""
        return self.below_label == "label"

    @property
    def strict(self) -> Settings:
        """The same settings, but an answer below its label is wrong."""
        return replace(self, below_label="wrong")

    def updated(self, **given: Unpack[SettingKeywords]) -> Settings:
        """Return the settings with other values for some fields; None leaves a field as it is."""
        refuse_keywords(given, SettingKeywords.__annotations__)
        changes: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
        return replace(self, **changes)

    def differences(self, other: Settings) -> str:
        """Describe the fields that differ, with both values; '' if there are none."""
        return ", ".join(
            f"{name} ({ours!r} and {theirs!r})"
            for (name, ours), (_, theirs) in zip(self.to_dict().items(), other.to_dict().items(), strict=True)
            if not np.array_equal(getattr(self, name), getattr(other, name))
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the fields, ready for JSON; an array of information is "custom"."""
        given = {field.name: getattr(self, field.name) for field in fields(self)}
        return given | {"information": self.information if isinstance(self.information, str) else "custom"}


def bits(amount: NDArray[Any]) -> NDArray[np.float64]:
    """Return the information of nodes, given how much of the root, which comes first, is below each."""
    information: NDArray[np.float64] = np.log2(amount[0]) - np.log2(amount)
    return information


def checked_weights(given: ArrayLike, names: Names, leaves: Indices) -> NDArray[np.float64]:
    """Return the weights of leaves."""
    weights = np.asarray(given, dtype=np.float64)
    if weights.shape != leaves.shape:
        raise ScoreError(f"{len(leaves)} leaf weights are needed, one per leaf; got shape {weights.shape}.")
    bad = np.flatnonzero(~(np.isfinite(weights) & (weights > 0)))
    if len(bad):
        raise ScoreError(
            f"Leaf weights must be positive numbers; the weight of {names[leaves[bad[0]]]!r} is "
            f"{weights[bad[0]]}. Give rare classes a small positive weight."
        )
    return weights


def checked_information(given: ArrayLike, parent: Indices) -> NDArray[np.float64]:
    """Return a measure of one's own, one value per node."""
    values = np.array(given, dtype=np.float64)
    if values.shape != parent.shape:
        raise ScoreError(f"Information needs one value per node, {len(parent)} in all; got shape {values.shape}.")
    if not np.isfinite(values).all() or values[0] != 0 or np.any(values[1:] < values[parent[1:]]):
        raise ScoreError(
            "Information must be finite, 0 at the root, and never smaller at a child than at its parent."
        )
    return values
