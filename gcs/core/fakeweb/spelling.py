"""How an href writes its target: thirteen spellings of one URL.

Invariant: WHATWG resolution of `spell(target, base, s)` against `base`, its percent-escapes put in upper
case and its fragment cut, is `target`, for every spelling s. The result is a URL reference, not yet HTML:
`html` escapes it (ENTITIES and RAW_AMPERSAND differ only there).
"""

from urllib.parse import unquote

from gcs.core.fakeweb.plan import Spelling


def spell(target: str, base: str, spelling: Spelling) -> str:
    """The reference to a canonical URL from a page with that base, both absolute."""
    if not target.startswith("http://"):
        return target
    slash = target.index("/", 7)
    origin, path = target[:slash], target[slash:]
    is_here = base.startswith(origin) and base[slash : slash + 1] == "/"
    if spelling is Spelling.ROOT:
        return path if is_here else target
    if spelling is Spelling.SCHEME:
        return target[5:]
    if spelling is Spelling.SHOUTED:
        return "HTTP" + target[4:]
    if spelling is Spelling.FRAGMENT:
        return target + "#part-2"
    if spelling is Spelling.ABSOLUTE or not is_here:
        return target
    if spelling is Spelling.RELATIVE:
        return _relative(path, base[slash:])
    if spelling is Spelling.DOTS:
        return "/./no/such/../.." + path
    if spelling is Spelling.ESCAPES:
        return _lower_escapes(path)
    if spelling is Spelling.LETTERS:
        return unquote(path) if "%" in path else path
    if spelling is Spelling.PADDED:
        return f"  /\n{path[1:]}\t"
    if spelling is Spelling.BACKSLASH:
        before, mark, query = path.partition("?")
        return before.replace("/", "\\") + mark + query
    return path


def _relative(path: str, base: str) -> str:
    """The shortest way from one path to another on the same host."""
    here = base.partition("?")[0].split("/")[:-1]
    bare, mark, query = path.partition("?")
    *there, name = bare.split("/")
    shared = 0
    while shared < min(len(here), len(there)) and here[shared] == there[shared]:
        shared += 1
    steps = [".."] * (len(here) - shared) + there[shared:]
    way = "/".join([*steps, name])
    # "" would be the page itself, query included; "?x" would keep the name of the base
    if not steps and not name:
        way = "./"
    return way + mark + query


def _lower_escapes(path: str) -> str:
    head, *rest = path.split("%")
    return head + "".join("%" + part[:2].lower() + part[2:] for part in rest)
