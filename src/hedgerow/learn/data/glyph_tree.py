"""A tree of characters, built from their Unicode names and categories.

Letters are placed under their script, case, base letter and first mark; numbers, punctuation and symbols under a
kind, a form and a stem. Leaves have their Unicode name, and the character itself as title.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from typing import TYPE_CHECKING

from hedgerow.tree import Hierarchy

if TYPE_CHECKING:
    from collections.abc import Iterable

ROOT = "Character"
_SCRIPT = re.compile(r"\b(LATIN|GREEK|CYRILLIC|ARMENIAN|GEORGIAN)\b ?")
_CASE = {"Lu": "uppercase", "Lt": "uppercase", "Ll": "lowercase", "Lm": "modifier", "Lo": "other"}
# Words that say how a letter is drawn or used, not which letter it is.
_MANNER = re.compile(
    r"\b(?:LETTER|LIGATURE|DIGRAPH|SYMBOL|SIGN|SMALL|CAPITAL|MODIFIER|SUBSCRIPT|SUPERSCRIPT|TURNED|REVERSED|INVERTED|"
    r"OPEN|CLOSED|SIDEWAYS|DOTLESS|DOTTED|BARRED|SCRIPT|LONG|SHARP|HALF|TOP|BOTTOM|LOW|RAISED|SQUAT|STRETCHED|"
    r"TAILLESS|LUNATE|AFRICAN|ARCHAIC|FINAL|LEFT|RIGHT|DOUBLE|BAR|LOOP|SHORT|BASHKIR|ABKHASIAN|LITTLE)\b ?"
)
_DIRECTIONS = (
    "LEFT RIGHT|UP DOWN|NORTH WEST|NORTH EAST|SOUTH WEST|SOUTH EAST|LEFTWARDS|RIGHTWARDS|UPWARDS|DOWNWARDS|"
    "ANTICLOCKWISE|CLOCKWISE"
)
# (Category and name, group, kind): the first match decides. What its parentheses captured is the form.
_RULES = [
    (re.compile(pattern), group, kind)
    for pattern, group, kind in (
        (r"N. (DIGIT|SUPERSCRIPT|SUBSCRIPT)", "Number", "Integer"),
        (r"N. .*?(HALF|THIRD|QUARTER|FIFTH|SIXTH|EIGHTH|$)", "Number", "Fraction"),
        (r"P. .*(ANGLE QUOTATION|DOUBLE .*QUOTATION|QUOTATION|PRIME|APOSTROPHE)", "Punctuation", "Quote"),
        (r"P[se] .*(PARENTHESIS|SQUARE|CURLY|HALF|LEFT|RIGHT)", "Punctuation", "Bracket"),
        (r"P. .*(DASH|HYPHEN|LINE|BAR)\b", "Punctuation", "Stroke"),
        (r"P. .*(EXCLAMATION|QUESTION|INTERROBANG)", "Punctuation", "Query"),
        (r"P. .*\b(STOP|COMMA|SEMICOLON|COLON|DOT|BULLET|ELLIPSIS)\b", "Punctuation", "Point"),
        (r"P. .*?(PER|DAGGER|PILCROW|SOLIDUS|ARMENIAN|GREEK|SIGN|$)", "Punctuation", "Mark"),
        (r"Sc .*?(?:SYMBOL )?([A-Z]+)(?: SIGN)?$", "Symbol", "Currency"),
        (r"Sk (?:GREEK (PSILI|DASIA|DIALYTIKA)|.*?(DOTTED LEFT-STEM|LEFT-STEM|DOTTED|TONE)|(GREEK))?",
         "Symbol", "Accent"),
        (rf"S. (?:LONG |THREE )?({_DIRECTIONS}|RIGHT)\b.* (?:ARROWS?|HARPOON)\b", "Symbol", "Arrow"),
        (r"S. BOX DRAWINGS", "Symbol", "Box drawing"),
        (r"S. (?:(LOWER|UPPER|LEFT|RIGHT|FULL) .*BLOCK|.*(QUADRANT|SHADE)(?! C| B|$))", "Symbol", "Block"),
        (r"S. .*\b(SHADE)$", "Symbol", "Block"),
        (r"S. .*\b(SUIT|NOTE|MUSIC|FACE|SUN)S?\b", "Symbol", "Pictogram"),
        (r"S. (?:FEMALE|MALE|MERCURY|EARTH|JUPITER|SATURN|URANUS|NEPTUNE|PLUTO)\b", "Symbol", "Planet"),
        (r"Sm .*(PARENTHESIS|(?:SQUARE|CURLY) BRACKET|INTEGRAL|CIRCLED|SQUARED|TACK)", "Symbol", "Mathematics"),
        (r"Sm .*(SQUARE) (?:IMAGE|ORIGINAL|CAP|CUP|ROOT)", "Symbol", "Mathematics"),
        (r"S. .*?\b(SQUARE|TRIANGLE|CIRCLE|DIAMOND|RECTANGLE|PARALLELOGRAM|POINTER|LOZENGE|ARC)\b(?! OP)",
         "Symbol", "Shape"),
        (r"Sm (SUPERSCRIPT|SUBSCRIPT)", "Symbol", "Mathematics"),
        (r"Sm .*(SUBSET|SUPERSET|MULTISET|EQUAL|MEMBER|ELEMENT|EXIST|LOGICAL)", "Symbol", "Mathematics"),
        (r"Sm .*?(TILDE|ROOT|N-ARY|ANGLE|PLUS|MINUS|OPERATOR|$)", "Symbol", "Mathematics"),
        (r"S. .*?(NOT SIGN|SIGN|BOX|BULLET|$)", "Symbol", "Other"),
    )
]  # fmt: skip
_ARMS = {"UP": "U", "DOWN": "D", "LEFT": "L", "RIGHT": "R", "VERTICAL": "UD", "HORIZONTAL": "LR"}
_BOXES = {1: "end", 2: "corner", 3: "tee", 4: "cross"}


def character_tree(characters: Iterable[str]) -> Hierarchy:
    """Build the tree whose leaves are the given characters, in the order of their code points.

    >>> print(character_tree("AÁÂẤ1½").pretty(max_depth=6))
    Character  (6 leaves)
    ├── Number  (2 leaves)
    │   ├── Integer  (1 leaf)
    │   │   └── Integer digit  (1 leaf)
    │   │       └── DIGIT ONE (1)
    │   └── Fraction  (1 leaf)
    │       └── Fraction half  (1 leaf)
    │           └── VULGAR FRACTION ONE HALF (½)
    └── Letter  (4 leaves)
        └── Latin  (4 leaves)
            └── Latin uppercase  (4 leaves)
                └── Latin uppercase A  (4 leaves)
                    ├── LATIN CAPITAL LETTER A (A)
                    ├── LATIN CAPITAL LETTER A WITH ACUTE (Á)
                    └── Latin uppercase A with circumflex  (2 leaves)
                        ├── LATIN CAPITAL LETTER A WITH CIRCUMFLEX (Â)
                        └── LATIN CAPITAL LETTER A WITH CIRCUMFLEX AND ACUTE (Ấ)
    """
    listed = sorted(set(characters))
    lineages = {character: _lineage(character) for character in listed}
    sharing = Counter(lineage[-1] for lineage in lineages.values())
    names, parent, titles = [ROOT], [-1], [""]
    index = {ROOT: 0}
    for character, (*above, last) in lineages.items():
        node = 0
        # The finest group gets a node only if it has more than one member.
        path = [*above, last] if sharing[last] > 1 else above
        for name in [*dict.fromkeys(path), unicodedata.name(character)]:
            if name not in index:
                index[name] = len(names)
                names.append(name)
                parent.append(node)
                titles.append("")
            node = index[name]
        titles[node] = character
    return Hierarchy.from_parents(names, parent, title=titles)


def _lineage(character: str) -> list[str]:
    """Return the groups of a character, coarsest first."""
    described = f"{unicodedata.category(character)} {unicodedata.name(character)}"
    if described[0] == "L":
        return _letter_lineage(character)
    for pattern, group, kind in _RULES:
        match = pattern.match(described)
        if match is not None:
            caught = next(filter(None, match.groups()), "other")
            form = _box_form(described) if kind == "Box drawing" else [caught.lower(), _stem(described)]
            return _joined(group, kind, *form)
    return _joined("Symbol", "Other", "other")


def _letter_lineage(character: str) -> list[str]:
    name = unicodedata.name(character)
    if _SCRIPT.search(name) is None:
        # Some signs, such as the ohm sign, are letters of a script under another name.
        name = unicodedata.name(unicodedata.normalize("NFKC", character)[0])
    found = _SCRIPT.search(name)
    script = found[1].capitalize() if found else "Common"
    letter, _, marks = _SCRIPT.sub("", name).partition(" WITH ")
    base = _MANNER.sub("", letter).strip() or letter
    case = "small capital" if "SMALL CAPITAL" in letter else _CASE[unicodedata.category(character)]
    first_mark = marks.removesuffix(" SYMBOL").split(" AND ")[0].lower()
    return _joined("Letter", script, case, base, f"with {first_mark}" if marks else "plain")


def _box_form(described: str) -> list[str]:
    if "DIAGONAL" in described:
        return ["diagonal"]
    words = set(described.split())
    arms = "".join(sorted(set("".join(_ARMS[word] for word in words & _ARMS.keys()))))
    form = "line" if arms in ("DU", "LR") else _BOXES[len(arms)]
    return [form, arms]


def _stem(described: str) -> str:
    return re.split(r" (?:WITH|FROM|TO|OVER|ON|OF|CONTAINING|AND|OR|UPPER|LOWER|EXTENSION) ?", described[3:])[
        0
    ].lower()


def _joined(group: str, *parts: str) -> list[str]:
    """Name each group by the whole path that leads to it, so that names are distinct."""
    return [group, *(" ".join(parts[: i + 1]) for i in range(len(parts)))]
