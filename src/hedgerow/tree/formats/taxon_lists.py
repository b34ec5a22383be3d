"""Lists of taxa: prefixed strings, QIIME 2, FASTA for SINTAX, labels of SpeciesNet."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from hedgerow.errors import FileError, argument, counted, some
from hedgerow.files import open_binary
from hedgerow.tree.formats.forest import Forest
from hedgerow.tree.formats.rows import open_lines
from hedgerow.tree.taxon_strings import (
    ANIMAL,
    HOMO_SAPIENS,
    HUMAN,
    SPECIESNET_SHAPE,
    is_unassigned,
    prefixed_taxa,
    sintax_taxa,
    speciesnet_label,
)
from hedgerow.tree.validation import NodeTable, Origin

if TYPE_CHECKING:
    from collections.abc import Iterable
    from os import PathLike

_TAX = re.compile(rb";\s*tax=([^;\r\n]*)")


def read_prefixed(source: str | PathLike[str] | Iterable[str], root: str = "root") -> NodeTable:
    """Read one lineage per line, such as `k__Fungi;p__Ascomycota;c__Leotiomycetes`, from a file or strings.

    Prefixes give the ranks and remain part of the names; the name without its prefix is an alias, unless several
    nodes have it. Empty ranks, such as `s__`, are skipped. Nodes that share a name, such as `f__Incertae Sedis`,
    are called "parent/name". In a file, the id of a reference sequence
    and a tab may come before the lineage.
    """
    origin, lines = open_lines(source, "string", "prefixed")
    forest = Forest(origin, has_ranks=True)
    for line, text in lines:
        in_file = origin.name is not None
        _add_prefixed(forest, text.partition("\t")[2] if in_file and "\t" in text else text, line)
    return forest.table(root, disambiguate=True)


def _add_prefixed(forest: Forest, lineage: str, line: int) -> None:
    """Add one lineage, with an alias for every name without its prefix."""
    if is_unassigned(lineage):
        return
    taxa = prefixed_taxa(lineage)
    for taxon in taxa:
        if not taxon.rank:
            forest.add_problem(
                "prefix",
                f"{forest.origin.at(line)}: {taxon.written!r} has no rank in front, such as g__.",
                "If no name has one, read the file as paths: "
                f"{argument('format', 'paths', python='Hierarchy.from_paths')}.",
            )
            return
    taxa = [taxon for taxon in taxa if taxon.name]
    nodes = forest.add([taxon.written for taxon in taxa], line, [taxon.rank for taxon in taxa])
    forest.aliases += [(taxon.name, node) for taxon, node in zip(taxa, nodes, strict=True)]


def read_qiime2(path: str | PathLike[str], root: str = "root") -> NodeTable:
    """Read the `Taxon` column of a tab-separated table, as `qiime tools export` writes it.

    Its strings are read as those of `read_prefixed`; or, if none of them has prefixes, as names separated by
    semicolons, without ranks.
    """
    origin, lines = open_lines(path, "line", "qiime2")
    first, header = lines[0] if lines else (1, "")
    columns = [cell.strip().lower() for cell in header.split("\t")]
    if "taxon" not in columns:
        raise FileError(
            f"{origin.at(first)} has no column 'Taxon': it has {some(columns)}. A taxonomy of QIIME 2 is a "
            f"tab-separated table with the columns Feature ID and Taxon; lineages without a header are read with "
            f"{argument('format', 'prefixed')}."
        )
    place = columns.index("taxon")
    cells = [(line, row.split("\t")) for line, row in lines[1:] if not row.startswith("#q2:types")]
    lineages = [(line, row[place].strip().strip('"')) for line, row in cells if len(row) > place]
    prefixed = any(taxa and taxa[0].rank for taxa in (prefixed_taxa(lineage) for _, lineage in lineages))
    forest = Forest(origin, has_ranks=prefixed)
    for line, row in cells:
        if len(row) <= place:
            forest.add_problem("columns", f"{origin.at(line)} has no taxon: {row[0][:80]!r}.", "Fill it in.")
    for line, lineage in lineages:
        if prefixed:
            _add_prefixed(forest, lineage, line)
        else:
            forest.add([name for name in map(str.strip, lineage.split(";")) if name], line)
    return forest.table(root, disambiguate=True)


def read_fasta(path: str | PathLike[str], root: str = "root") -> NodeTable:
    """Read the lineages in the headers of a FASTA file, `>id;tax=d:Bacteria,p:Firmicutes;`; sequences are skipped.

    Names do not include the letter of their rank; with it, as in `g:Bacillus`, they are aliases. Empty ranks
    are skipped, and nodes that share a name are called "parent/name".
    """
    origin = Origin(os.fspath(path), format="fasta")
    forest = Forest(origin, has_ranks=True)
    first: dict[bytes, int] = {}  # the line of every distinct lineage
    without: list[int] = []
    with open_binary(path) as file:
        for line, content in enumerate(file, 1):
            if content.startswith(b">"):
                if b"\r" in content.rstrip():
                    raise FileError(f"{origin.at(line)} ends with CR, as in old files. End lines with LF or CRLF.")
                found = _TAX.search(content)
                if found is None:
                    without.append(line)
                else:
                    first.setdefault(found[1], line)
    for lineage, line in first.items():
        try:
            _add_sintax(forest, lineage.decode(), line)
        except UnicodeDecodeError:
            raise FileError(f"{origin.at(line)} is not UTF-8. Save the file as UTF-8.") from None
    if without:
        forest.add_problem(
            "no lineage",
            f"{counted(len(without), 'header has', 'headers have')} no lineage ({origin.at(*without[:5])}).",
            "Headers must read >id;tax=d:Bacteria,p:Firmicutes; with the letter of each rank.",
        )
    return forest.table(root, disambiguate=True)


def _add_sintax(forest: Forest, lineage: str, line: int) -> None:
    """Add one lineage, with an alias for every name with the letter of its rank."""
    taxa = sintax_taxa(lineage)
    for taxon in taxa:
        if ":" not in taxon.written:
            forest.add_problem(
                "no rank",
                f"{forest.origin.at(line)}: {taxon.written!r} has no rank in front, such as g:.",
                "Write the letter of its rank before each name; a name cannot contain a comma.",
            )
            return
    taxa = [taxon for taxon in taxa if taxon.name]
    nodes = forest.add([taxon.name for taxon in taxa], line, [taxon.rank for taxon in taxa])
    forest.aliases += [(taxon.written, node) for taxon, node in zip(taxa, nodes, strict=True)]


def read_speciesnet(path: str | PathLike[str], root: str = "root") -> NodeTable:
    """Read the labels of a SpeciesNet model, or its whole taxonomy.

    A species is named by genus and epithet. Common names are titles; whole labels and their UUIDs are aliases.
    All taxa are below `animal`; `human` and labels without a taxon (`blank`, `vehicle`) are beside it. `no cv
    result` is no class.
    """
    origin, lines = open_lines(path, "line", "speciesnet")
    forest = Forest(origin, has_ranks=True)
    for line, text in lines:
        label = speciesnet_label(text)
        if label is None:
            message = f"{origin.at(line)} has {text.count(';') + 1} parts, not 7: {text[:200]!r}."
            forest.add_problem("columns", message, SPECIESNET_SHAPE)
        elif not label.is_nothing:
            species = HOMO_SAPIENS if label.is_human else ""
            taxa = [] if species else label.taxa
            top = HUMAN if species else ANIMAL if taxa else label.common_name
            node = forest.add([top, *(taxon.name for taxon in taxa)], line, ["", *(taxon.rank for taxon in taxa)])[
                -1
            ]
            forest.titles.setdefault(node, label.common_name if taxa else species)
            forest.aliases += [(alias, node) for alias in (text.strip(), label.uuid, species) if alias]
    return forest.table(root, disambiguate=True)
