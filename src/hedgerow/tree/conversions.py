"""The methods of `Hierarchy` that build trees from files and data, and write them to files."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Self

from hedgerow.tree import formats
from hedgerow.tree.formats import NodeTable
from hedgerow.tree.layout import as_positions
from hedgerow.tree.names import Aliases, as_names, check_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from os import PathLike

    import networkx
    from numpy.typing import ArrayLike


class Conversions(ABC):
    """Readers and writers as methods; `hedgerow.tree.formats` does the work."""

    @classmethod
    @abstractmethod
    def _from_table(cls, table: NodeTable) -> Self:
        """Build from the table of a reader, whose names are distinct and not empty."""

    @abstractmethod
    def _table(self) -> NodeTable:
        """Return the table that writers take."""

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
        listed = as_names(names, "names", len(names))
        check_names(listed)
        return cls._from_table(NodeTable(listed.tolist(), as_positions(parent), rank, title, Aliases.of(aliases)))

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
        return cls._from_table(formats.read_edges(source))

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
        return cls._from_table(formats.read_lineages(source, root, disambiguate, ranks, na))

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
        return cls._from_table(
            formats.read_paths(source, root=root, separator=separator, disambiguate=disambiguate)
        )

    @classmethod
    def from_json(cls, source: str | PathLike[str] | dict[str, Any] | list[Any], *, root: str = "root") -> Self:
        """Read nested JSON: ``{"name": ..., "children": [...]}`` or ``{"bird": {"robin": {}, "wren": {}}}``.

        >>> from hedgerow import Hierarchy
        >>> Hierarchy.from_json({"animal": {"bird": ["robin", "wren"], "fish": {}}}).names.tolist()
        ['animal', 'bird', 'robin', 'wren', 'fish']
        """
        return cls._from_table(formats.read_json(source, root=root))

    @classmethod
    def from_newick(cls, source: str | PathLike[str], *, root: str = "root") -> Self:
        """Read a Newick file, or a Newick string, which ends with a semicolon; branch lengths are ignored.

        >>> from hedgerow import Hierarchy
        >>> Hierarchy.from_newick("((robin,wren)bird,fish)animal;").names.tolist()
        ['animal', 'bird', 'robin', 'wren', 'fish']
        """
        return cls._from_table(formats.read_newick(source, root=root))

    @classmethod
    def from_taxdump(cls, folder: str | PathLike[str]) -> Self:
        """Read NCBI's taxonomy: the folder into which `taxdump.tar.gz` was unpacked.

        Classes are called by their scientific names; names that several taxa share become "name [tax id]". Tax
        ids, merged tax ids and synonyms are aliases.
        """
        return cls._from_table(formats.read_taxdump(folder))

    @classmethod
    def from_darwin_core(cls, path: str | PathLike[str], *, root: str = "root") -> Self:
        """Read a Darwin Core table of taxa, such as GBIF's `Taxon.tsv`; synonyms and taxon ids are aliases."""
        return cls._from_table(formats.read_darwin_core(path, root))

    @classmethod
    def from_prefixed(cls, source: str | PathLike[str] | Iterable[str], *, root: str = "root") -> Self:
        """Read lineages with the letter of each rank, from a file or strings; empty ranks are skipped.

        >>> from hedgerow import Hierarchy
        >>> h = Hierarchy.from_prefixed(["d__Bacteria; p__Firmicutes; g__", "d__Archaea; p__"])
        >>> h.names.tolist(), h.rank.tolist()
        (['root', 'd__Bacteria', 'p__Firmicutes', 'd__Archaea'], ['', 'domain', 'phylum', 'domain'])
        >>> h.index("Firmicutes")
        2
        """
        return cls._from_table(formats.read_prefixed(source, root))

    @classmethod
    def from_codes(
        cls,
        source: str | PathLike[str] | Iterable[str],
        *,
        prefixes: str | Sequence[int],
        root: str = "root",
    ) -> Self:
        """Read codes whose prefixes are their ancestors, from a file or strings.

        `prefixes` are the lengths of all levels, such as (2, 4, 6), or "dots" if each dot begins a level.

        >>> from hedgerow import Hierarchy
        >>> Hierarchy.from_codes(["010121", "010129", "0102"], prefixes=(2, 4, 6)).names.tolist()
        ['01', '0101', '010121', '010129', '0102']
        >>> Hierarchy.from_codes(["62.01", "62.02", "63"], prefixes="dots").names.tolist()
        ['root', '62', '62.01', '62.02', '63']
        """
        return cls._from_table(formats.read_codes(source, root, prefixes))

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
        na: str | Sequence[str] = (),
        prefixes: str | Sequence[int] | None = None,
    ) -> Self:
        """Read a tree of any format; by default, the extension decides which.

        Parameters
        ----------
        path
            The file: `.csv`, `.tsv` for edges; `.txt` for paths; `.json` for nested JSON or a file written by
            `save`; `.nwk`, `.newick`, `.tree` for Newick; `.fasta`, `.fa` for reference sequences. A folder with
            `nodes.dmp` is a taxdump.
        format
            One of `hedgerow.tree.FORMATS`: "edges", "lineages", "paths", "json", "newick", "taxdump",
            "darwin-core", "prefixed", "qiime2", "fasta", "speciesnet", "codes", or one that was registered.
        root
            Name of the root that is added if there are several top nodes.
        separator, disambiguate, na, prefixes
            See `from_paths`, `from_lineages` and `from_codes`.
        """
        if format is not None and not isinstance(format, str):
            return cls.read(path, **vars(format))
        return cls._from_table(formats.read_tree(path, format, root, separator, disambiguate, na, prefixes))

    def write(self, path: str | PathLike[str], format: str | None = None) -> str:  # noqa: A002
        """Write a tree file: edges, lineages, paths, JSON or Newick; by default, the extension decides which.

        Only JSON keeps everything; lineages keep ranks. Return the name of the format.
        """
        return formats.write_tree(path, self._table(), format)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Read a file written by `save`."""
        table = formats.read_saved(path)
        return cls.from_parents(table.names, table.parent, table.rank, table.title, table.aliases)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the whole tree, including ranks and titles, to a JSON file; see `load`."""
        formats.write_saved(path, self._table())

    def to_edges(self, path: str | PathLike[str]) -> None:
        """Write `parent,child` lines, parents first (tab-separated if the name ends in `.tsv`)."""
        formats.write_edges(path, self._table())

    def to_json(self, path: str | PathLike[str]) -> None:
        """Write nested JSON: ``{"name": ..., "children": [...]}``."""
        formats.write_json(path, self._table())

    def to_newick(self, path: str | PathLike[str]) -> None:
        """Write a Newick file, with names quoted where necessary."""
        formats.write_newick(path, self._table())

    def to_networkx(self) -> networkx.DiGraph:
        """Return a directed graph whose nodes are the names and whose edges go from parent to child."""
        return formats.to_networkx(self._table())
