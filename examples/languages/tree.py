"""The tree of a language identifier's classes: what its codes mean, and where Glottolog puts them."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import hedgerow as hr

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

NO_LANGUAGE = "zxx"
"""The code of ISO 639 for texts that are in no language, such as numbers."""


@dataclass(frozen=True)
class Languoid:
    """A family, a group, a language or a dialect of Glottolog."""

    name: str
    iso: str
    above: tuple[str, ...]
    """The Glottocodes of all that it belongs to, the family first."""


def read_glottolog(newick: str) -> dict[str, Languoid]:
    """Read Glottolog's Newick file, which has a tree on each line, by Glottocode.

    >>> found = read_glottolog("(('B [bbbb1234]':1)'A [aaaa1234][aaa]-l-':1,'C''s [cccc1234]':1)'F [ffff1234]':1;")
    >>> found["bbbb1234"].above, found["aaaa1234"].iso, found["cccc1234"].name
    (('ffff1234', 'aaaa1234'), 'aaa', "C's")
    """
    found: dict[str, Languoid] = {}
    above: list[str] = []
    code = ""
    for sign, text in reversed(
        re.findall(r"([(),;])|'((?:[^']|'')+)'", newick)
    ):  # parents stand behind their children
        if sign == ")":
            above.append(code)
        elif sign == "(":
            above.pop()
        elif text:
            name, code, iso = re.fullmatch(r"(.*?) \[(\w{4}\d{4})\](?:\[(\w{3})\])?(?:-l-)?", text).groups()  # type: ignore[union-attr]
            if code not in found:  # a language without relatives is its own family
                found[code] = Languoid(name.replace("''", "'"), iso or "", tuple(above))
    return found


@dataclass(frozen=True)
class Class:
    """What a code of the model stands for."""

    name: str
    iso: str
    """Its own code of ISO 639-3, which may be that of a macrolanguage."""
    languages: frozenset[str]
    """The languages of ISO 639-3 that it covers."""


def read_codes(codes: Iterable[str], languages: Sequence[Any]) -> dict[str, Class]:
    """Return what codes of ISO 639-1 and 639-3 cover.

    A code may stand for a macrolanguage, such as Arabic, Chinese, Norwegian or Quechua, which ISO 639-3 divides
    into languages. It then covers all of these, except those for which the model has a class of their own: beside
    Norwegian Nynorsk, "Norwegian" means Norwegian Bokmål.
    """
    by_code = {language.part3: language for language in languages}
    by_code |= {language.part1: language for language in languages if language.part1}
    own = {code: by_code[code] for code in codes if code != NO_LANGUAGE}
    taken = {language.part3 for language in own.values()}
    divided: dict[str, set[str]] = {}
    for language in languages:
        if language.macrolanguage and language.part3 not in taken:
            divided.setdefault(language.macrolanguage, set()).add(language.part3)
    found = {}
    for code, language in own.items():
        parts = divided.get(language.part3, {language.part3})
        name = by_code[min(parts)].name if len(parts) == 1 else language.name
        name = re.sub(r" \((?:macrolanguage|[^()]*\d[^()]*)\)$", "", name)  # "Ancient Greek (to 1453)"
        found[code] = Class(name, language.part3, frozenset(parts))
    return found


@dataclass(frozen=True)
class LanguageTree:
    """A tree whose leaves are a model's classes, and whose groups are those of Glottolog that divide them.

    A class of several languages is put into the smallest group that holds all of them. Groups that hold only one
    class, or only one smaller group, are left out: the model cannot tell them from what they hold. Languages that
    Glottolog's tree lacks, such as Esperanto, and "no language" are beside the families.
    """

    hierarchy: hr.Hierarchy
    groups: Mapping[str, str]
    """The name of each group in the tree, by Glottocode."""
    classes: Mapping[str, str]
    """The name of the class that covers a language, by code of ISO 639-3."""
    languoids: Mapping[str, Languoid]
    by_iso: Mapping[str, str]
    """Glottocodes, by code of ISO 639-3."""

    @classmethod
    def build(cls, classes: Mapping[str, Class], languoids: Mapping[str, Languoid]) -> LanguageTree:
        """Place the classes, and keep the groups that divide them."""
        by_iso = {found.iso: code for code, found in languoids.items() if found.iso}
        paths = {code: _groups_of(its, languoids, by_iso) for code, its in classes.items()}
        below: dict[str, set[str]] = {}
        for code, path in paths.items():
            for group, part in pairwise((*path, code)):
                below.setdefault(group, set()).add(part)
        kept = [group for group, parts in below.items() if len(parts) > 1]
        times = Counter([*(its.name for its in classes.values()), *(languoids[group].name for group in kept)])
        groups = {
            group: f"{name} [{group}]" if times[name := languoids[group].name] > 1 else name for group in kept
        }
        top: list[dict[str, Any]] = [{"name": "no language", "rank": "language", "aliases": [NO_LANGUAGE]}]
        children: dict[str, list[dict[str, Any]]] = {}
        for code, its in sorted(classes.items(), key=lambda item: item[1].name):
            siblings = top
            for depth, group in enumerate(group for group in paths[code] if group in groups):
                if group not in children:
                    rank = "branch" if depth else "family"
                    siblings.append(
                        {"name": groups[group], "rank": rank, "children": children.setdefault(group, [])}
                    )
                siblings = children[group]
            aliases = sorted({code, its.iso, *its.languages} - {its.name})
            siblings.append({"name": its.name, "rank": "language", "aliases": aliases})
        names = {iso: its.name for its in classes.values() for iso in (its.iso, *its.languages)}
        hierarchy = hr.Hierarchy.from_json({"name": "any language", "children": top})
        return cls(hierarchy, groups, names, languoids, by_iso)

    def label(self, iso: str) -> str | None:
        """Return the class that covers a language or, if the model has none, the smallest group that holds it.

        That may be the root, "any language". `None` means that Glottolog does not have the code.
        """
        if iso in self.classes:
            return self.classes[iso]
        if iso not in self.by_iso:
            return None
        for code in reversed(self.languoids[self.by_iso[iso]].above):
            if code in self.groups:
                return self.groups[code]
            if (language := self.languoids[code].iso) in self.classes:  # of which this is a dialect
                return self.classes[language]
        return str(self.hierarchy.names[0])


def _groups_of(its: Class, languoids: Mapping[str, Languoid], by_iso: Mapping[str, str]) -> tuple[str, ...]:
    """Return the groups that hold all languages of a class, the family first."""
    known = [by_iso[iso] for iso in sorted(its.languages) if iso in by_iso]
    if not known and its.iso in by_iso:
        known = [by_iso[its.iso]]
    lineages = [(*languoids[code].above, code) for code in known]
    shared = tuple(groups[0] for groups in zip(*lineages, strict=False) if len(set(groups)) == 1)
    return shared[:-1] if shared in lineages else shared  # the language itself is no group
