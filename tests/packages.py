"""Zip packages with a part of another's making, for tests of documents that are zip files."""

import io
import zipfile

from gcs.ports.reader import Summarisers


def repacked(package: bytes, parts: dict[str, bytes]) -> bytes:
    """The same package with other and more parts."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(package)) as old, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
        for info in old.infolist():
            new.writestr(info, parts.get(info.filename, old.read(info)))
        for name in sorted(parts.keys() - old.namelist()):
            new.writestr(name, parts[name])
    return out.getvalue()


def xml_bomb(inner: str) -> bytes:
    """An element in a document whose entity z stands for ten million letters."""
    entities = "".join(f"<!ENTITY {name} '{f'&{before};' * 10}'>" for before, name in zip("abcdef", "bcdefz"))
    return f"<?xml version='1.0'?><!DOCTYPE x [<!ENTITY a 'aaaaaaaaaa'>{entities}]>{inner}".encode()


def bears_damage(package: bytes, content_type: str) -> None:
    """A document that is cut or changed anywhere raises nothing."""
    read = Summarisers().read
    from gcs.ports.summarise import DEFAULT, Source

    for at in range(0, len(package), max(1, len(package) // 40)):
        for damaged in (package[:at], package[:at] + b"\xff\x00" + package[at + 2 :]):
            read(Source(damaged, content_type, "http://x/", "fast", DEFAULT))
