"""Ontologies: OBO files, and OWL in JSON (obographs); of their relations, `is_a` makes the tree."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from hedgerow.errors import FileError, argument, counted, some
from hedgerow.files import read_text
from hedgerow.tree.formats.rows import open_lines, open_rows
from hedgerow.tree.formats.taxon_ids import arrow, names_with_ids
from hedgerow.tree.names import Aliases
from hedgerow.tree.validation import NodeTable, Origin, Problem, refuse, refuse_empty, validated

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from os import PathLike

_FIRST = "first"
_EXACT = re.compile(r'"((?:[^"\\]|\\.)*)"\s+EXACT\b')
_ESCAPED = re.compile(r"\\(.)")
_HEADER = ["term", "parent"]
_IS_A = ("is_a", "http://www.w3.org/2000/01/rdf-schema#subClassOf")


@dataclass
class _Term:
    """A class of an ontology."""

    id: str
    place: int
    """Its line, or its number in the file."""
    name: str = ""
    parents: list[str] = field(default_factory=list)
    aliases: list[str] = field(default_factory=list)
    obsolete: bool = False


def read_obo(path: str | PathLike[str], root: str = "root", parents: str | None = None) -> NodeTable:
    """Read the terms of an OBO file.

    Classes are named by their names; shared names become "name [id]". Ids, alternative ids and exact synonyms are
    aliases. Obsolete terms are dropped. Several terms without a parent are put under a root named `root`.

    Parameters
    ----------
    path
        The file.
    root
        Name of the root that is added if there are several top terms.
    parents
        Which parent to keep of terms that have several: "first", or a CSV file with the columns term and parent.
    """
    origin, lines = open_lines(path, "line", "obo")
    terms: list[_Term] = []
    term: _Term | None = None
    for number, line in lines:
        key, _, value = line.partition(":")
        value = value.strip()
        word = value.partition(" ")[0]  # an id; a comment may follow
        if line.startswith("["):
            term = _Term("", number) if line.strip() == "[Term]" else None
            terms += [term] if term is not None else []
        elif term is None:
            continue
        elif key == "id":
            term.id = word
        elif key == "name":
            term.name = _ESCAPED.sub(r"\1", value)
        elif key == "is_a" and word not in term.parents:
            term.parents.append(word)
        elif key == "alt_id":
            term.aliases.append(word)
        elif key == "synonym" and (found := _EXACT.match(value)):
            term.aliases.append(_ESCAPED.sub(r"\1", found[1]))
        elif key == "is_obsolete":
            term.obsolete = value.startswith("true")
    return _table(terms, origin, root, parents)


class _Synonym(msgspec.Struct):
    pred: str
    val: str


class _Meta(msgspec.Struct):
    synonyms: list[_Synonym] = []
    deprecated: bool = False


class _Node(msgspec.Struct):
    id: str
    lbl: str | None = None
    type: str | None = None
    meta: _Meta | None = None


class _Edge(msgspec.Struct):
    sub: str
    pred: str
    obj: str


class _Graph(msgspec.Struct):
    nodes: list[_Node] = []
    edges: list[_Edge] = []


class _Document(msgspec.Struct):
    graphs: list[_Graph]


def read_obographs(path: str | PathLike[str], root: str = "root", parents: str | None = None) -> NodeTable:
    """Read the classes of an ontology in the JSON format of OBO Graphs; parameters and names as in `read_obo`.

    An id such as `http://purl.obolibrary.org/obo/CL_0000084` also has the alias `CL:0000084`.
    """
    origin = Origin(os.fspath(path), "node", "obographs")
    try:
        document = msgspec.json.decode(read_text(path), type=_Document)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise FileError(f"{origin.subject} is not an ontology in the JSON of OBO Graphs: {error}.") from None
    terms: dict[str, _Term] = {}
    for number, node in enumerate((node for graph in document.graphs for node in graph.nodes), 1):
        if node.type not in (None, "CLASS"):
            continue
        meta = node.meta or _Meta()
        exact = [synonym.val for synonym in meta.synonyms if synonym.pred == "hasExactSynonym"]
        short = node.id.rpartition("/")[2].replace("_", ":", 1)
        aliases = exact if short == node.id else [short, *exact]
        terms.setdefault(node.id, _Term(node.id, number, node.lbl or "", [], aliases, meta.deprecated))
    for graph in document.graphs:
        for edge in graph.edges:
            if edge.pred in _IS_A and edge.sub in terms and edge.obj not in terms[edge.sub].parents:
                terms[edge.sub].parents.append(edge.obj)
    used = {parent for term in terms.values() for parent in term.parents}
    # An imported class may be mentioned only: it has neither a name nor a place.
    return _table(
        [term for term in terms.values() if term.name or term.parents or term.id in used], origin, root, parents
    )


def _table(terms: Sequence[_Term], origin: Origin, root: str, parents: str | None) -> NodeTable:
    kept = [term for term in terms if not term.obsolete]
    if not kept:
        refuse_empty(origin)
    place = {term.id: number for number, term in enumerate(kept)}
    problems = list(_flaws(kept, place, origin))
    if problems:
        refuse(problems, origin)
    chosen = {} if parents in (None, _FIRST) else _chosen(parents, kept)
    several = [term for term in kept if len(term.parents) > 1 and term.id not in chosen and parents != _FIRST]
    if several:
        refuse([_several(several, kept, place, origin)], origin)
    parent = [place[chosen.get(term.id, term.parents[0])] if term.parents else -1 for term in kept]
    text = arrow().string()
    ids = [term.id for term in kept]
    names, shared, twins = names_with_ids(arrow().array([term.name or term.id for term in kept], text), ids)
    others = [(alias, number) for number, term in enumerate(kept) for alias in (term.id, *term.aliases) if alias]
    aliases = Aliases.of([*others, *zip(shared, twins.tolist(), strict=True)])
    table = NodeTable(names, np.array(parent, dtype=np.int64), aliases=aliases)
    return validated(table, origin, origin.places([term.place for term in kept]), root=root)


def _flaws(terms: Sequence[_Term], place: dict[str, int], origin: Origin) -> Iterator[Problem]:
    """Describe ids that are missing or repeated, and parents that are not there."""
    for number, term in enumerate(terms):
        if not term.id:
            yield Problem("no id", f"{origin.at(term.place)}: the term {term.name!r} has no id.", "Give it one.")
        elif place[term.id] != number:
            first = origin.at(term.place, terms[place[term.id]].place)
            yield Problem("repeated id", f"{first}: two terms have the id {term.id!r}.", "Remove one of them.")
        if unknown := [parent for parent in term.parents if parent not in place]:
            yield Problem(
                "unknown parent",
                f"{origin.at(term.place)}: {term.name or term.id!r} is below {some(unknown)}, which is not there "
                f"or obsolete.",
                "Export the ontology with what it imports.",
            )


def _several(terms: Sequence[_Term], every: Sequence[_Term], place: dict[str, int], origin: Origin) -> Problem:
    def said(term: _Term) -> str:
        above = " and ".join(repr(every[place[parent]].name or parent) for parent in term.parents)
        return f"{term.name or term.id!r} is below {above} ({origin.at(term.place)})"

    listed = "; ".join(map(said, terms[:5]))
    have = counted(len(terms), "term has several parents", "terms have several parents")
    return Problem(
        "several parents",
        f"{have}: {listed}{'; ...' if len(terms) > 5 else ''}.",
        f"A tree has one parent for each: use {argument('parents', _FIRST)} to keep the first that is listed, or "
        f"{argument('parents', 'FILE')}, a CSV file with the columns term and parent.",
    )


def _chosen(path: str, terms: Sequence[_Term]) -> dict[str, str]:
    """Read which parent to keep of some terms; return the id of the parent, by that of the term."""
    known = {term.name: term for term in terms} | {term.id: term for term in terms}
    rows = open_rows(path, "choice", is_header=lambda row: [cell.strip().lower() for cell in row] == _HEADER)
    chosen, problems = {}, []
    for line, row in rows:
        names = [str(cell).strip() for cell in row]
        found = [known.get(name) for name in names]
        if len(found) != len(_HEADER) or found[0] is None or found[1] is None:
            problem = f"{row!r} is not a term and one of its parents, by name or id"
        elif found[1].id not in found[0].parents:
            problem = f"{names[1]!r} is no parent of {names[0]!r} in the ontology"
        else:
            chosen[found[0].id] = found[1].id
            continue
        problems.append(Problem("choice", f"{rows.origin.at(line)}: {problem}.", "Correct the line."))
    if problems:
        refuse(problems, rows.origin)
    return chosen
