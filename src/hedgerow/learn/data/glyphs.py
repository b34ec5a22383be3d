"""Glyphs: the built-in data set, about 2,300 characters in twelve typefaces, three of which are for testing.

The typefaces come with Matplotlib. Each image is slightly rotated, scaled and shifted. All images are kept in the
user's cache folder.
"""

from __future__ import annotations

import os
import re
import sys
import unicodedata
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec
import numpy as np

from hedgerow.errors import FileError, ParameterError
from hedgerow.files import Document
from hedgerow.learn.data.splits import DataSplits, LabelledInputs, Split
from hedgerow.tree import Hierarchy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray
    from PIL import Image, ImageFont

    Progress = Callable[[int, int], None]

FACES = tuple(
    f"DejaVu{family}{style}"
    for family, styles in (
        ("Sans", ("", "-Bold", "-Oblique", "-BoldOblique")),
        ("SansMono", ("", "-Bold", "-Oblique", "-BoldOblique")),
        ("Serif", ("", "-Bold", "-Italic", "-BoldItalic")),
    )
    for style in styles
)
"""The twelve faces, by file name."""

_OVERSAMPLING = 2  # glyphs are drawn and moved at this multiple of the size, then averaged
_EM = 0.68  # font size, as a fraction of the image's side
_BASELINE = 0.70  # position of the baseline from the top, as a fraction of the image's side
_INK = 0.90  # largest extent of a glyph, as a fraction of the image's side
_TURN, _SCALE, _SHEAR, _SHIFT = 0.14, 0.10, 0.12, 0.05  # largest changes: radians, two factors, part of the side
TEST_FACES = ("DejaVuSans-Bold", "DejaVuSansMono-Oblique", "DejaVuSerif")
"""One per family, each in another style."""
VAL_FACES = ("DejaVuSerif-BoldItalic",)
"""Unseen in training, like the test faces, so that what is tuned on it applies to them."""

# Basic Latin to Latin Extended-A, Greek and Cyrillic, arrows: first code point, and one past the last.
_QUICK = ((0x21, 0x180), (0x370, 0x460), (0x2190, 0x2200))
_VERSION = 1  # of the drawing; cache files of other versions are not read


class _Drawn(msgspec.Struct, forbid_unknown_fields=True):
    """What a cache file says besides its images."""

    characters: str


_CACHE = Document("hedgerow glyphs", 1, _Drawn, "drawn glyphs", "Delete it: they are then drawn again.")


def load_glyphs(
    *,
    size: Literal["full", "quick"] = "full",
    draws: int = 2,
    pixels: int = 28,
    seed: int = 0,
    progress: Progress | None = None,
) -> DataSplits:
    """Draw the glyphs, or read them from the cache (see `cache_folder`).

    Leaves are characters with their Unicode names; the tree is that of `character_tree`. Training
    uses eight typefaces, validation a ninth, and the test three more, one of each family.

    Parameters
    ----------
    size
        "full": every character that all twelve faces contain; "quick": about 630 of them (Latin, Greek and
        Cyrillic letters, digits, punctuation, arrows).
    draws
        Images per character and face.
    pixels
        Height and width of an image.
    seed
        Seed of the small random rotations, scales, shears and shifts.
    progress
        Called with the number of faces drawn and their total; not called if they are cached.
    """
    if size not in ("full", "quick"):
        raise ParameterError(f"size={size!r}: the size of glyphs must be 'full' or 'quick'.")
    for what, value, least in (("draws", draws, 1), ("pixels", pixels, 8), ("seed", seed, 0)):
        if value < least:
            raise ParameterError(f"{what}={value}: for glyphs it must be at least {least}.")

    path = cache_folder() / f"glyphs-{size}-{draws}x{pixels}-seed{seed}-{_versions()}.npz"
    try:
        with _CACHE.reading_archive(path) as (about, arrays):
            characters = list(about.characters)
            images = arrays.take("images", np.uint8, len(FACES), len(characters), draws, pixels, pixels)
    except (OSError, FileError):  # it is absent or damaged
        characters = _chosen(size)
        images = draw(characters, draws, pixels, seed, progress)
        with suppress(OSError, FileError):  # where it cannot be written, glyphs are drawn each time
            path.parent.mkdir(parents=True, exist_ok=True)
            _CACHE.write_archive(path, _Drawn("".join(characters)), {"images": images}, compressed=False)
    hierarchy = character_tree(characters)
    train = tuple(face for face in FACES if face not in (*TEST_FACES, *VAL_FACES))
    parts: dict[Split, tuple[str, ...]] = {"train": train, "val": VAL_FACES, "test": TEST_FACES}
    splits = {split: _examples(hierarchy, characters, images, faces) for split, faces in parts.items()}
    return DataSplits("glyphs" if size == "full" else f"glyphs-{size}", hierarchy, **splits)


def _chosen(size: str) -> list[str]:
    characters = common_characters()
    if size == "full":
        return characters
    return [c for c in characters if any(first <= ord(c) < end for first, end in _QUICK)]


def _versions() -> str:
    import matplotlib as mpl
    import PIL

    return f"v{_VERSION}-matplotlib{mpl.__version__}-pillow{PIL.__version__}-unicode{unicodedata.unidata_version}"


def _examples(
    hierarchy: Hierarchy, characters: list[str], images: NDArray[np.uint8], faces: tuple[str, ...]
) -> LabelledInputs:
    chosen = images[[FACES.index(face) for face in faces]]
    nodes = hierarchy.indices([unicodedata.name(character) for character in characters])
    shape = chosen.shape[:3]
    codes = [f"U+{ord(character):04X}" for character in characters]
    ids = [f"{face}/{code}/{k}" for face in faces for code in codes for k in range(shape[2])]
    labels = np.broadcast_to(nodes[None, :, None], shape).ravel()
    return LabelledInputs(chosen.reshape(-1, *chosen.shape[3:]), labels, ids)


# Drawing ------------------------------------------------------------------------------------------------


def common_characters() -> list[str]:
    """Return the letters, numbers, punctuation marks and symbols that all faces contain and that leave ink.

    Combining marks, spaces and control characters are left out.
    """
    from matplotlib.ft2font import FT2Font

    codes = set.intersection(*(set(FT2Font(str(_face_file(face))).get_charmap()) for face in FACES))
    listed = [chr(code) for code in sorted(codes) if unicodedata.category(chr(code))[0] in "LNPS"]
    fonts = [_font(face, 12) for face in FACES]
    return [character for character in listed if all(font.getmask(character).getbbox() for font in fonts)]


def draw(
    characters: Sequence[str], draws: int, pixels: int, seed: int, progress: Progress | None = None
) -> NDArray[np.uint8]:
    """Draw every character in every face.

    Parameters
    ----------
    characters
        The characters to draw.
    draws
        Images per character and face.
    pixels
        Height and width of an image.
    seed
        Seed of the random changes; those of a face do not depend on the other faces.
    progress
        Called with the number of faces drawn and their total.

    Returns
    -------
    uint8 array [faces, characters, draws, pixels, pixels]
        Light on dark.
    """
    images = np.empty((len(FACES), len(characters), draws, pixels, pixels), dtype=np.uint8)
    for i, face in enumerate(FACES):
        rng = np.random.default_rng([seed, i])
        motions = _motions(rng, len(characters) * draws, pixels * _OVERSAMPLING)
        font = _font(face, round(pixels * _EM * _OVERSAMPLING))
        for j, character in enumerate(characters):
            glyph = _glyph(font, character, pixels * _OVERSAMPLING)
            for k in range(draws):
                images[i, j, k] = _moved(glyph, motions[j * draws + k])
        if progress is not None:
            progress(i + 1, len(FACES))
    return images


def _motions(rng: np.random.Generator, count: int, side: int) -> list[tuple[float, ...]]:
    """Choose affine maps from the moved image back to the glyph, about the centre, in Pillow's form."""
    turn = rng.uniform(-_TURN, _TURN, count)
    scale = np.exp(rng.uniform(-_SCALE, _SCALE, (2, count)))
    shear = rng.uniform(-_SHEAR, _SHEAR, count)
    shift = rng.uniform(-_SHIFT, _SHIFT, (2, count)) * side
    cos, sin = np.cos(turn), np.sin(turn)
    a, b = cos / scale[0], (cos * shear - sin) / scale[1]
    d, e = sin / scale[0], (sin * shear + cos) / scale[1]
    centre = side / 2
    c = centre - a * (centre + shift[0]) - b * (centre + shift[1])
    f = centre - d * (centre + shift[0]) - e * (centre + shift[1])
    return [tuple(row) for row in np.stack([a, b, c, d, e, f], axis=1).tolist()]


def _glyph(font: ImageFont.FreeTypeFont, character: str, side: int) -> Image.Image:
    """Draw a character on its baseline, centred; shrink and lift it only as far as needed to fit."""
    from PIL import Image, ImageDraw

    left, top, right, bottom = font.getbbox(character, anchor="ls")
    fit = _INK * side / max(right - left, bottom - top)
    if fit < 1:
        font = font.font_variant(size=int(font.size * fit))
        left, top, right, bottom = font.getbbox(character, anchor="ls")
    margin = (1 - _INK) / 2 * side
    baseline = min(max(_BASELINE * side, margin - top), side - margin - bottom)
    image = Image.new("L", (side, side))
    ImageDraw.Draw(image).text((side / 2 - (left + right) / 2, baseline), character, 255, font, anchor="ls")
    return image


def _moved(glyph: Image.Image, motion: tuple[float, ...]) -> NDArray[np.uint8]:
    from PIL import Image

    moved = glyph.transform(glyph.size, Image.Transform.AFFINE, motion, Image.Resampling.BILINEAR)
    small = moved.reduce(_OVERSAMPLING)
    return np.frombuffer(small.tobytes(), dtype=np.uint8).reshape(small.height, small.width)


def _font(face: str, size: int) -> ImageFont.FreeTypeFont:
    from PIL import ImageFont

    return ImageFont.truetype(str(_face_file(face)), size, layout_engine=ImageFont.Layout.BASIC)


def _face_file(face: str) -> Path:
    import matplotlib as mpl

    return Path(mpl.get_data_path()) / "fonts" / "ttf" / f"{face}.ttf"


# The cache ----------------------------------------------------------------------------------------------


def cache_folder() -> Path:
    """Return the folder for files that can be recreated: $HEDGEROW_CACHE, or the system's cache folder."""
    chosen = os.environ.get("HEDGEROW_CACHE")
    if chosen:
        return Path(chosen)
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        return (Path(local) if local else Path.home() / "AppData" / "Local") / "hedgerow" / "cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "hedgerow"
    chosen = os.environ.get("XDG_CACHE_HOME")
    return (Path(chosen) if chosen else Path.home() / ".cache") / "hedgerow"


# The tree ------------------------------------------------------------------------------------------------
# Letters are placed under their script, case, base letter and first mark; numbers, punctuation and symbols under a
# kind, a form and a stem. Leaves have their Unicode name, and the character itself as title.

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
# (Category and name, group, kind): the first match decides; the captured text is the form.
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
