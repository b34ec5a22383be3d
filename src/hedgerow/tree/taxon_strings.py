"""Ranks, and taxa in the notations of tools: `d__Bacteria; p__Firmicutes`, `d:Bacteria,p:Firmicutes`, SpeciesNet.

In comes one string; out go the taxa of its lineage, coarsest first. Readers of trees and of scores share this.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

LINNAEAN_RANKS = ("kingdom", "phylum", "class", "order", "family", "genus", "species")
"""The usual ranks, coarsest first."""
RANK_OF_PREFIX = {
    "r": "realm",
    "d": "domain",
    "sk": "superkingdom",
    **{rank[0]: rank for rank in LINNAEAN_RANKS},
    "sh": "species hypothesis",
    "t": "strain",
}
"""The ranks of prefixes; any other prefix is a rank of its own."""
_RANK_OF_NUMBER = {
    f"D_{i}": rank for i, rank in enumerate(("domain", *LINNAEAN_RANKS[1:]))
}  # older files of SILVA
_LETTERS = "dpcofgst"
_LETTER_OF_RANK = {
    **{letter: letter for letter in _LETTERS},
    **{RANK_OF_PREFIX[letter]: letter for letter in _LETTERS},
    **dict.fromkeys(("superkingdom", "kingdom", "k"), "d"),  # Bacteria are any of these
    "division": "p",
    "subspecies": "t",
}
_UNDERSCORES = re.compile(r"(D_\d{1,2}|[A-Za-z]{1,3}\d?)__(.*)", re.DOTALL)
_ANY_PREFIX = re.compile(rf"([k{_LETTERS}])(?:__|:)|(D_\d+)__")
_COLON = re.compile(r"([^:]*):(.*)", re.DOTALL)
_REMEMBERED = 1 << 16  # names, most of which occur in many lineages
NO_RESULT = "no cv result"
"""What SpeciesNet writes if the classifier gave no result."""
ANIMAL, HUMAN, HOMO_SAPIENS = "animal", "human", "homo sapiens"
"""What SpeciesNet calls any animal, and people: their class, and their species."""
_UNASSIGNED = {"", "unassigned", "unclassified"}  # folded
_SPECIESNET = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22};")


class Taxon(NamedTuple):
    """One name of a lineage."""

    rank: str
    """Its rank, such as "genus"; "" if it has no prefix."""
    name: str
    """Its name without the prefix; "" if it is missing, as in `g__`."""
    written: str
    """The name with its prefix, such as `g__Bacillus`."""


def prefixed_taxa(lineage: str) -> list[Taxon]:
    """Parse a lineage with prefixes and semicolons, as in Greengenes, SILVA, UNITE and QIIME 2.

    >>> prefixed_taxa("d__Bacteria; g__; x")  # doctest: +NORMALIZE_WHITESPACE
    [Taxon(rank='domain', name='Bacteria', written='d__Bacteria'), Taxon(rank='genus', name='', written='g__'),
     Taxon(rank='', name='x', written='x')]
    """
    return _taxa(lineage, ";", _UNDERSCORES)


def sintax_taxa(lineage: str) -> list[Taxon]:
    """Parse a lineage with letters, colons and commas, as in references and results of SINTAX.

    >>> sintax_taxa("d:Bacteria,g:Bacillus")[1]
    Taxon(rank='genus', name='Bacillus', written='g:Bacillus')
    """
    return _taxa(lineage, ",", _COLON)


def _taxa(lineage: str, separator: str, prefix: re.Pattern[str]) -> list[Taxon]:
    taxa = []
    for part in filter(None, map(str.strip, lineage.split(separator))):
        found = prefix.fullmatch(part)
        taxa.append(
            Taxon("", part, part) if found is None else Taxon(rank_of_prefix(found[1]), found[2].strip(), part)
        )
    return taxa


def rank_of_prefix(prefix: str) -> str:
    """Return the rank of a prefix.

    >>> rank_of_prefix("g"), rank_of_prefix("D_5"), rank_of_prefix("zz")
    ('genus', 'genus', 'zz')
    """
    prefix = prefix.strip()
    return _RANK_OF_NUMBER.get(prefix) or RANK_OF_PREFIX.get(prefix.lower(), prefix)


@lru_cache(_REMEMBERED)
def rank_letter(rank: str) -> str:
    """Return the letter of a rank; '' if it is none of the usual ranks.

    >>> rank_letter("Genus"), rank_letter("superkingdom"), rank_letter("k"), rank_letter("clade")
    ('g', 'd', 'd', '')
    """
    return _LETTER_OF_RANK.get(rank.strip().casefold(), "")


@lru_cache(_REMEMBERED)
def split_prefix(text: str) -> tuple[str, str]:
    """Split a name with a prefix into the letter of its rank ('' if there is none) and the bare name.

    >>> split_prefix("g__Bacillus"), split_prefix("k:Fungi"), split_prefix("D_5__Bacillus"), split_prefix("x__y")
    (('g', 'Bacillus'), ('d', 'Fungi'), ('g', 'Bacillus'), ('', 'x__y'))
    """
    found = _ANY_PREFIX.match(text)
    if found is None:
        return "", text
    return rank_letter(rank_of_prefix(found[1] or found[2])), text[found.end() :]


def is_unassigned(lineage: str) -> bool:
    """Return whether a lineage is blank or a classifier's word for "none"."""
    return lineage.strip().lower() in _UNASSIGNED


class SpeciesnetLabel(NamedTuple):
    """A label of SpeciesNet."""

    uuid: str
    taxa: list[Taxon]
    """Its taxa, without missing ranks; a species is named by genus and epithet."""
    common_name: str

    @property
    def is_nothing(self) -> bool:
        """Whether the classifier gave no result."""
        return self.common_name == NO_RESULT

    @property
    def is_any_animal(self) -> bool:
        """Whether it means any animal."""
        return not self.taxa and self.common_name == ANIMAL

    @property
    def is_human(self) -> bool:
        """Whether it means people, who are not among the animals."""
        return bool(self.taxa) and self.taxa[-1].name == HOMO_SAPIENS


SPECIESNET_RANKS = LINNAEAN_RANKS[2:]
SPECIESNET_SHAPE = "A label reads uuid;class;order;family;genus;species;common name."


def speciesnet_label(text: str) -> SpeciesnetLabel | None:
    """Parse a label `uuid;class;order;family;genus;species;common name`; None if a text is not one.

    >>> speciesnet_label("1f;mammalia;carnivora;felidae;puma;concolor;puma").taxa[-1]
    Taxon(rank='species', name='puma concolor', written='concolor')
    """
    uuid, *cells = (cell.strip() for cell in text.split(";"))
    if len(cells) != len(SPECIESNET_RANKS) + 1:
        return None
    taxa = [Taxon(rank, cell, cell) for rank, cell in zip(SPECIESNET_RANKS, cells, strict=False) if cell]
    if taxa and taxa[-1].rank == "species":
        taxa[-1] = taxa[-1]._replace(name=f"{cells[-3]} {cells[-2]}".strip())
    return SpeciesnetLabel(uuid, taxa, cells[-1])


def looks_like_speciesnet(text: str) -> bool:
    """Return whether a line begins like a label of SpeciesNet."""
    return _SPECIESNET.match(text) is not None
