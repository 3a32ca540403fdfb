"""The HTML of the fake web: a plan and its paragraphs as a page, with thirteen ways to spell an href.

Invariant: the links of the result, read by any correct parser and resolved against the base, are exactly
`plan.links`, in the elements that they name. What must not be taken for a link (comments, scripts,
javascript: and mailto: hrefs) is there too.
"""

from html import escape
from urllib.parse import unquote

from gcs.fakeweb.page_plan import Content, Element, PagePlan, PlannedLink, Spelling

#: for the exhibit in Shift_JIS
JAPANESE = "これは架空のウェブのページです。駅から図書館まで歩いて十分ほどかかります。"
_STYLE = "body{font:16px/1.5 serif;margin:2em auto;max-width:44em}nav a{margin-right:1em}aside{color:#555}"
#: links in the navigation at the top of a page: home and up
_NAVIGATION = 2
_HEAD = {
    Element.CANONICAL: '<link rel="canonical" href="{}">',
    Element.ALTERNATE: '<link rel="alternate" hreflang="fr" href="{}">',
    Element.FEED: '<link rel="alternate" type="application/xml" title="Feed" href="{}">',
    Element.NEXT: '<link rel="next" href="{}">',
    Element.REFRESH: '<meta http-equiv="refresh" content="5; url={}">',
}
_BODY = {
    Element.AREA: '<map name="m"><area shape="rect" coords="0,0,9,9" alt="area" href="{}"></map>',
    Element.IFRAME: '<iframe src="{}" title="frame"></iframe>',
    Element.COMMENT: '<!-- <a href="{}">an old link</a> -->',
    Element.SCRIPT: "<script>document.title += '<a href=\"{}\">x</a>'.length</script>",
}


def spell(target: str, base: str, spelling: Spelling) -> str:
    """An href that means a canonical URL on a page with that base, both absolute."""
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
        head, *rest = path.split("%")
        return head + "".join("%" + part[:2].lower() + part[2:] for part in rest)
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


def render_html(plan: PagePlan, paragraphs: list[str]) -> str:
    """The page as text; the caller encodes it."""
    if plan.content is Content.FRAMESET:
        return _frameset(plan)
    if plan.content is Content.SOUP:
        return _soup(plan, paragraphs)
    base = plan.base or plan.url
    head, anchors, extras = [], [], []
    for link in plan.links:
        if link.element is Element.A:
            anchors.append(_anchor(link, base))
        elif link.element in _HEAD:
            head.append(_HEAD[link.element].format(_href(link, base)))
        else:
            extras.append(_BODY[link.element].format(_href(link, base)))
    if plan.charset_by == "meta":
        head.insert(0, f'<meta charset="{plan.charset}">')
    if plan.base:
        head.append(f'<base href="{plan.base}">')
    directives = [name for name, by in (("noindex", plan.noindex), ("nofollow", plan.nofollow)) if by == "meta"]
    if directives:
        head.append(f'<meta name="robots" content="{", ".join(directives)}">')
    if plan.charset == "shift_jis":
        paragraphs = [JAPANESE] * len(paragraphs)
    listed = anchors[_NAVIGATION:]
    # half of the links stand in the running text, as most links of articles do
    inline = min(len(listed) // 2, len(paragraphs))
    text = [f"<p>{p} {a}</p>" for p, a in zip(paragraphs, listed[:inline])]
    text += [f"<p>{p}</p>" for p in paragraphs[inline:]]
    items = "".join([f"<li>{a}</li>\n" for a in listed[inline:]])
    title = escape(plan.title)
    return (
        f'<!DOCTYPE html>\n<html lang="{"fr" if plan.french else "en"}">\n<head>\n{"".join(head)}'
        f'<title>{title}</title>\n<meta name="description" content="{title}: {escape(paragraphs[0][:100])}">\n'
        f"<style>{_STYLE}</style>\n</head>\n"
        f'<body>\n<header><nav>{" ".join(anchors[:_NAVIGATION])} <a href="javascript:void(0)">Menu</a></nav></header>\n'
        f"<main><article>\n<h1>{title}</h1>\n" + "\n".join(text) + "\n"
        f"</article></main>\n<aside><h2>See also</h2>\n<ul>\n{items}</ul>{''.join(extras)}</aside>\n"
        '<footer><p>A fake page. <a href="mailto:nobody@example.org">Write to us</a></p></footer>\n</body>\n</html>\n'
    )


def _anchor(link: PlannedLink, base: str) -> str:
    name = link.target.rpartition("/")[2].partition(".")[0].replace("-", " ").partition("?")[0] or "home"
    if link.nofollow:
        return f'<a rel="noopener nofollow" href="{_href(link, base)}">{name}</a>'
    return f'<a href="{_href(link, base)}">{name}</a>'


def _href(link: PlannedLink, base: str) -> str:
    """The reference as it stands between double quotes."""
    href = spell(link.target, base, link.spelling)
    if link.spelling is Spelling.ENTITIES:
        return href.replace("&", "&amp;").replace("/", "&#47;", 1).replace("/", "&#x2F;", 1)
    if "&" in href and link.spelling is not Spelling.RAW_AMPERSAND:
        return href.replace("&", "&amp;")
    return href


def _frameset(plan: PagePlan) -> str:
    frames = "".join(f'<frame src="{_href(link, plan.url)}">' for link in plan.links if link.element is Element.FRAME)
    rest = " ".join(_anchor(link, plan.url) for link in plan.links if link.element is not Element.FRAME)
    return (
        f"<html><head><title>{escape(plan.title)}</title></head>\n<frameset cols='50%,50%'>{frames}"
        f"<noframes><body><p>{rest}</p></body></noframes></frameset></html>\n"
    )


def _soup(plan: PagePlan, paragraphs: list[str]) -> str:
    """Unclosed, unquoted, crossed and shouted tags, a stray end tag, attributes twice."""
    links = "\n".join(
        f"<LI><b><A class=x HREF='{_href(link, plan.url)}' href=/not/this >{n}<i></b> & more < less"
        for n, link in enumerate(plan.links)
    )
    return f"<title>{escape(plan.title)}</TITLE><p>{'<p>'.join(paragraphs)}</div></p><UL>{links}</ul></body>"
