"""Pages and queries of few words, so that most queries match some pages."""

from hypothesis import strategies as st

from gcs.core.search.searchable import Searchable

WORDS = ["red", "Red", "blue,", "green", "greenish", "été", "ete", "赤い", "a_b", "re-do", "x1"]
texts = st.lists(st.sampled_from(WORDS), max_size=9).map(" ".join)
HOSTS = ["a.example", "b.a.example", "xa.example", "192.0.2.7"]


def page(number: int, title: str = "", text: str = "", **given: object) -> Searchable:
    """A page with the URL of its number."""
    host = str(given.pop("host", "a.example"))
    return Searchable(f"http://{host}/{number}", host, title, text, **given)  # type: ignore[arg-type]


pages = st.lists(
    st.builds(
        dict,
        title=texts,
        text=texts,
        host=st.sampled_from(HOSTS),
        lang=st.sampled_from(["", "en", "de"]),
        kind=st.sampled_from(["html", "pdf"]),
        day=st.sampled_from([0, 20240101, 20240229, 20250630]),
        depth=st.integers(0, 4),
        change=st.sampled_from(["new", "changed", "same"]),
    ),
    max_size=8,
).map(lambda given: [page(number, **each) for number, each in enumerate(given)])

_leaves = st.sampled_from(
    [
        "red", "blue", "greenish", "ete", "été", "赤い", "い", "a_b", "re-do", '"red blue"', '"blue green"', "gre*",
        "re*",
        "title:red", 'title:"red blue"', "title:gre*", "site:a.example", "site:example", "site:192.0.2.7", "lang:en",
        "type:pdf", "date:2024", "date:>=2024-02", "date:..2024-01-31", "depth:<=1", "depth:2..3", "depth:>3",
        "change:new", '"re-do red"', "missing",
    ]
)  # fmt: skip
queries = st.recursive(
    _leaves,
    lambda inner: st.one_of(
        st.lists(inner, min_size=2, max_size=3).map(" ".join),
        st.lists(inner, min_size=2, max_size=3).map(" OR ".join),
        inner.map(lambda each: f"({each})"),
        st.tuples(_leaves, inner).map(lambda pair: f"{pair[0]} -({pair[1]})"),
        st.tuples(_leaves, inner).map(lambda pair: f"{pair[0]} NOT ({pair[1]})"),
    ),
    max_leaves=6,
)
