"""Bind the lineages that tools write to the nodes of a tree.

A lineage is a path of steps, coarsest first. Binding starts at the root and descends at each step to the node with
the step's name, bare or with the letter of its rank (`Bacillus`, `g__Bacillus`, `g:Bacillus`). Case, blanks,
underscores and quotes do not matter. The path distinguishes equal names in two clades. A step is skipped if the
tree has nothing at its rank there; any other step without a node is a problem, which the caller reports. Nothing
is guessed.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, NamedTuple, final

import numpy as np

from hedgerow.errors import argument, closest, counted
from hedgerow.tree import Hierarchy, taxon_strings

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterable, Mapping, Sequence


ANYTHING = "*"
"""As a name outside the tree: whatever cannot be bound."""
NO_NODE = -1
"""The node of a step that has none."""

_SHOWN = 5
_REMEMBERED = 1 << 16  # names, most of which occur in many lineages
_QUOTES = str.maketrans("", "", "\"'`")


class Step(NamedTuple):
    """One rank of a lineage."""

    rank: str
    """The letter of the rank; '' if unknown."""
    names: tuple[str, ...]
    """The name, and other ways to write it; ('',) if there is nothing at this rank."""
    whole: bool = False
    """Whether it stands for the whole lineage in trees that have it, and is skipped in others."""

    @classmethod
    def of(cls, text: str, rank: str = "") -> Step:
        """Parse a text such as `g__Bacillus` or `g:Bacillus`.

        >>> Step.of("g__Bacillus")[:2], Step.of("Bacillus", "genus")[:2]
        (('g', ('Bacillus',)), ('g', ('Bacillus',)))
        """
        return _step(text, rank)


@lru_cache(_REMEMBERED)
def _step(text: str, rank: str) -> Step:
    letter, name = taxon_strings.split_prefix(text.strip())
    return Step(taxon_strings.rank_letter(rank) if rank else letter, (name,))


Lineage = tuple[Step, ...]
"""The steps of a lineage, coarsest first; () is the root."""


def as_lineage(steps: Iterable[Step]) -> Lineage:
    """Return a lineage in which a species is named by its epithet and by genus and epithet.

    >>> as_lineage([Step.of("g__Bacillus"), Step.of("s__subtilis")])[1].names
    ('subtilis', 'Bacillus subtilis')
    >>> as_lineage([Step.of("g__Bacillus"), Step.of("s__Bacillus_subtilis")])[1].names
    ('Bacillus_subtilis', 'subtilis')
    """
    found = list(steps)
    for place, step in enumerate(found):
        if step.rank == "s" and step.names[0] and place and found[place - 1].rank == "g":
            name, genus = step.names[0], found[place - 1].names[0]
            both = folded(name).startswith(f"{folded(genus)} ")
            found[place] = Step("s", (name, name[len(genus) + 1 :] if both else f"{genus} {name}"))
    return tuple(found)


def parsed_lineage(text: str, separator: str) -> Lineage:
    """Parse a lineage such as `d__Bacteria; p__Firmicutes`."""
    return as_lineage(map(Step.of, text.split(separator)))


def bare_name(hierarchy: Hierarchy, node: int) -> str:
    """Return the name of a node without 'parent/' or ' [id]', which tree readers add to make names distinct."""
    name = str(hierarchy.names[node])
    above = f"{hierarchy.names[hierarchy.parent[node]]}/" if node else ""
    if above and name.startswith(above):
        return name.removeprefix(above)
    return name.rpartition(" [")[0] if name.endswith("]") and " [" in name else name


@lru_cache(_REMEMBERED)
def folded(name: str) -> str:
    """Return the form of a name that is compared.

    >>> folded('"g__Bacillus_subtilis"') == folded("bacillus  subtilis")
    True
    """
    bare = taxon_strings.split_prefix(name.translate(_QUOTES).strip())[1]
    return " ".join(bare.replace("_", " ").casefold().split())


def beside(name: str) -> str:
    """Return the advice to add a class beside the tree."""
    how = argument("beside", (name,), python=f"hierarchy.beside([{name!r}])", verb="tree")
    return f"To have {name!r} as an answer beside the tree, add it: {how}."


class Unbound(NamedTuple):
    """Why a lineage cannot be bound."""

    path: str
    """The lineage up to the step at fault."""
    name: str
    """The name of that step."""
    below: int
    """The last node that was found."""
    reason: str


@final
@dataclass(frozen=True)
class Bound:
    """The nodes of a lineage."""

    nodes: tuple[int, ...]
    """The node of each step, or `NO_NODE`; a node named by several steps belongs to the last of them."""
    unbound: Unbound | None = None
    """Why the lineage cannot be bound; None if it can."""

    @property
    def last(self) -> int:
        """The deepest node; the root if no step has a node."""
        return max((0, *self.nodes))  # deeper nodes have higher numbers


@final
class Binder:
    """Binds lineages to the nodes of a tree.

    Parameters
    ----------
    hierarchy
        The tree.
    outside
        Names of classes outside the tree: a lineage ends above them. "*": whatever cannot be bound.
    finer
        Whether names from elsewhere in the tree may follow a leaf in a lineage without ranks. In labels they are
        mistakes, such as two labels in one cell.

    Examples
    --------
    >>> from hedgerow import Hierarchy
    >>> h = Hierarchy.from_edges([("root", "Bacilli"), ("root", "Clostridia"), ("Bacilli", "g__Bacillus")])
    >>> lineage = (Step.of("c:Bacilli"), Step.of("o:Bacillales"), Step.of("g:Bacillus"))
    >>> Binder(h).bind(lineage).nodes
    (1, -1, 2)
    >>> Binder(h).bind((Step.of("c:Bacili"),)).unbound.reason
    "the tree has no 'Bacili'"
    """

    def __init__(self, hierarchy: Hierarchy, outside: Iterable[str] = (), *, finer: bool = True) -> None:
        self._hierarchy = hierarchy
        self._finer = finer
        named = set(outside)
        self._anything = ANYTHING in named
        self._outside = {folded(name) for name in named - {ANYTHING}}
        self._end: list[int] = hierarchy.end.tolist()
        self._found: dict[tuple[int, Step, bool], int | str | None] = {}
        self._aliases: Mapping[str, int] = hierarchy.aliases

    @cached_property
    def _names(self) -> list[str]:
        return list(self._hierarchy.names.tolist())

    @cached_property
    def _by_name(self) -> dict[str, list[int]]:
        """The nodes, ascending, by the folded forms of their name, bare name and title."""
        nodes: dict[str, list[int]] = {}
        titles = None if self._hierarchy.title is None else self._hierarchy.title.tolist()
        for node, name in enumerate(self._names):
            spellings = [folded(name)]
            if name[-1] == "]" or "/" in name:
                spellings.append(folded(bare_name(self._hierarchy, node)))
            if titles is not None and titles[node]:
                spellings.append(folded(titles[node]))
            for spelling in dict.fromkeys(spellings):
                nodes.setdefault(spelling, []).append(node)
        return nodes

    @cached_property
    def _by_alias(self) -> dict[str, list[int]]:
        """The nodes, ascending, by the folded forms of their aliases: there may be millions, so only if needed."""
        nodes: dict[str, set[int]] = {}
        for alias, node in self._aliases.items():
            nodes.setdefault(folded(alias), set()).add(node)
        return {alias: sorted(several) for alias, several in nodes.items()}

    @cached_property
    def _rank(self) -> list[str]:
        """The letter of each node's rank, from the tree's ranks or the prefix of the name; '' if unknown."""
        if self._hierarchy.rank is not None:
            return [taxon_strings.rank_letter(rank) for rank in self._hierarchy.rank.tolist()]
        return [taxon_strings.split_prefix(name)[0] for name in self._names]

    @cached_property
    def _at_rank(self) -> dict[str, list[int]]:
        """The nodes of each known rank, ascending; empty if the ranks of the tree are unknown."""
        letters = np.array(self._rank)
        if self._hierarchy.rank is None and not letters[1:].all():
            return {}
        return {letter: np.flatnonzero(letters == letter).tolist() for letter in set(self._rank) - {""}}

    def bind(self, lineage: Lineage) -> Bound:
        """Return the nodes of a lineage, or why it has none."""
        nodes: list[int] = []
        here = 0  # the last node found
        skipped: list[int] = []  # later steps without a node
        unfound: list[int] = []  # all steps without a node
        problem, stop = "", 0
        for number, step in enumerate(lineage):
            if self._outside and not step.whole and any(folded(name) in self._outside for name in step.names):
                skipped = unfound = []  # the ancestors of a class outside the tree may be outside it as well
                break
            found: int | str | None = NO_NODE
            if step.names[0]:
                key = (here, step, len(lineage) > 1 and not skipped)
                found = self._found.get(key, NO_NODE)
                if found == NO_NODE:  # lineages share their beginnings
                    found = self._found[key] = self._find(*key)
            if isinstance(found, str):
                problem, stop = found, number
                break
            if step.whole and isinstance(found, int):
                nodes.append(found)
                break
            if found is None and not step.whole:
                skipped.append(number)
                unfound.append(number)
            elif found is not None and found != NO_NODE:
                if skipped:
                    problem, stop = self._clash(lineage, skipped, here, found), number
                    skipped = []
                    if problem:
                        break
                if found == here:
                    nodes = [NO_NODE if node == here else node for node in nodes]
                here = found
            nodes.append(NO_NODE if found is None else found)
        if not problem:
            problem, stop = self._missing(lineage, skipped, here)
        if not problem:
            problem, stop = self._second(lineage, unfound, nodes, here)
        nodes += [NO_NODE] * (len(lineage) - len(nodes))
        if not problem or self._anything:
            return Bound(tuple(nodes))
        path = " > ".join(step.names[0] for step in lineage[: stop + 1])
        return Bound(tuple(nodes), Unbound(path, lineage[stop].names[0], here, problem))

    def explained(self, counts: Counter[Unbound]) -> str:
        """Describe what cannot be bound, with the number of examples, most frequent first."""
        said = []
        for unbound, count in counts.most_common(_SHOWN):
            known = self._names[unbound.below : self._end[unbound.below]]
            asked = [] if unbound.name in self._names else [unbound.name]  # otherwise it is elsewhere in the tree
            near = closest(asked, known) or closest(asked, self._names)
            said.append(f"{unbound.path!r} ({counted(count, 'example', 'examples')}): {unbound.reason}.{near}")
        more = f" And {len(counts) - _SHOWN:,} more." if len(counts) > _SHOWN else ""
        return " ".join(said) + more

    def unknown(self, counts: Counter[Unbound]) -> list[str]:
        """Return the names that are nowhere in the tree, most frequent first."""
        return [unbound.name for unbound, _ in counts.most_common() if not self._alike(unbound.name, "")]

    def _find(self, here: int, step: Step, follows: bool) -> int | str | None:
        """Return the node that a step names at or below `here`; None if there is none, a message if several.

        If the step follows `here` directly, a child is preferred.
        """
        for name in step.names:
            below = self._within(self._alike(name, step.rank), here)
            if len(below) > 1 and below[0] == here:
                below = below[1:]  # a class within a phylum of the same name
            if not below:
                continue
            if below[-1] < self._end[below[0]]:  # one, or all of them below the first
                return below[0]
            children = [node for node in below if self._hierarchy.parent[node] == here]
            if follows and len(children) == 1:
                return children[0]
            exact = [node for node in below if self._names[node] == name]
            if len(exact) == 1:
                return exact[0]
            shown_nodes = "; ".join(self._path(node) for node in below[:3])
            return f"{name!r} may be several nodes there: {shown_nodes}"
        return None

    def _alike(self, name: str, rank: str) -> list[int]:
        """Return the nodes, ascending, with this name and this or no rank."""
        nodes = self._by_name.get(folded(name), [])
        if not nodes and name in self._aliases:
            nodes = [self._aliases[name]]
        elif not nodes and not name.isdecimal():  # ids are written in one way
            nodes = self._by_alias.get(folded(name), [])
        return [node for node in nodes if not rank or self._rank[node] in ("", rank)]

    def _has_rank_below(self, top: int, rank: str) -> bool:
        nodes = self._at_rank.get(rank, [])
        first = bisect_left(nodes, top + 1)
        return first < len(nodes) and nodes[first] < self._end[top]

    def _within(self, nodes: list[int], top: int) -> list[int]:
        """Return those of some ascending nodes that are at or below `top`."""
        return nodes if top == 0 else nodes[bisect_left(nodes, top) : bisect_left(nodes, self._end[top])]

    def _clash(self, lineage: Lineage, skipped: Sequence[int], above: int, below: int) -> str:
        """Explain why steps between two nodes contradict the tree; '' if it has nothing at their ranks there."""
        between = self._hierarchy.lineage(below).tolist()[:-1]
        between = [node for node in between if node > above]
        for step in (lineage[number] for number in skipped):
            if step.rank and self._at_rank:
                against = [node for node in between if self._rank[node] == step.rank]
            else:
                against = between
            elsewhere = self._alike(step.names[0], step.rank)
            if against or (elsewhere and not self._within(elsewhere, above)):
                return f"the tree's own lineage is {self._path(below)}"
        return ""

    def _missing(self, lineage: Lineage, skipped: Sequence[int], here: int) -> tuple[str, int]:
        """Explain why the last steps have no node, and which is at fault; '' if the tree lacks their ranks."""
        ends = self._end[here] == here + 1
        for number in skipped:
            step = lineage[number]
            # After a leaf, names are finer than the tree; but two leaves alone are two labels, not a lineage.
            if ends and (step.rank or (self._finer and number > 1) or not self._alike(step.names[0], "")):
                continue
            if step.rank and self._at_rank and not self._has_rank_below(here, step.rank):
                continue
            name = step.names[0]
            if elsewhere := self._alike(name, step.rank):
                return f"the tree's own lineage of {name!r} is {self._path(elsewhere[0])}", number
            return f"the tree has no {name!r}{f' below {self._names[here]!r}' if here else ''}", number
        return "", 0

    def _second(
        self, lineage: Lineage, unfound: Sequence[int], nodes: Sequence[int], here: int
    ) -> tuple[str, int]:
        """Explain which step contradicts a node of its own rank on the path, such as the root; '' if none does."""
        path = self._hierarchy.lineage(here).tolist() if unfound else []
        at_rank = {self._rank[node]: node for node in path}
        for number in unfound:
            rank = lineage[number].rank
            # A kingdom has the letter of its domain, so one of the two may be missing.
            if rank and rank in at_rank and (rank != "d" or at_rank[rank] not in nodes):
                return f"the tree's own lineage is {self._path(here)}", number
        return "", 0

    def _path(self, node: int) -> str:
        return " > ".join(self._names[ancestor] for ancestor in self._hierarchy.lineage(node))
