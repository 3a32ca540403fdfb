"""Languages: how often the detector is right on documentation of Debian, in English and translated, and what it costs.

The packages are downloaded with `apt-get` and unpacked into a scratch folder (300 MB); their HTML is read as a crawl
reads it (`--summary fast`). The truth is the folder of a page. A page counts as translated where it has 50 letters or
more, shares hardly a line with its English sibling or, if the language has a script of its own, is mostly in that:
translations are seldom complete. `undeclared` asks about the text alone, `declared` with the language of <html lang>.
`--every N` takes each Nth page only. `--scratch FOLDER` keeps what was unpacked there for the next run.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
import unicodedata
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from gcs.core.page.language import detect
from gcs.ports.summarise import DEFAULT, Source
from gcs.ports.summarise.html import summarise_html

#: all of these packages is English, or nearly all
ENGLISH = (
    *("git-doc", "exim4-doc-html", "sqlite3-doc", "postgresql-doc-15", "python3.11-doc", "libcairo2-doc"),
    *("libglib2.0-doc", "libgtk-3-doc", "qtbase5-doc-html", "libcommons-lang3-java-doc", "libboost1.81-doc"),
)
#: packages with a folder for each language
MANY = {
    "apache2-doc": "usr/share/doc/apache2-doc/manual",
    "debian-handbook": "usr/share/doc/debian-handbook/html",
    "installation-guide-amd64": "usr/share/doc/installation-guide-amd64",
}
#: one package for each language, beside its English one
HELP = tuple(f"libreoffice-help-{each}" for each in ("en-us", "cs", "de", "fr", "it", "ja", "pl", "ru", "sv", "tr"))
#: names in Unicode of the letters of a script
SCRIPTS = {
    "ja": "CJK|HIRAGANA|KATAKANA",
    "zh": "CJK",
    "ko": "HANGUL",
    "ru": "CYRILLIC",
    "uk": "CYRILLIC",
    "el": "GREEK",
    "ar": "ARABIC",
    "fa": "ARABIC",
}
#: written alike: counted as one
SAME = {"nb": "no", "nn": "no"}
_DECLARED = re.compile(rb"""<html[^>]*?\slang=["']?([A-Za-z]{2,3})""", re.I)


class Page(NamedTuple):
    """A file, and the truth about it."""

    package: str
    language: str
    path: Path
    english: Path | None


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--scratch", type=Path)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="gcs-bench-languages-") as scratch:
        result = judged(sorted(pages(asked.scratch or Path(scratch)), key=str)[:: asked.every])
    if asked.json:
        print(json.dumps(result))
        return
    print(f"{result['us_a_page']:.0f} µs a page")
    for row in result["rows"]:
        print("{set:36s} {pages:6d}  ".format(**row), end="")
        print(
            "".join(
                f"{how}: right {row[how][0]:.2%} silent {row[how][1]:.2%} wrong {row[how][2]:.2%}   " for how in HOW
            )
        )


# -- pages


def pages(scratch: Path) -> Iterator[Page]:
    for package in ENGLISH:
        yield from (Page(package, "en", path, None) for path in html_in(unpacked(package, scratch)))
    for package, folder in MANY.items():
        yield from by_folder(package, unpacked(package, scratch) / folder)
    helps = [unpacked(package, scratch) / "usr/share/libreoffice/help" for package in HELP]
    english = helps[0] / "en-US"
    for above in helps[1:]:
        yield from by_folder("libreoffice-help", above, english)


def by_folder(package: str, above: Path, english: Path | None = None) -> Iterator[Page]:
    """The pages of all folders that are named by a language."""
    english = english or next(above / name for name in ("en", "en-US") if (above / name).is_dir())
    for folder in sorted(filter(Path.is_dir, above.iterdir())):
        language = re.split("[-_]", folder.name)[0]
        if not re.fullmatch("[a-z]{2,3}", language):
            continue
        for path in html_in(folder):
            sibling = english / path.relative_to(folder)
            tagged = sibling.with_name(sibling.name.replace(f".{folder.name.replace('_', '-')}.", ".en."))
            found = next((each for each in (sibling, tagged) if each.is_file()), None)
            yield Page(package, language, path, None if language == "en" else found)


def unpacked(package: str, scratch: Path) -> Path:
    """The folder that holds the HTML of the package."""
    folder = scratch / package
    if folder.exists():
        return folder
    print(f"{package}…", file=sys.stderr, flush=True)
    downloaded = subprocess.run(["apt-get", "-q", "download", package], cwd=scratch, capture_output=True, text=True)
    archive = next(scratch.glob(f"{package}_*.deb"), None)
    if downloaded.returncode or archive is None:
        sys.exit(f"apt-get cannot download {package}: {downloaded.stderr.strip()[-300:]}")
    folder.mkdir()
    with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", archive], stdout=subprocess.PIPE) as tar:
        subprocess.run(
            ["tar", "-x", "-C", folder, "--wildcards", "*.htm*"], stdin=tar.stdout, stderr=subprocess.DEVNULL
        )
    archive.unlink()
    return folder


def html_in(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*.htm*") if path.is_file() and not path.is_symlink()]


# -- judgement

HOW = ("undeclared", "declared")


def judged(asked: list[Page]) -> dict:
    counts: dict[str, dict[str, Counter[str]]] = {}
    texts: list[str] = []
    for page in asked:
        content = page.path.read_bytes()
        text = text_of(content)
        if page.language != "en" and not is_translated(text, page):
            continue
        texts.append(text)
        declared = _DECLARED.search(content)
        said = declared[1].decode().lower() if declared else ""
        sets = [f"English, {page.package}", "English, all"]
        if page.language != "en":
            sets = [f"translated, {page.language}", "translated, all"]
        for how in HOW:
            found = detect(text, said if how == "declared" else "")
            verdict = "silent" if not found else "right" if same(found, page.language) else "wrong"
            for name in sets:
                counts.setdefault(name, {how: Counter() for how in HOW})[how][verdict] += 1
    start = time.process_time()
    for text in texts:
        detect(text)
    rows = []
    for name, by_how in sorted(counts.items()):
        total = by_how["declared"].total()
        shares = {how: [by_how[how][each] / total for each in ("right", "silent", "wrong")] for how in HOW}
        rows.append({"set": name, "pages": total, **shares})
    return {"us_a_page": (time.process_time() - start) / len(texts) * 1e6, "rows": rows}


def text_of(content: bytes) -> str:
    return summarise_html(Source(content, "text/html", "http://docs.test/", "fast", DEFAULT)).text


def is_translated(text: str, page: Page) -> bool:
    letters = [character for character in text if character.isalpha()]
    if len(letters) < 50 or page.english is None:
        return False
    if script := SCRIPTS.get(page.language):
        own = sum(bool(re.match(script, unicodedata.name(character, ""))) for character in letters)
        return own > 0.5 * len(letters)
    mine, english = lines(text), lines(text_of(page.english.read_bytes()))
    return sum(map(len, mine & english)) < 0.1 * sum(map(len, mine))


def lines(text: str) -> set[str]:
    return {" ".join(line.split()) for line in re.split(r"\n|(?<=\.) ", text) if len(line.strip()) > 20}


def same(found: str, language: str) -> bool:
    return SAME.get(found, found) == SAME.get(language, language)


if __name__ == "__main__":
    main()
