"""The tree of classes.

Terms used throughout the package:

- **Node**: a class, known to users by its *name* and to arrays by its *index*.
- **Depth-first order**: nodes are numbered so that the root is 0 and the descendants of `v`, including `v` itself,
  are exactly ``v .. end[v] - 1``. Children keep the order of the input. "Ancestor" and "descendant" include the
  node itself.
- **Leaf**: a node without children, one of the finest classes.
- **Information**: ``I(y) = log2 |L| - log2 |L(y)|`` bits, where ``L(y)`` are the leaves below `y`: 0 at the root,
  largest at the leaves. For other measures of how specific a node is, see `Hierarchy.information`.
- **Trivial node**: a node with exactly one child, except the root. It says the same as its child, less precisely,
  and is never an answer.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Self, final

import msgspec
import numpy as np
from msgspec import Meta

from hedgerow.arrays import Derives, map_row_blocks
from hedgerow.errors import (
    ParameterError,
    ScoreError,
    TreeError,
    UnknownNameError,
    a_number,
    argument,
    check_number,
    refuse_keywords,
    some,
)
from hedgerow.tree.formats import edges, lineages, nested, newick, paths
from hedgerow.tree.layout import (
    CommonAncestors,
    DepthFirst,
    Indices,
    Scalar,
    by_depth,
    depth_first,
    fold_up,
    follow,
)
from hedgerow.tree.names import Aliases, Names, as_names, as_texts, check_root, find, look_up, suggestion
from hedgerow.tree.node import Node, as_html, as_text
from hedgerow.tree.settings import InformationKind, bits, checked_information, checked_weights
from hedgerow.tree.tree_reading import TreeReading, writable
from hedgerow.tree.validation import NodeTable, Origin, checked_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from os import PathLike

    import networkx
    from numpy.typing import ArrayLike, NDArray


OneNode = str | int | np.integer[Any]
"""A node as users give it: by name or by index."""

_MEMORY = Origin(None, "position")
_LCA_ROW_BYTES = 32  # working memory for one pair


class SavedTree(msgspec.Struct, forbid_unknown_fields=True):
    """A tree inside a document, with its nodes in depth-first order."""

    fingerprint: Annotated[str, Meta(description="Its `Hierarchy.fingerprint`.")]
    names: Annotated[list[str], Meta(description="The name of each node.")]
    parents: Annotated[list[int], Meta(description="The index of each node's parent; -1 for the root.")]
    ranks: Annotated[list[str] | None, Meta(description='The rank of each node, or "".')] = None
    titles: Annotated[list[str] | None, Meta(description='A display name of each node, or "".')] = None
    aliases: Annotated[dict[str, int] | None, Meta(description="Other names, with the index of the node.")] = None


@final
@dataclass(frozen=True, eq=False, repr=False)
class Hierarchy(Derives):
    """An immutable tree of named classes, with its nodes in depth-first order.

    Build one with `read`, `from_edges`, `from_lineages`, `from_paths`, `from_json`, `from_newick`, `from_networkx`
    or `from_parents`; the constructor requires nodes that are already in depth-first order.

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
    aliases
        Optional other names of nodes, such as synonyms, with the index of the node of each. An alias can be used
        wherever a node is looked up by name; names of nodes take precedence.

    Examples
    --------
    >>> edges = [("animal", "bird"), ("animal", "fish"), ("bird", "robin"), ("bird", "wren")]
    >>> h = Hierarchy.from_edges(edges)
    >>> h.names.tolist()
    ['animal', 'bird', 'robin', 'wren', 'fish']
    >>> h.end.tolist()
    [5, 4, 3, 4, 5]
    >>> h["bird"]
    Node('bird', index 1, depth 1, 2 leaves)
    >>> h.names[h.lca("robin", "wren")]
    'bird'
    """

    names: Names
    parent: Indices
    rank: Names | None = None
    title: Names | None = None
    aliases: Mapping[str, int] = field(default_factory=dict)
    depth: Indices = field(init=False)
    """Number of edges from the root to each node."""
    end: Indices = field(init=False)
    """One past the last descendant of each node."""
    leaves: Indices = field(init=False)
    """The nodes without children, ascending."""

    def __post_init__(self) -> None:
        given = NodeTable(self.names, self.parent, self.rank, self.title, self.aliases)  # type: ignore[arg-type]
        table = checked_table(given, _MEMORY)
        layout = depth_first(table.parent)
        if not np.array_equal(layout.order, np.arange(len(layout.order))):
            raise TreeError(
                "Nodes must be in depth-first order, starting with the root, whose parent is -1. "
                "Hierarchy.from_parents takes them in any order."
            )
        self._fill(table, layout)

    def _fill(self, table: NodeTable, layout: DepthFirst) -> None:
        """Set all fields, with the nodes of a table in depth-first order."""
        count, order = len(layout.order), layout.order
        arrays = {
            "names": as_names(table.names, "names", count)[order],
            "parent": layout.parent,
            "depth": layout.depth,
            "end": layout.end,
            "leaves": np.flatnonzero(layout.end == np.arange(1, count + 1)),
            "rank": None if table.rank is None else as_texts(table.rank, "rank", count)[order],
            "title": None if table.title is None else as_texts(table.title, "title", count)[order],
        }
        for name, array in arrays.items():
            object.__setattr__(self, name, None if array is None else _frozen(array))
        object.__setattr__(self, "aliases", Aliases.of(table.aliases).moved(layout.place))

    # Construction ------------------------------------------------------------------------------------------

    @classmethod
    def _from_table(cls, table: NodeTable) -> Self:
        """Build from the table of a reader, which has checked it."""
        tree = object.__new__(cls)
        tree._fill(table, depth_first(table.parent))
        return tree

    def _table(self) -> NodeTable:
        return NodeTable(
            self.names.tolist(),
            self.parent,
            None if self.rank is None else self.rank.tolist(),
            None if self.title is None else self.title.tolist(),
            Aliases.of(self.aliases),
        )

    @classmethod
    def from_parents(
        cls,
        names: Sequence[str],
        parent: ArrayLike,
        rank: Sequence[str] | None = None,
        title: Sequence[str] | None = None,
        aliases: Mapping[str, int] | None = None,
    ) -> Self:
        """Build from nodes in any order: `parent[i]` is the position of node i's parent, -1 for the root.

        Siblings keep the order in which they are given. Aliases also give positions.
        """
        given = NodeTable(names, parent, rank, title, aliases)  # type: ignore[arg-type]
        return cls._from_table(checked_table(given, _MEMORY))

    @classmethod
    def from_edges(cls, source: str | PathLike[str] | Iterable[tuple[str, str]] | Any) -> Self:
        """Read `parent,child` pairs, in any order.

        Parameters
        ----------
        source
            A CSV or TSV file, in which a first line `parent,child` (in any case) is a header; an iterable of
            pairs; or a pandas, polars or Arrow table, or records (dicts), with columns called parent and child
            (in any case), or with exactly two columns in this order.

        >>> from hedgerow import Hierarchy
        >>> Hierarchy.from_edges([("root", "cat"), ("root", "dog")])
        Hierarchy(3 nodes, 2 leaves, depth 1, root 'root')
        """
        return cls._from_table(edges.read_edges(source))

    @classmethod
    def from_lineages(
        cls,
        source: Any,
        *,
        ranks: Sequence[str] | None = (),
        root: str = "root",
        disambiguate: bool = False,
        na: str | Sequence[str] = (),
    ) -> Self:
        """Read one lineage per row, one rank per column, coarsest first; cells may be blank.

        Parameters
        ----------
        source
            A CSV or TSV file with a header; a pandas, polars or Arrow table; records (dicts); or rows. Column
            names become ranks.
        ranks
            Column names for plain rows, which have none of their own; None if there are no ranks.
        root
            Name of the root that is added if there are several top nodes.
        disambiguate
            If a name occurs under two parents, call the nodes "parent/name" instead of raising an error.
        na
            The text of cells that are meant to be blank, such as "NA" or ("NA", "-").

        >>> from hedgerow import Hierarchy
        >>> h = Hierarchy.from_lineages([("birds", "robin"), ("birds", "wren")], ranks=["class", "species"])
        >>> h.names.tolist(), h.rank.tolist()
        (['birds', 'robin', 'wren'], ['class', 'species', 'species'])
        >>> h == Hierarchy.from_lineages([{"class": "birds", "species": name} for name in ("robin", "wren")])
        True
        """
        return cls._from_table(lineages.read_lineages(source, root, disambiguate, ranks, na))

    @classmethod
    def from_paths(
        cls,
        source: str | PathLike[str] | Iterable[str],
        *,
        root: str = "root",
        separator: str | None = None,
        disambiguate: bool = False,
    ) -> Self:
        """Read one path per line, such as `animal/bird/robin` or `animal;bird;robin`, from a file or strings.

        Unless given, `separator` is "/" or ";", as found on the first line that contains one.

        >>> from hedgerow import Hierarchy
        >>> Hierarchy.from_paths(["bird/robin", "bird/wren", "fish"]).names.tolist()
        ['root', 'bird', 'robin', 'wren', 'fish']
        """
        return cls._from_table(paths.read_paths(source, root=root, separator=separator, disambiguate=disambiguate))

    @classmethod
    def from_json(cls, source: str | PathLike[str] | dict[str, Any] | list[Any], *, root: str = "root") -> Self:
        """Read nested JSON: ``{"name": ..., "children": [...]}`` or ``{"bird": {"robin": {}, "wren": {}}}``.

        >>> from hedgerow import Hierarchy
        >>> Hierarchy.from_json({"animal": {"bird": ["robin", "wren"], "fish": {}}}).names.tolist()
        ['animal', 'bird', 'robin', 'wren', 'fish']
        """
        return cls._from_table(nested.read_json(source, root=root))

    @classmethod
    def from_newick(cls, source: str | PathLike[str], *, root: str = "root") -> Self:
        """Read a Newick file, or a Newick string, which ends with a semicolon; branch lengths are ignored.

        >>> from hedgerow import Hierarchy
        >>> Hierarchy.from_newick("((robin,wren)bird,fish)animal;").names.tolist()
        ['animal', 'bird', 'robin', 'wren', 'fish']
        """
        return cls._from_table(newick.read_newick(source, root=root))

    @classmethod
    def from_networkx(cls, graph: networkx.DiGraph) -> Self:
        """Build from a directed graph whose edges go from parent to child; nodes become `str(node)`."""
        return cls._from_table(edges.read_networkx(graph))

    @classmethod
    def read(
        cls,
        source: Any,
        format: str | TreeReading | None = None,  # noqa: A002
        **options: Any,
    ) -> Self:
        """Read a tree of any format.

        Parameters
        ----------
        source
            A file; by default its extension decides the format: `.csv`, `.tsv`, `.tab` edges; `.txt` paths;
            `.json` nested JSON; `.nwk`, `.newick`, `.tree`, `.tre` Newick; `.fasta`, `.fa`, `.fas`, `.fna`
            reference sequences; `.obo` an ontology; a folder with `nodes.dmp` is a taxdump. Or, if the format is
            named, data in memory: pairs, rows, strings or nested data.
        format
            A name in `hedgerow.tree.FORMATS`: "edges", "lineages", "paths", "json", "newick", "taxdump",
            "darwin-core", "prefixed", "qiime2", "fasta", "speciesnet", "codes", "obo", "obographs", or one that
            was registered; or a `TreeReading`, which also holds all options.
        **options
            Fields of `TreeReading`: `root`, the name of the root that is added if there are several top nodes;
            `separator` and `disambiguate` of paths; `disambiguate` and `na` of lineages; `prefixes` of codes: the
            lengths of all levels, such as (2, 4, 6), or "dots" if each dot begins a level; `parents` of
            ontologies: which of several parents to keep, "first" or a file.

        >>> from hedgerow import Hierarchy
        >>> h = Hierarchy.read(["d__Bacteria; p__Firmicutes; g__", "d__Archaea; p__"], "prefixed")
        >>> h.names.tolist(), h.rank.tolist()
        (['root', 'd__Bacteria', 'p__Firmicutes', 'd__Archaea'], ['', 'domain', 'phylum', 'domain'])
        >>> h.index("Firmicutes")
        2
        >>> Hierarchy.read(["010121", "010129", "0102"], "codes", prefixes=(2, 4, 6)).names.tolist()
        ['01', '0101', '010121', '010129', '0102']
        """
        refuse_keywords(options, [each.name for each in fields(TreeReading) if each.name != "format"])
        how = replace(format, **options) if isinstance(format, TreeReading) else TreeReading(format, **options)
        return cls._from_table(how.table(source))

    # Writing -----------------------------------------------------------------------------------------------

    def write(self, path: str | PathLike[str], format: str | None = None) -> str:  # noqa: A002
        """Write a tree file: edges, lineages, paths, JSON or Newick; by default, the extension decides which.

        Only JSON keeps everything: ranks, titles and aliases; lineages keep ranks. Return the name of the format.
        """
        found = writable(path, format)
        assert found.write is not None  # noqa: S101  (`writable` has checked it)
        found.write(path, self._table())
        return found.name

    def to_edges(self, path: str | PathLike[str]) -> None:
        """Write `parent,child` lines, parents first (tab-separated if the name ends in `.tsv`)."""
        edges.write_edges(path, self._table())

    def to_networkx(self) -> networkx.DiGraph:
        """Return a directed graph whose nodes are the names and whose edges go from parent to child."""
        return edges.to_networkx(self._table())

    def with_titles(self, titles: Mapping[str, str]) -> Hierarchy:
        """Return the same tree with display names, given by node name; other nodes keep theirs.

        Names that are not in the tree are skipped, since a list of titles often serves several trees.

        >>> h = Hierarchy.from_edges([("n01", "n02"), ("n01", "n03")]).with_titles({"n02": "dog", "n99": "cat"})
        >>> h.title.tolist()
        ['', 'dog', '']
        """
        old = [""] * len(self) if self.title is None else self.title.tolist()
        new = [titles.get(name, title) for name, title in zip(self.names.tolist(), old, strict=True)]
        return replace(self, title=as_names(new, "title", len(self)))

    # Names -------------------------------------------------------------------------------------------------

    @cached_property
    def _index(self) -> dict[str, int]:
        return dict(zip(self.names.tolist(), range(len(self)), strict=True))

    def index(self, name: str) -> int:
        """Return the index of one name, or alias."""
        found = find(name, self._index, self.aliases)
        if found is None:
            hint = suggestion([str(name)], self._index, Aliases.of(self.aliases))
            raise UnknownNameError(f"There is no {name!r} in the tree.{hint}")
        return found

    def indices(self, names: ArrayLike) -> Indices:
        """Return the indices of an array of names, or aliases, in its shape.

        >>> h = Hierarchy.from_edges([("root", "cat"), ("root", "dog")])
        >>> h.indices([["dog", "cat"], ["root", "dog"]]).tolist()
        [[2, 1], [0, 2]]
        """
        return look_up(names, self._index, Aliases.of(self.aliases))

    def canonical(self, names: Iterable[str]) -> list[str]:
        """Replace every alias by the name of its node; names that are not in the tree are kept.

        >>> h = Hierarchy(["cat", "lion", "puma"], [-1, 0, 0], aliases={"cougar": 2})
        >>> h.canonical(["cougar", "lion", "bat"]), h.index("cougar")
        (['puma', 'lion', 'bat'], 2)
        """
        return [
            name if name in self._index or name not in self.aliases else str(self.names[self.aliases[name]])
            for name in names
        ]

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
        array = self._unchecked(labels)
        if classes is not None and classes is not self.names and np.asarray(labels).dtype.kind in "iu":
            known = self.indices(classes)
            distinct, count = np.unique(known, return_counts=True)
            if (count > 1).any():
                again = self.names[distinct[count > 1][0]]
                raise UnknownNameError(f"Each class must be named once; {again!r} is repeated.")
            return known[_in_range(array, len(known), "the number of a class: classes are")]
        return _in_range(array, len(self), "a node index: the tree has nodes")

    def _unchecked(self, labels: ArrayLike) -> Indices:
        """Return names as indices, and integers unchanged, even if they are out of range."""
        array = np.asarray(labels)
        if array.dtype.kind in "OUT":
            return self.indices(array)
        if array.size and array.dtype.kind not in "iu":
            raise ScoreError(f"Nodes are given by name or by integer index, not as {array.dtype}.")
        return array.astype(np.int64, copy=False)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and (name in self._index or name in self.aliases)

    def __getitem__(self, node: OneNode) -> Node:
        """Return a view of one node, given by name or index: see `hedgerow.tree.Node`.

        >>> h = Hierarchy.from_edges([("root", "cat"), ("root", "dog")])
        >>> h["dog"].parent, h[0].children, "bird" in h
        ('root', ('cat', 'dog'), False)
        """
        return Node(int(self.nodes(node)), self)

    def __iter__(self) -> Iterator[str]:
        return iter(self.names.tolist())

    # Relations ---------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.parent)

    def is_ancestor(self, a: ArrayLike, b: ArrayLike) -> NDArray[np.bool_]:
        """Return whether `a` is an ancestor of `b`, or `b` itself; nodes by name or index, with broadcasting."""
        a, b = self.nodes(a), self.nodes(b)
        return np.asarray((a <= b) & (b < self.end[a]))

    def lca(self, a: ArrayLike, b: ArrayLike) -> Any:
        """Return the index of the lowest common ancestor of each pair; nodes by name or index, with broadcasting.

        >>> h = Hierarchy.from_edges([("root", "pet"), ("root", "wolf"), ("pet", "cat"), ("pet", "dog")])
        >>> h.names[h.lca("cat", ["dog", "wolf"])].tolist()
        ['pet', 'root']
        """
        a, b = np.broadcast_arrays(self._unchecked(a), self._unchecked(b))
        result = np.empty(a.shape, dtype=np.int64)
        flat_a, flat_b, flat = a.reshape(-1), b.reshape(-1), result.reshape(-1)

        def fill(block: slice) -> None:
            low, high = np.minimum(flat_a[block], flat_b[block]), np.maximum(flat_a[block], flat_b[block])
            if low.min(initial=0) < 0 or high.max(initial=0) >= len(self):
                self.nodes(np.stack([low, high]))
            self._common_ancestors.write(low, high, out=flat[block])

        map_row_blocks(fill, flat.size, _LCA_ROW_BYTES)
        return result[()]

    @cached_property
    def _common_ancestors(self) -> CommonAncestors:
        return CommonAncestors(self.parent)

    def lineage(self, node: OneNode) -> Indices:
        """Return the path from the root to a node, given by name or index: the root first, the node last."""
        path = [int(self.nodes(node))]
        while path[-1] > 0:
            path.append(int(self.parent[path[-1]]))
        return np.array(path[::-1], dtype=np.int64)

    def children(self, node: OneNode) -> Indices:
        """Return the children of a node, given by name or index, in order."""
        index = int(self.nodes(node))
        by_parent, start = self._by_parent
        return by_parent[start[index] : start[index + 1]]

    def siblings(self, node: OneNode) -> Indices:
        """Return the children of a node's parent, including the node itself; for the root, the root."""
        parent = int(self.parent[self.nodes(node)])
        return np.zeros(1, dtype=np.int64) if parent < 0 else self.children(parent)

    @cached_property
    def _by_parent(self) -> tuple[Indices, Indices]:
        """All nodes except the root, sorted by parent, and where the children of each node start in this order."""
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
        """Mask of the nodes with exactly one child, except the root."""
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
            "leaves": ``log2 |L| - log2 |L(y)|``, in bits. "depth": the number of edges from the root. An array
            with one value per node is checked and returned, so that functions that take a kind also take values.
        leaf_weights
            Positive weights of the leaves, in the order of `leaves`, such as how common each class is. The
            information is then ``log2 W - log2 W(y)``, where ``W(y)`` is the sum of the weights below `y`.

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
                raise ParameterError("leaf_weights can only be used with kind='leaves'.")
            weight = np.zeros(len(self))
            weight[self.leaves] = checked_weights(leaf_weights, self.names, self.leaves)
            return bits(fold_up(np.add, weight, self.parent, self.depth))
        if not isinstance(kind, str):
            return checked_information(kind, self.parent)
        if kind == "leaves":
            return bits(self.leaf_count)
        if kind == "depth":
            return self.depth.astype(np.float64)
        raise ParameterError(f"Information must be 'leaves', 'depth' or one value per node, not {kind!r}.")

    # Parts -------------------------------------------------------------------------------------------------

    def subtree(self, keep: ArrayLike) -> tuple[Hierarchy, Indices]:
        """Return the rooted tree spanned by some nodes, and the new place of every old node.

        Parameters
        ----------
        keep
            Names, indices or a boolean mask of nodes. Their ancestors are kept as well.

        Returns
        -------
        Hierarchy
            The kept nodes, in their old order.
        projection : int64 array
            For each old node, the new index of its nearest kept ancestor (the node itself if it is kept).

        >>> h = Hierarchy.from_edges([("root", "pet"), ("root", "wolf"), ("pet", "cat"), ("pet", "dog")])
        >>> small, projection = h.subtree(["cat"])
        >>> small.names.tolist(), small.names[projection].tolist()
        (['root', 'pet', 'cat'], ['root', 'pet', 'cat', 'pet', 'root'])
        """
        asked = np.zeros(len(self), dtype=bool)
        array = np.asarray(keep)
        if array.dtype == bool and array.shape != asked.shape:
            raise ScoreError(f"A mask needs one value per node, {len(self)} in all; got shape {array.shape}.")
        asked[array if array.dtype == bool else self.nodes(array)] = True
        before = np.concatenate([[0], np.cumsum(asked)])
        return self._reduced(before[self.end] > before[:-1])

    def _reduced(self, kept: NDArray[np.bool_]) -> tuple[Hierarchy, Indices]:
        """Return the tree of the kept nodes, each below its nearest kept ancestor, and the projection."""
        kept[0] = True
        nearest = follow(np.where(kept, np.arange(len(self)), self.parent))
        projection = (np.cumsum(kept) - 1)[nearest]
        return self._part(kept, np.concatenate([[-1], projection[self.parent[kept][1:]]])), projection

    def _part(self, kept: NDArray[np.bool_], parent: Indices) -> Hierarchy:
        """Return the tree of some nodes, with their ranks, titles and aliases."""
        return Hierarchy(
            self.names[kept],
            parent,
            None if self.rank is None else self.rank[kept],
            None if self.title is None else self.title[kept],
            Aliases.of(self.aliases).moved(np.cumsum(kept) - 1, kept),
        )

    def clade(self, node: OneNode) -> Hierarchy:
        """Return a node and all its descendants as a tree of their own.

        >>> h = Hierarchy.from_edges([("root", "pet"), ("root", "wolf"), ("pet", "cat"), ("pet", "dog")])
        >>> h.clade("pet").names.tolist()
        ['pet', 'cat', 'dog']
        """
        top = int(self.nodes(node))
        if self.is_leaf[top]:
            raise ParameterError(f"{self.display_name(top)!r} is a leaf: there is no tree below it.")
        kept = np.zeros(len(self), dtype=bool)
        kept[top : self.end[top]] = True
        return self._part(kept, np.maximum(self.parent[kept] - top, -1))

    def at_ranks(self, ranks: Sequence[str]) -> Hierarchy:
        """Return the tree of the nodes of some ranks, and the root; each below its nearest kept ancestor.

        >>> h = Hierarchy.from_lineages([{"class": "birds", "family": "thrushes", "species": "robin"}])
        >>> h.at_ranks(["class", "species"]).names.tolist()
        ['birds', 'robin']
        """
        rank_of = np.full(len(self), "", dtype=object) if self.rank is None else self.rank
        known = Counter(filter(None, rank_of.tolist()))
        for rank in ranks:
            if rank not in known:
                listed = ", ".join(f"{rank} ({count:,})" for rank, count in known.most_common(40))
                ranked = f"Its ranks, with the number of their nodes: {listed}."
                raise ParameterError(
                    f"No node of the tree has the rank {rank!r}. {ranked if known else 'It has no ranks at all.'}"
                )
        kept = np.isin(rank_of, list(ranks))
        if not kept[1:].any():
            raise ParameterError("None of these nodes lies below the root: name more ranks.")
        return self._reduced(kept)[0]

    def beside(self, names: Sequence[str], *, root: str = "root") -> Hierarchy:
        """Return the tree with classes beside it, such as "blank" and "vehicle": leaves right below the root.

        They are answers like all others, and every other answer is wrong for them.

        Parameters
        ----------
        names
            The classes to add.
        root
            The name of a root that is no class itself. If the root of the tree has another name, a root with this
            name is added above it.

        >>> h = Hierarchy.from_edges([("animal", "bird"), ("animal", "fish")]).beside(["blank", "vehicle"])
        >>> h.names.tolist(), h.names[h.children("root")].tolist()
        (['root', 'animal', 'bird', 'fish', 'blank', 'vehicle'], ['animal', 'blank', 'vehicle'])
        """
        added = [names] if isinstance(names, str) else list(names)
        check_root(root)
        above = [] if self.names[0].casefold() == root.casefold() else [root]
        if not added or not all(map(str.strip, added)):
            raise ParameterError(
                f"A class beside the tree needs a name, such as 'blank', not {some(added) or 'none'}."
            )
        if known := [name for name in added if name in self]:
            raise ParameterError(f"{some(known)} cannot be put beside the tree: the tree has this class already.")
        if above and root in self:
            raise ParameterError(
                f"{added[0]!r} needs a root above {self.names[0]!r}, but a class is called {root!r} already. "
                f"Choose another name for the root: {argument('root', 'NAME')}."
            )
        shift = len(above)

        def extended(texts: Names | None) -> list[str] | None:
            return None if texts is None else [""] * shift + texts.tolist() + [""] * len(added)

        return Hierarchy.from_parents(
            [*above, *self.names.tolist(), *added],
            np.concatenate([[-1] * shift, self.parent + shift, [0] * len(added)]).astype(np.int64),
            extended(self.rank),
            extended(self.title),
            Aliases.of(self.aliases).moved(np.arange(len(self)) + shift),
        )

    @cached_property
    def without_trivial(self) -> Hierarchy:
        """The tree without its trivial nodes: the others keep their order, each below its nearest kept ancestor.

        >>> h = Hierarchy.from_edges([("root", "pet"), ("pet", "cat"), ("cat", "tabby"), ("pet", "dog")])
        >>> h.without_trivial.names.tolist()
        ['root', 'pet', 'tabby', 'dog']
        """
        return self._reduced(~self.is_trivial)[0] if self.is_trivial.any() else self

    def cut_at_depth(self, depth: int) -> tuple[Hierarchy, Indices]:
        """Return the tree without the nodes deeper than `depth`, and the projection; see `subtree`."""
        if not a_number(depth, "depth") >= 1:
            raise ParameterError(f"A tree can be cut at depth 1 or deeper, not at {depth}.")
        return self.subtree(self.depth <= depth)

    def split_leaves(self, fraction: float, seed: int, *, per_parent: bool = True) -> tuple[Indices, Indices]:
        """Draw a random share of the leaves; return these leaves and the others, both ascending.

        With `per_parent`, the share is taken among the leaves of each parent. A share that is not a whole number
        is rounded up or down at random: half of an only child is a coin toss.
        """
        check_number("fraction", fraction, 0, 1)
        random = np.random.default_rng(seed)
        group = self.parent[self.leaves] if per_parent else np.zeros_like(self.leaves)
        shuffled = np.lexsort((random.random(len(group)), group))
        first, size = np.unique(group[shuffled], return_index=True, return_counts=True)[1:]
        share = np.floor(size * fraction + random.random(len(size)))
        place = np.arange(len(group)) - np.repeat(first, size)
        chosen = np.zeros(len(group), dtype=bool)
        chosen[shuffled] = place < np.repeat(share, size)
        return self.leaves[chosen], self.leaves[~chosen]

    @cached_property
    def rank_names(self) -> tuple[str, ...]:
        """The ranks of the nodes below the root, coarsest (by mean depth) first; () if the tree has none.

        Nodes without a rank have the rank "".

        >>> rows = [("bird", "robin"), ("bird", "wren"), ("fish", "cod")]
        >>> h = Hierarchy.from_lineages(rows, ranks=["class", "species"])
        >>> h.rank_names, h.rank_number.tolist()
        (('class', 'species'), [-1, 0, 1, 1, 0, 1])
        """
        if self.rank is None:
            return ()
        names = sorted(set(self.rank[1:].tolist()))
        place = _places(self.rank[1:], names)
        mean_depth = np.bincount(place, self.depth[1:]) / np.bincount(place)
        return tuple(names[i] for i in np.argsort(mean_depth, kind="stable"))

    @cached_property
    def rank_number(self) -> Indices:
        """The position of each node's rank in `rank_names`; -1 for the root, and if the tree has no ranks."""
        if self.rank is None:
            return _frozen(np.full(len(self), -1))
        return _frozen(np.append(-1, _places(self.rank[1:], self.rank_names)))

    # Identity and display ----------------------------------------------------------------------------------

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the sorted (child, parent) pairs; it does not depend on the order of the nodes."""
        pairs = sorted(zip(self.names[1:].tolist(), self.names[self.parent[1:]].tolist(), strict=True))
        digest = hashlib.sha256()
        for child, parent in pairs:
            # Lengths make the encoding unambiguous, whatever characters the names contain.
            digest.update(f"{len(child)}:{child}{len(parent)}:{parent}".encode("utf-8", "surrogatepass"))
        return digest.hexdigest()

    def to_dict(self) -> dict[str, Any]:
        """Return the tree, ready for JSON."""
        content = {"fingerprint": self.fingerprint, "names": self.names.tolist(), "parents": self.parent.tolist()}
        content |= {} if self.rank is None else {"ranks": self.rank.tolist()}
        content |= {} if self.title is None else {"titles": self.title.tolist()}
        return content | ({"aliases": dict(self.aliases)} if self.aliases else {})

    @staticmethod
    def from_dict(content: SavedTree | dict[str, Any]) -> Hierarchy:
        """Return the tree that `to_dict` returned; its fields are checked, since files may hold anything."""
        try:
            given = msgspec.convert(content, SavedTree)
            tree = Hierarchy(given.names, given.parents, given.ranks, given.titles, given.aliases)  # type: ignore[arg-type]
        except (OverflowError, TypeError, ValueError) as error:
            raise TreeError(f"Its tree is not a tree: {error}") from None
        if tree.fingerprint != given.fingerprint:
            raise TreeError("Its tree does not agree with its fingerprint.")
        return tree

    def __reduce__(self) -> tuple[type[Hierarchy], tuple[Any, ...]]:
        return Hierarchy, (self.names, self.parent, self.rank, self.title, self.aliases)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Hierarchy):
            return NotImplemented
        arrays = ((getattr(self, name), getattr(other, name)) for name in ("parent", "names", "rank", "title"))
        return all(np.array_equal(ours, theirs) for ours, theirs in arrays) and self.aliases == other.aliases

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __repr__(self) -> str:
        return (
            f"Hierarchy({len(self):,} nodes, {len(self.leaves):,} leaves, depth {self.depth.max():,}, "
            f"root {self.names[0]!r})"
        )

    def pretty(self, *, max_depth: int = 3, max_children: int = 5) -> str:
        """Draw the top of the tree as text, with long lists of children folded.

        >>> h = Hierarchy.from_edges([("root", "pet"), ("root", "wolf"), ("pet", "cat"), ("pet", "dog")])
        >>> print(h.pretty())
        root  (3 leaves)
        ├── pet  (2 leaves)
        │   ├── cat
        │   └── dog
        └── wolf
        """
        return as_text(self, max_depth, max_children)

    def display_name(self, node: OneNode) -> str:
        """Return a node's name with its title, if it has one: "n02084071 (dog)"."""
        shown = self[node]
        return f"{shown.name} ({shown.title})" if shown.title else shown.name

    def _repr_html_(self) -> str:
        return as_html(self)


def _frozen(array: NDArray[Scalar]) -> NDArray[Scalar]:
    array.flags.writeable = False
    return array


def _places(texts: Names, known: Sequence[str]) -> Indices:
    """Return the place of each text among the known ones."""
    place = {text: i for i, text in enumerate(known)}
    return np.fromiter(map(place.__getitem__, texts.tolist()), dtype=np.int64, count=len(texts))


def _in_range(array: Indices, count: int, what: str) -> Indices:
    """Raise an error that names the first entry outside 0 .. count - 1."""
    if array.size and not 0 <= array.min() <= array.max() < count:
        offender = array[(array < 0) | (array >= count)][0]
        raise ScoreError(f"{offender} is not {what} 0 to {count - 1}.")
    return array
