"""The tree of classes.

Terms used throughout the package:

- **Node**: a class, known to users by its *name* and to arrays by its *index*.
- **Depth-first order**: nodes are numbered so that the root is 0 and the descendants of `v`, itself included, are
  exactly ``v .. end[v] - 1``. Children keep the order of the input. "Ancestor" and "descendant" include the node.
- **Leaf**: a node without children, one of the finest classes.
- **Information**: ``I(y) = log2 |L| - log2 |L(y)|`` bits, where ``L(y)`` are the leaves below `y`: 0 at the root,
  largest at the leaves. Other measures of how specific a node is: see `Hierarchy.information`.
- **Trivial node**: a node with exactly one child, the root excepted. It says the same as its child, less
  precisely, and is never an answer.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar, cast, final

import numpy as np

from hedgerow.arrays import map_row_blocks
from hedgerow.errors import ParameterError, ScoreError, TreeError, UnknownNameError, closest
from hedgerow.tree import formats
from hedgerow.tree.common_ancestors import CommonAncestors
from hedgerow.tree.drawing import draw
from hedgerow.tree.formats.table import NodeTable
from hedgerow.tree.layout import DepthFirst, Indices, Scalar, by_depth, depth_first, fold_up, follow
from hedgerow.tree.names import Names, PackedNames, as_names, check_names

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
    from os import PathLike

    import networkx
    from numpy.typing import ArrayLike, NDArray

InformationKind = Literal["leaves", "depth"]
T = TypeVar("T")

_LCA_ROW_BYTES = 32  # what a pair takes while it is worked on


@final
@dataclass(frozen=True, eq=False, repr=False)
class Hierarchy:
    """A frozen tree of named classes, its nodes in depth-first order.

    Build one with `from_edges`, `from_lineages`, `from_paths`, `from_json`, `from_newick`, `from_networkx` or
    `from_parents`; the plain constructor wants nodes that are in depth-first order already.

    Parameters
    ----------
    names
        One distinct, non-empty string per node.
    parent
        Index of each node's parent; -1 for the root, which comes first.
    rank
        Optional rank of each node, such as "genus"; "" where it has none.
    title
        Optional display name of each node, such as the words of a WordNet id; "" where it has none.

    Examples
    --------
    >>> edges = [("animal", "bird"), ("animal", "fish"), ("bird", "robin"), ("bird", "wren")]
    >>> h = Hierarchy.from_edges(edges)
    >>> h.names.tolist()
    ['animal', 'bird', 'robin', 'wren', 'fish']
    >>> h.end.tolist()
    [5, 4, 3, 4, 5]
    >>> h.names[h.lca(h.index("robin"), h.index("wren"))]
    'bird'
    """

    names: Names
    parent: Indices
    rank: Names | None = None
    title: Names | None = None
    depth: Indices = field(init=False)
    """Number of edges from the root to each node."""
    end: Indices = field(init=False)
    """One past the last descendant of each node."""
    leaves: Indices = field(init=False)
    """The nodes without children, ascending."""

    def __post_init__(self) -> None:
        parent = np.array(self.parent, dtype=np.int64)
        names = as_names(self.names, "names", len(parent))
        check_names(names)
        if parent.ndim != 1 or not len(parent) or parent[0] != -1:
            raise TreeError(_NOT_DEPTH_FIRST)
        layout = depth_first(names, parent)
        if not np.array_equal(layout.order, np.arange(len(parent))):
            raise TreeError(_NOT_DEPTH_FIRST)
        self._fill(names, layout, self.rank, self.title)

    def _fill(self, names: Names | PackedNames, layout: DepthFirst, rank: Any, title: Any) -> None:
        count = len(names)
        if count < 2:
            raise TreeError("A tree needs at least one class below its root; this one has no edges.")
        if isinstance(names, PackedNames):
            object.__setattr__(self, "_packed_names", names)
        else:
            self._set("names", names)
        self._set("parent", layout.parent)
        self._set("depth", layout.depth)
        self._set("end", layout.end)
        self._set("leaves", np.flatnonzero(layout.end == np.arange(1, count + 1)))
        self._set("rank", None if rank is None else as_names(rank, "rank", count))
        self._set("title", None if title is None else as_names(title, "title", count))

    def _set(self, name: str, array: NDArray[Any] | None) -> None:
        if array is not None:
            array.flags.writeable = False
        object.__setattr__(self, name, array)

    if not TYPE_CHECKING:  # or every attribute would seem to be there

        def __getattr__(self, attribute: str) -> Any:
            """Make the names of a large tree when they are asked for first."""
            packed = self.__dict__.get("_packed_names")
            if attribute == "names" and packed is not None:
                self.__dict__.setdefault("names", _frozen(packed.unpacked()))  # another thread may have been first
                self.__dict__.pop("_packed_names", None)
            return object.__getattribute__(self, attribute)

    # Construction ------------------------------------------------------------------------------------------

    @classmethod
    def from_parents(
        cls,
        names: Sequence[str],
        parent: ArrayLike,
        rank: Sequence[str] | None = None,
        title: Sequence[str] | None = None,
    ) -> Self:
        """Build from nodes in any order: `parent[i]` is the position of node i's parent, -1 for the root.

        Siblings keep the order in which they are given.
        """
        listed = as_names(names, "names", len(names))
        check_names(listed)
        table = NodeTable(listed, np.asarray(parent, dtype=np.int64), rank, title)  # type: ignore[arg-type]
        return cls._from_table(table)

    @classmethod
    def _from_table(cls, table: NodeTable) -> Self:
        """Build from what a reader made: names that are distinct and not empty."""
        layout = depth_first(table.names, table.parent) if table.layout is None else table.layout

        def ordered(values: Any, what: str) -> Any:
            if values is None or table.layout is not None:
                return values
            return as_names(values, what, len(layout.order))[layout.order]

        tree = object.__new__(cls)
        tree._fill(
            ordered(table.names, "names"), layout, ordered(table.rank, "rank"), ordered(table.title, "title")
        )
        return tree

    @classmethod
    def from_edges(cls, source: str | PathLike[str] | Iterable[tuple[str, str]]) -> Self:
        """Read `parent,child` pairs, in any order, from a CSV or TSV file or from an iterable of pairs.

        A first line reading `parent,child` (in any case) is a header.

        >>> Hierarchy.from_edges([("root", "cat"), ("root", "dog")])
        Hierarchy(3 nodes, 2 leaves, depth 1, root 'root')
        """
        return cls._from_table(formats.read_edges(source))

    @classmethod
    def from_lineages(cls, source: Any, *, root: str = "root", disambiguate: bool = False) -> Self:
        """Read one lineage a row, one rank a column, coarsest first; blanks are allowed.

        Parameters
        ----------
        source
            A CSV or TSV file with a header, a pandas DataFrame, or rows with the header as the first row.
            Column names become ranks.
        root
            Name of the root that is added above several tops.
        disambiguate
            Where one name stands under two parents, call the nodes "parent/name" instead of refusing.

        >>> h = Hierarchy.from_lineages([("class", "species"), ("birds", "robin"), ("birds", "wren")])
        >>> h.names.tolist(), h.rank.tolist()
        (['birds', 'robin', 'wren'], ['class', 'species', 'species'])
        """
        return cls._from_table(formats.read_lineages(source, root=root, disambiguate=disambiguate))

    @classmethod
    def from_paths(
        cls,
        source: str | PathLike[str] | Iterable[str],
        *,
        root: str = "root",
        separator: str | None = None,
        disambiguate: bool = False,
    ) -> Self:
        """Read one path a line, such as `animal/bird/robin` or `animal;bird;robin`, from a file or strings.

        `separator` is "/" or ";" as found on the first line that has one, unless given.

        >>> Hierarchy.from_paths(["bird/robin", "bird/wren", "fish"]).names.tolist()
        ['root', 'bird', 'robin', 'wren', 'fish']
        """
        return cls._from_table(
            formats.read_paths(source, root=root, separator=separator, disambiguate=disambiguate)
        )

    @classmethod
    def from_json(cls, source: str | PathLike[str] | dict[str, Any] | list[Any], *, root: str = "root") -> Self:
        """Read nested JSON: ``{"name": ..., "children": [...]}`` or ``{"bird": {"robin": {}, "wren": {}}}``.

        >>> Hierarchy.from_json({"animal": {"bird": ["robin", "wren"], "fish": {}}}).names.tolist()
        ['animal', 'bird', 'robin', 'wren', 'fish']
        """
        return cls._from_table(formats.read_json(source, root=root))

    @classmethod
    def from_newick(cls, source: str | PathLike[str], *, root: str = "root") -> Self:
        """Read a Newick file, or a Newick string (it ends with a semicolon); branch lengths are skipped.

        >>> Hierarchy.from_newick("((robin,wren)bird,fish)animal;").names.tolist()
        ['animal', 'bird', 'robin', 'wren', 'fish']
        """
        return cls._from_table(formats.read_newick(source, root=root))

    @classmethod
    def from_networkx(cls, graph: networkx.DiGraph) -> Self:
        """Build from a directed graph whose edges go from parent to child; nodes become `str(node)`."""
        return cls._from_table(formats.read_networkx(graph))

    @classmethod
    def read(
        cls,
        path: str | PathLike[str],
        format: str | None = None,  # noqa: A002
        *,
        root: str = "root",
        separator: str | None = None,
        disambiguate: bool = False,
    ) -> Self:
        """Read a tree file of any format, decided by its extension unless given.

        Parameters
        ----------
        path
            The file: `.csv`, `.tsv` edges; `.txt` paths; `.json` nested JSON or what `save` wrote; `.nwk`,
            `.newick`, `.tree` Newick.
        format
            "edges", "lineages", "paths", "json" or "newick".
        root
            Name of the root that is added above several tops.
        separator, disambiguate
            See `from_paths` and `from_lineages`.
        """
        return cls._from_table(formats.read_tree(path, format, root, separator, disambiguate))

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Read what `save` wrote."""
        table = formats.read_saved(path)
        return cls.from_parents(list(table.names), table.parent, table.rank, table.title)

    def save(self, path: str | PathLike[str]) -> None:
        """Write everything about the tree, ranks and titles included, to a JSON file; see `load`."""
        formats.write_saved(path, self._table())

    def to_edges(self, path: str | PathLike[str]) -> None:
        """Write `parent,child` lines, parents first (tab-separated if the name ends in `.tsv`)."""
        formats.write_edges(path, self._table())

    def to_json(self, path: str | PathLike[str]) -> None:
        """Write nested JSON: ``{"name": ..., "children": [...]}``."""
        formats.write_json(path, self._table())

    def to_newick(self, path: str | PathLike[str]) -> None:
        """Write a Newick file, names quoted where they must be."""
        formats.write_newick(path, self._table())

    def to_networkx(self) -> networkx.DiGraph:
        """Return a directed graph of names, edges from parent to child."""
        return formats.to_networkx(self._table())

    def _table(self) -> NodeTable:
        return NodeTable(
            self.names.tolist(),
            self.parent,
            None if self.rank is None else self.rank.tolist(),
            None if self.title is None else self.title.tolist(),
        )

    def with_titles(self, titles: Mapping[str, str]) -> Hierarchy:
        """Return the same tree with display names, given by node name; other nodes keep what they have.

        Names that are not in the tree are skipped, since a list of titles often serves several trees.

        >>> h = Hierarchy.from_edges([("n01", "n02"), ("n01", "n03")]).with_titles({"n02": "dog", "n99": "cat"})
        >>> h.title.tolist()
        ['', 'dog', '']
        """
        old = [""] * len(self) if self.title is None else self.title.tolist()
        new = [titles.get(name, title) for name, title in zip(self.names.tolist(), old, strict=True)]
        return Hierarchy(self.names, self.parent, self.rank, as_names(new, "title", len(self)))

    # Names -------------------------------------------------------------------------------------------------

    @cached_property
    def _index(self) -> dict[str, int]:
        return dict(zip(self.names.tolist(), range(len(self)), strict=True))

    def index(self, name: str) -> int:
        """Return the index of one name."""
        found = self._index.get(name) if isinstance(name, str) else None
        if found is None:
            raise UnknownNameError(f"There is no {name!r} in the tree.{closest([str(name)], self._index)}")
        return found

    def indices(self, names: ArrayLike) -> Indices:
        """Return the indices of an array of names, in its shape.

        >>> h = Hierarchy.from_edges([("root", "cat"), ("root", "dog")])
        >>> h.indices([["dog", "cat"], ["root", "dog"]]).tolist()
        [[2, 1], [0, 2]]
        """
        array = np.asarray(names, dtype=object)
        flat = array.ravel().tolist()
        index = self._index
        try:
            found = np.fromiter(map(index.__getitem__, flat), dtype=np.int64, count=len(flat))
        except (KeyError, TypeError):
            unknown = list(dict.fromkeys(str(name) for name in flat if name not in index))
            shown = ", ".join(map(repr, unknown[:5])) + (", ..." if len(unknown) > 5 else "")
            count = "name is" if len(unknown) == 1 else "names are"
            raise UnknownNameError(
                f"{len(unknown)} {count} not in the tree: {shown}.{closest(unknown[:5], index)}"
            ) from None
        return found.reshape(array.shape)

    def nodes(self, labels: ArrayLike, classes: ArrayLike | None = None) -> Indices:
        """Return node indices from labels: names or integers, checked.

        Parameters
        ----------
        labels
            Names of nodes, or integers.
        classes
            Names of nodes in which integers are positions; without it, integers are node indices.

        Examples
        --------
        >>> h = Hierarchy.from_edges([("root", "cat"), ("root", "dog")])
        >>> h.nodes(["dog", "root"]).tolist(), h.nodes([2, 0]).tolist()
        ([2, 0], [2, 0])
        >>> h.nodes([0, 1, 0], classes=["dog", "cat"]).tolist()
        [2, 1, 2]
        """
        array = np.asarray(labels)
        if array.dtype.kind in "OUT":
            return self.indices(array)
        if classes is None or classes is self.names:
            return self._checked(array)
        known, place = self.indices(classes), _integers(array)
        if place.size and (place.min() < 0 or place.max() >= len(known)):
            offender = place[(place < 0) | (place >= len(known))].ravel()[0]
            raise ScoreError(f"{offender} is not a number of a class: there are classes 0 to {len(known) - 1}.")
        return known[place]

    def _checked(self, nodes: ArrayLike) -> Indices:
        """Return node indices as int64, having made sure that they are such."""
        array = _integers(nodes)
        if array.size and (array.min() < 0 or array.max() >= len(self)):
            offender = array[(array < 0) | (array >= len(self))].ravel()[0]
            raise ScoreError(f"{offender} is not a node index: the tree has nodes 0 to {len(self) - 1}.")
        return array

    # Relations ---------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.parent)

    def is_ancestor(self, a: ArrayLike, b: ArrayLike) -> NDArray[np.bool_]:
        """Tell whether `a` is an ancestor of `b`, or `b` itself; the two broadcast."""
        a, b = self._checked(a), self._checked(b)
        return np.asarray((a <= b) & (b < self.end[a]))

    def lca(self, a: ArrayLike, b: ArrayLike) -> Any:
        """Return the lowest common ancestor of each pair; the two broadcast."""
        a, b = np.broadcast_arrays(_integers(a), _integers(b))
        result = np.empty(a.shape, dtype=np.int64)
        flat_a, flat_b, flat = a.reshape(-1), b.reshape(-1), result.reshape(-1)

        def fill(block: slice) -> None:
            low, high = np.minimum(flat_a[block], flat_b[block]), np.maximum(flat_a[block], flat_b[block])
            if low.min(initial=0) < 0 or high.max(initial=0) >= len(self):
                self._checked(np.stack([low, high]))
            self._common_ancestors.write(low, high, out=flat[block])

        map_row_blocks(fill, flat.size, _LCA_ROW_BYTES)
        return result[()]

    @cached_property
    def _common_ancestors(self) -> CommonAncestors:
        return CommonAncestors(self.parent)

    def lineage(self, node: int) -> Indices:
        """Return the path from the root to a node: root first, the node last."""
        path = [int(self._checked(node))]
        while path[-1] > 0:
            path.append(int(self.parent[path[-1]]))
        return np.array(path[::-1], dtype=np.int64)

    def children(self, node: int) -> Indices:
        """Return the children of a node, in order."""
        node = int(self._checked(node))
        by_parent, start = self._by_parent
        return by_parent[start[node] : start[node + 1]]

    def siblings(self, node: int) -> Indices:
        """Return the children of a node's parent, the node itself included; for the root, the root."""
        parent = int(self.parent[self._checked(node)])
        return np.zeros(1, dtype=np.int64) if parent < 0 else self.children(parent)

    @cached_property
    def _by_parent(self) -> tuple[Indices, Indices]:
        """All nodes but the root sorted by parent, and where the children of each node start there."""
        by_parent = 1 + np.argsort(self.parent[1:], kind="stable")
        start = np.searchsorted(self.parent[by_parent], np.arange(len(self) + 1))
        return by_parent, start

    @cached_property
    def child_count(self) -> Indices:
        """Number of children of each node."""
        return _frozen(np.bincount(self.parent[1:], minlength=len(self)))

    @cached_property
    def leaf_count(self) -> Indices:
        """Number of leaves below each node; 1 for a leaf."""
        before = self.leaves_before
        return _frozen(before[self.end] - before[:-1])

    @cached_property
    def leaves_before(self) -> Indices:
        """Number of leaves with an index below each of 0 .. n.

        The leaves under `v` are those numbered ``leaves_before[v] .. leaves_before[end[v]] - 1``.
        """
        return _frozen(np.searchsorted(self.leaves, np.arange(len(self) + 1)))

    @cached_property
    def is_leaf(self) -> NDArray[np.bool_]:
        """Mask of the nodes without children."""
        return _frozen(self.child_count == 0)

    @cached_property
    def is_trivial(self) -> NDArray[np.bool_]:
        """Mask of the nodes with exactly one child, the root excepted."""
        mask = self.child_count == 1
        mask[0] = False
        return _frozen(mask)

    @cached_property
    def height(self) -> Indices:
        """Number of edges from each node down to its deepest leaf."""
        deepest = fold_up(np.maximum, self.depth, self.parent, self.depth)
        return _frozen(deepest - self.depth)

    @cached_property
    def levels(self) -> tuple[Indices, ...]:
        """The nodes at depth 0, 1, 2, ..., each ascending."""
        return tuple(by_depth(self.depth))

    # Specificity -------------------------------------------------------------------------------------------

    def information(
        self, kind: InformationKind | ArrayLike = "leaves", *, leaf_weights: ArrayLike | None = None
    ) -> NDArray[np.float64]:
        """Return how specific each node is: 0 at the root, growing towards the leaves.

        Parameters
        ----------
        kind
            "leaves": ``log2 |L| - log2 |L(y)|``, in bits. "depth": the number of edges from the root. An
            array of one value a node is checked and returned, so that whatever takes a kind takes values too.
        leaf_weights
            Positive weights of the leaves, in the order of `leaves`, such as how common each class is; then
            information is ``log2 W - log2 W(y)`` with the weights summed.

        >>> h = Hierarchy.from_edges([("root", "pet"), ("root", "wolf"), ("pet", "cat"), ("pet", "dog")])
        >>> h.information().round(2).tolist()
        [0.0, 0.58, 1.58, 1.58, 1.58]
        >>> h.information("depth").tolist()
        [0.0, 1.0, 2.0, 2.0, 1.0]
        >>> h.information(leaf_weights=[1, 1, 2]).tolist()
        [0.0, 1.0, 2.0, 2.0, 1.0]
        """
        if leaf_weights is not None:
            if not isinstance(kind, str) or kind != "leaves":
                raise ParameterError("leaf_weights go with kind='leaves' only.")
            return _bits(self._subtree_weight(leaf_weights))
        if not isinstance(kind, str):
            return self._checked_information(kind)
        if kind == "leaves":
            return _bits(self.leaf_count)
        if kind == "depth":
            return self.depth.astype(np.float64)
        raise ParameterError(f"Information is 'leaves', 'depth' or one value a node, not {kind!r}.")

    def _subtree_weight(self, leaf_weights: ArrayLike) -> NDArray[np.float64]:
        weights = np.asarray(leaf_weights, dtype=np.float64)
        if weights.shape != self.leaves.shape:
            raise ScoreError(f"{len(self.leaves)} leaf weights are needed, one a leaf; got {weights.shape}.")
        bad = ~(np.isfinite(weights) & (weights > 0))
        if bad.any():
            leaf = int(np.flatnonzero(bad)[0])
            raise ScoreError(
                f"Leaf weights must be positive numbers; that of {self.names[self.leaves[leaf]]!r} is "
                f"{weights[leaf]}. Give rare classes a small positive weight."
            )
        weight = np.zeros(len(self))
        weight[self.leaves] = weights
        return fold_up(np.add, weight, self.parent, self.depth)

    def _checked_information(self, values: ArrayLike) -> NDArray[np.float64]:
        array = np.array(values, dtype=np.float64)
        if array.shape != (len(self),):
            raise ScoreError(f"Information needs one value a node, {len(self)} in all; got shape {array.shape}.")
        if not np.isfinite(array).all() or array[0] != 0 or np.any(array[1:] < array[self.parent[1:]]):
            raise ScoreError(
                "Information must be finite, 0 at the root, and never smaller at a child than at its parent."
            )
        return array

    # Parts -------------------------------------------------------------------------------------------------

    def subtree(self, keep: ArrayLike) -> tuple[Hierarchy, Indices]:
        """Return the rooted tree that some nodes span, and where every old node went.

        Parameters
        ----------
        keep
            Names, indices or a boolean mask of nodes. Their ancestors are kept as well.

        Returns
        -------
        Hierarchy
            The kept nodes, in their old order.
        projection : int64 array
            For each old node the new index of its nearest kept ancestor (itself, where it is kept).

        >>> h = Hierarchy.from_edges([("root", "pet"), ("root", "wolf"), ("pet", "cat"), ("pet", "dog")])
        >>> small, projection = h.subtree(["cat"])
        >>> small.names.tolist(), small.names[projection].tolist()
        (['root', 'pet', 'cat'], ['root', 'pet', 'cat', 'pet', 'root'])
        """
        asked = np.zeros(len(self), dtype=bool)
        array = np.asarray(keep)
        if array.dtype == bool and array.shape != asked.shape:
            raise ScoreError(f"A mask needs one value a node, {len(self)} in all; got shape {array.shape}.")
        asked[array if array.dtype == bool else self.nodes(array)] = True
        asked_before = np.concatenate([[0], np.cumsum(asked)])
        kept = asked_before[self.end] > asked_before[:-1]
        kept[0] = True
        new_index = np.cumsum(kept) - 1
        nearest = follow(np.where(kept, np.arange(len(self)), self.parent))
        smaller = Hierarchy(
            self.names[kept],
            np.where(self.parent[kept] < 0, -1, new_index[self.parent[kept]]),
            None if self.rank is None else self.rank[kept],
            None if self.title is None else self.title[kept],
        )
        return smaller, new_index[nearest]

    @cached_property
    def without_trivial(self) -> Hierarchy:
        """The tree without its trivial nodes: the others in their order, each below its nearest ancestor left.

        >>> h = Hierarchy.from_edges([("root", "pet"), ("pet", "cat"), ("cat", "tabby"), ("pet", "dog")])
        >>> h.without_trivial.names.tolist()
        ['root', 'pet', 'tabby', 'dog']
        """
        kept = ~self.is_trivial
        if kept.all():
            return self
        nearest = follow(np.where(kept, np.arange(len(self)), self.parent))
        position = np.cumsum(kept) - 1
        parent = np.concatenate([[-1], position[nearest[self.parent[kept][1:]]]])
        return Hierarchy(self.names[kept], parent)

    def cut_at_depth(self, depth: int) -> tuple[Hierarchy, Indices]:
        """Return the tree without the nodes deeper than `depth`, and the projection; see `subtree`."""
        if depth < 1:
            raise ParameterError(f"A tree can be cut at depth 1 or deeper, not at {depth}.")
        return self.subtree(self.depth <= depth)

    def split_leaves(self, fraction: float, seed: int, *, per_parent: bool = True) -> tuple[Indices, Indices]:
        """Draw a random share of the leaves; return these leaves and the others, both ascending.

        With `per_parent` the share is taken among the leaves of every parent, and what is not a whole number
        is rounded up or down at random: half of an only child is a coin toss.
        """
        if not 0 <= fraction <= 1:
            raise ParameterError(f"fraction must lie between 0 and 1, not {fraction}.")
        random = np.random.default_rng(seed)
        group = self.parent[self.leaves] if per_parent else np.zeros_like(self.leaves)
        shuffled = np.lexsort((random.random(len(group)), group))
        first, size = np.unique(group[shuffled], return_index=True, return_counts=True)[1:]
        share = np.floor(size * fraction + random.random(len(size)))
        place = np.arange(len(group)) - np.repeat(first, size)
        chosen = np.zeros(len(group), dtype=bool)
        chosen[shuffled] = place < np.repeat(share, size)
        return self.leaves[chosen], self.leaves[~chosen]

    # Identity and display ----------------------------------------------------------------------------------

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the sorted (child, parent) pairs: the same for the same tree in any order of nodes."""
        pairs = sorted(zip(self.names[1:].tolist(), self.names[self.parent[1:]].tolist(), strict=True))
        digest = hashlib.sha256()
        for child, parent in pairs:
            # Lengths make the encoding unambiguous whatever characters the names hold.
            digest.update(f"{len(child)}:{child}{len(parent)}:{parent}".encode("utf-8", "surrogatepass"))
        return digest.hexdigest()

    def derived(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return what `make` returns, made once per tree and key: for arrays that other modules derive."""
        if key not in self._derived:
            self._derived[key] = make()
        return cast("T", self._derived[key])

    @cached_property
    def _derived(self) -> dict[Hashable, Any]:
        return {}

    def __reduce__(self) -> tuple[type[Hierarchy], tuple[Any, ...]]:
        return Hierarchy, (self.names, self.parent, self.rank, self.title)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Hierarchy):
            return NotImplemented
        return (
            np.array_equal(self.parent, other.parent)
            and np.array_equal(self.names, other.names)
            and _same(self.rank, other.rank)
            and _same(self.title, other.title)
        )

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __repr__(self) -> str:
        return (
            f"Hierarchy({len(self):,} nodes, {len(self.leaves):,} leaves, depth {self.depth.max():,}, "
            f"root {self.names[0]!r})"
        )

    def pretty(self, *, max_depth: int = 3, max_children: int = 5) -> str:
        """Draw the top of the tree as text, long lists of children folded.

        >>> h = Hierarchy.from_edges([("root", "pet"), ("root", "wolf"), ("pet", "cat"), ("pet", "dog")])
        >>> print(h.pretty())
        root  (3 leaves)
        ├── pet  (2 leaves)
        │   ├── cat
        │   └── dog
        └── wolf
        """
        return draw(lambda node: self.children(node).tolist(), self._described, max_depth, max_children)

    def label(self, node: int) -> str:
        """Return a node's name with its title, if it has one: "n02084071 (dog)"."""
        name, title = self.names[node], "" if self.title is None else self.title[node]
        return f"{name} ({title})" if title else str(name)

    def _described(self, node: int) -> str:
        rank = "" if self.rank is None or not self.rank[node] else f"  [{self.rank[node]}]"
        leaves = "" if self.is_leaf[node] else f"  ({_counted(int(self.leaf_count[node]), 'leaf', 'leaves')})"
        return self.label(node) + rank + leaves


_NOT_DEPTH_FIRST = (
    "Nodes must be in depth-first order, the root first with parent -1. "
    "Hierarchy.from_parents takes them in any order."
)


def _integers(nodes: ArrayLike) -> Indices:
    array = np.asarray(nodes)
    if array.size and array.dtype.kind not in "iu":
        raise ScoreError(f"Nodes are given by integer index, not as {array.dtype}; index() finds that of a name.")
    return array.astype(np.int64, copy=False)


def _bits(amount: NDArray[Any]) -> NDArray[np.float64]:
    bits: NDArray[np.float64] = np.log2(amount[0]) - np.log2(amount)
    return bits


def _frozen(array: NDArray[Scalar]) -> NDArray[Scalar]:
    array.flags.writeable = False
    return array


def _same(a: Names | None, b: Names | None) -> bool:
    if a is None or b is None:
        return a is b
    return np.array_equal(a, b)


def _counted(count: int, one: str, many: str) -> str:
    return f"{count:,} {one if count == 1 else many}"
