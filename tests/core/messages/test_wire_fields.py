"""The fields of all that is sent between processes or kept on disk, written down.

A team may run two versions of GCS for a while, and a crawl is resumed by a later version. So the encodings may grow,
and nothing else: see `advice`, which says for each change what is to be done. A table here changes with the struct.
"""

import dataclasses
import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from gcs.core.messages.tuples import TUPLES
from gcs.core.ordering import Ledger
from gcs.core.page.values import COLUMNS, NOT_KEPT, PageRecord
from gcs.core.plan.blueprint import Blueprint
from gcs.core.plan.plan import Bloom, Move, Plan
from gcs.core.report.counters import Counters, PhaseTimes, Traffic
from gcs.core.report.explored import ExploredEvidence
from gcs.core.report.report import Share
from gcs.core.report.workload import TimeSpent
from gcs.core.tree.statistics import SuperpageStatistics

ROOT = Path(__file__).parents[3]

#: type → name, code, version, and the fields in their order; those with a default end in "="
TUPLE_FIELDS = {
    "UrlBlock": ("urls", 1, 1, "epoch links sender= serial= copies="),
    "HandOver": ("handover", 2, 2, "epoch low high last queued= seen= hosts= sender= serial="),
    "UrlTS": (
        "urlts",
        3,
        2,
        "gatherer run number url lease_s epoch= place= means= etag= last_modified= once= payload= rendered=",
    ),
    "SummaryTS": (
        "summaryts",
        4,
        3,
        "gatherer run number url helper status= failure= message= reason= http_version= headers= ip= started_at= "
        "elapsed_s= size_bytes= digest= page= request_head= body= trusted= truncated= rendered=",
    ),
    "HelperBeat": ("helper", 5, 2, "helper place= means= connections= pages= bytes= pages_per_s= since="),
    "Member": (
        "member",
        10,
        1,
        "gatherer run place= epoch= settled_epoch= state= passive= blocks_sent= blocks_received= figures= beat= "
        "server= is_server= work=",
    ),
    "LeaderLease": ("leader", 11, 1, "gatherer term"),
    "PageAllowance": ("allowance", 43, 1, "gatherer session granted= returned="),
    "ProbeList": ("probes", 41, 1, "term origins="),
    "Announcement": ("announce", 12, 1, "round term reason="),
    "StatisticsReply": (
        "statistics",
        13,
        1,
        "gatherer round epoch tree= rates= queued= hot= explored= delay_s= delays=",
    ),
    "SuperstepDone": ("superstep", 42, 1, "gatherer number idle="),
    "PlanPosted": ("plan", 14, 1, "epoch term plan committed="),
    "Control": ("control", 15, 1, "state by= reason= detail="),
    "RebalanceCall": ("rebalance", 16, 1, "by reason="),
    "Seeds": ("seeds", 17, 1, "urls"),
    "RobotsNote": ("robots", 18, 1, "origin status body= fetched_at="),
    "Charter": ("charter", 19, 1, "settings seeds gatherers= session= blueprint= run= begun_at="),
    "Account": ("account", 20, 1, "gatherer share"),
    "Finds": ("finds", 21, 1, "client done links free_at= session= copies= free_in="),
    "ClientPace": ("pace", 22, 1, "client connections word="),
    "BusyNote": ("busy", 23, 2, "host wait_s"),
    "Baton": ("baton", 24, 1, "host holder serial wait_s="),
    "BatonCall": ("call", 25, 1, "host caller"),
    "BatonLease": ("batons", 26, 1, "holder number"),
    "Access": ("access", 30, 1, "id role digest label= created_at= expires_at= place= trusted="),
    "Bulletin": ("bulletin", 31, 1, "gatherer epoch share explored sent= recent= troubles= patches= hosts="),
    "PlanNote": ("plannote", 32, 1, "epoch at reason superpages gatherers moved= moves= lost= committed_at="),
    "CutOff": ("cutoff", 40, 1, "helper reason by at="),
    "Librarian": ("librarian", 50, 1, "librarian"),
    "Question": ("question", 51, 1, "id query most facets="),
    "SearchAnswer": ("answer", 52, 1, "question librarian found="),
}

#: a URL that waits, in its frontier and on its way to another; `worth` must stay the last one (see `with_worth`)
QUEUED_URL = (
    "url parent= depth= priority= tries= hops= etag= last_modified= copy_digest= copy_at_us= visits= changes= misses= "
    "worth="
)

#: other structs whose encoding is an array → their fields in the order of the array
ARRAY_FIELDS = {
    # parts of tuples: their version is that of every tuple that holds them
    "Link": "url weight= depth= parent=",
    "QueuedUrl": QUEUED_URL,
    "HostState": "host next_at= crawl_delay_s= adaptive_s= robots= wait_s=",
    "RecentPage": "url title summary status bytes fetched_at elapsed_s depth outlinks language= helper=",
    "HostFailures": "host failed kind url at",
    "SuperpagePatch": "low seen queued pages points=",
    "MovedRanges": "loser winner ranges places=",
    "Item": "gatherer url base fields",
    "LinkSample": "limit= backlinks= dealt_with=",
    "SlowHost": "host queued delay_s cause= wait_s=",
    "Workload": "known= queued= pages= explored= urls_per_s= pages_per_s= found_per_s= spent= in_flight= latency_s= "
    "slow= slow_hosts= counted= max_pages= max_seconds= seconds_left= holds= lends=",
    # in what a gatherer posts of its superpages (_VERSION of their modules)
    "SuperpageFigures": "seen= queued= pages= bytes=",
    "MeasuredWork": "amount= seconds=",
    "tree._SampleCopy": "capacity rate population items priorities",
    "tree._SketchCopy": "low visits stem settled hot_capacity hot_error hot cool keys prior",
    "tree._TreeCopy": "superpages sketches",
    # the record log (VERSION of the log)
    "PageFacts": "final_url= title= description= language= text= simhash= outlinks= noindex= source= shell= thumbnail= "
    "markdown= text_cut= author= published= modified= site_name= page_type= keywords= anchors= rels= requisites= "
    "dates= stated=",
    "Opened": "version gatherer warc_file warc_end warc_serial",
    "Fetched": "url warc_file warc_offset warc_bytes",
    "Position": "file= records=",
    # the frontier and its notes
    "StoredRobots": "expires_at robots",
    "Trust": "true= false=",
    "SiteTrust": "listed_change= listed_rest= http=",
    "Rule": "allow pattern",
    "robots._Stored": "version agent rules crawl_delay_s sitemaps provisional usage=",
    "LeavingRange": "low high winner at",
    "AwaitedRange": "low high since",
    "hand_over._State": "leaving= awaited= begun= closed=",
    "page_share._State": "session= granted= returned=",
    "recrawl._State": "session= epoch= log= last= last_log=",
    # a seed-server's registry
    "Node": "url domain parent= depth= worth= rank= state= client= copy=",
    "clients._Book": "came= owners= servers=",
    # queues on disk (VERSION of the manifest)
    "Manifest": "name block_keys slots state version=",
    "chunks._Chunk": "size= blocks=",
    "chunks._PagedState": "serial chunks",
    "quickheap._State": "pivots chunks",
    "tournament._State": "node_keys places items front pending nodes=",
}
#: arrays between two processes of one version, which nobody keeps
SHORT_LIVED = {"TextJob", "Extract"}

#: values whose encoding is a map: the names count, their order does not
MAP_FIELDS: dict[type[Any], str] = {
    Plan: "epoch gatherers cuts owners hot_pages= mode= lost= moves= leavers= ground= listed= lists_hosts= session= "
    "static= before=",
    Move: "low high loser winner",
    Bloom: "bits=",
    Blueprint: "model parts cuts owners weights ground= hot_pages= listed= lists_hosts=",
    SuperpageStatistics: "superpages= rates= exchange= links= helped= waiting= access= origins=",
    Share: "id tally known_urls queued unique explored_fraction busy= superpages= epoch= session= work= links= "
    "rebalances=",
    ExploredEvidence: "fetched= known= history= limit= backlinks= dealt_with=",
    Ledger: "issued= spent= idle= sent= received=",
    Counters: "pages= repeated= size_bytes= redirects= revisits= failed= denied_by_robots= retries= links= seconds= "
    "busy_s= cpu_s= answer_s= peak_rss_mb= new= changed= same= gone= failures= helped= traffic= spent= shells= "
    "requisites= requisite_bytes= phases=",
    TimeSpent: "seconds= cpu_s= delays_s= answers_s= idle_s=",
    PhaseTimes: "supersteps= computation_s= communication_s= waiting_s=",
    Traffic: "exchanged_urls= exchanged_bytes= named_bytes= blocks= suppressed_hot= suppressed_c_queue= moved_urls= "
    "moved_bytes= dropped=",
}

#: of the record log and of Parquet
RECORD_COLUMNS = (
    *("url", "final_url", "parent", "depth", "status", "fetched_at", "content_type", "bytes", "digest", "language"),
    *("title", "summary", "text", "outlinks", "gatherer", "helper", "simhash", "etag", "last_modified", "warc_file"),
    *("warc_offset", "warc_bytes", "noindex", "failure", "source", "session", "change", "visits", "changes"),
    *("misses", "held_at_us", "description", "shell", "fields", "thumbnail", "truncated"),
    *("markdown", "text_cut", "author", "published", "modified", "site_name", "page_type"),
    *("keywords", "anchors", "rels"),
    *("usage", "usage_raw"),
    *("requisite", "requisites", "headers", "dates"),
)


def fields_of(kind: type[Any]) -> list[str]:
    """The fields as they are encoded."""
    if issubclass(kind, msgspec.Struct):
        return [field.encode_name + ("" if field.required else "=") for field in msgspec.structs.fields(kind)]
    missing = dataclasses.MISSING
    return [
        field.name + ("" if field.default is missing and field.default_factory is missing else "=")
        for field in dataclasses.fields(kind)
    ]


def array_structs() -> dict[str, type[msgspec.Struct]]:
    """Every struct of the package that is encoded as an array, but for the tuples; private ones as module.name."""
    for path in sorted((ROOT / "gcs").rglob("*.py")):
        if "array_like=True" in path.read_text():
            importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))

    def below(kind: type[msgspec.Struct]) -> Iterator[type[msgspec.Struct]]:
        for each in kind.__subclasses__():
            yield each
            yield from below(each)

    found = {}
    for kind in below(msgspec.Struct):
        name, module = kind.__name__, kind.__module__
        if not module.startswith("gcs.") or not hasattr(sys.modules[module], name):
            continue  # of another package, or made by msgspec.defstruct
        if kind.__struct_config__.array_like and not hasattr(kind, "code"):
            found[f"{module.rpartition('.')[2]}.{name}" if name.startswith("_") else name] = kind
    return found


def advice(was: list[str], now: list[str]) -> str:
    """What to do where the fields of an array have changed; "" where they have not."""
    if now == was:
        return ""
    grown = now[: len(was)] == was
    if grown and all(field.endswith("=") for field in now[len(was) :]):
        return "New fields at the end have defaults, as they must: append them to the table of this test."
    if grown:
        return "New fields at the end need defaults: older encodings are without them."
    if len(now) == len(was) and len(set(was) ^ set(now)) == 2:
        return (
            "If a field was only renamed, rename it in the table of this test. If it means something else now, keep "
            "the old one, append the new one at the end with a default, or raise the version."
        )
    return (
        "Fields are read by their position. Put the old ones back as they were and append new ones at the end with a "
        "default; or raise the version of the encoding, and then change the table of this test."
    )


def test_tuple_table_holds_every_type() -> None:
    assert set(TUPLE_FIELDS) == {kind.__name__ for kind in TUPLES}


@pytest.mark.parametrize("kind", TUPLES, ids=lambda kind: kind.__name__)
def test_tuple_fields_change_only_with_the_version(kind: Any) -> None:
    name, code, version, fields = TUPLE_FIELDS[kind.__name__]
    assert (kind.name, kind.code) == (name, code), "Older gatherers know the tuple by its name and code: keep them."
    if kind.version != version:
        assert kind.version > version, "Versions only grow."
        pytest.fail(f"{kind.__name__} has a new version: write it and the fields into the table of this test.")
    told = advice(fields.split(), fields_of(kind))
    assert not told, f"{kind.__name__}: {told}"


def test_record_columns_keep_their_places() -> None:
    """Records are rows in the log, read by position, and in Parquet, where people know the names."""
    assert COLUMNS[: len(RECORD_COLUMNS)] == RECORD_COLUMNS, "Put the old columns back; append new ones at the end."
    assert COLUMNS == RECORD_COLUMNS, "Append the new columns to the table of this test."
    assert set(COLUMNS) | NOT_KEPT == set(PageRecord.__struct_fields__), "Every field of a record needs a column."
    later = {field.name for field in msgspec.structs.fields(PageRecord) if field.required}
    assert later <= set(COLUMNS[:22]), "New columns need defaults."


def test_array_table_holds_every_struct() -> None:
    found = set(array_structs()) - SHORT_LIVED - {"PageRecord"}  # see RECORD_COLUMNS
    assert not found - set(ARRAY_FIELDS), "New structs that are encoded as arrays: write them into ARRAY_FIELDS."
    assert not set(ARRAY_FIELDS) - found, "Structs that are gone: nothing may read them from disk or wire any more."


@pytest.mark.parametrize("name", ARRAY_FIELDS)
def test_array_fields_keep_their_places(name: str) -> None:
    if (kind := array_structs().get(name)) is not None:
        told = advice(ARRAY_FIELDS[name].split(), fields_of(kind))
        assert not told, f"{name}: {told}"


@pytest.mark.parametrize("kind", MAP_FIELDS, ids=lambda kind: kind.__name__)
def test_map_fields_keep_their_names(kind: type[Any]) -> None:
    was, now = set(MAP_FIELDS[kind].split()), set(fields_of(kind))
    assert not was - now, (
        f"{kind.__name__}: fields are read by their names, and these are gone: {sorted(was - now)}. After a renaming, "
        'keep the old name in the encoding (msgspec.field(name="…")); or raise the version of the encoding.'
    )
    assert all(field.endswith("=") for field in now - was), f"{kind.__name__}: new fields need defaults."
    assert now == was, f"{kind.__name__}: write the new fields into the table of this test: {sorted(now - was)}"


@pytest.mark.parametrize(
    ("now", "told"),
    [
        ("url depth=", ""),
        ("url depth= worth=", "append them to the table"),
        ("url depth= worth", "need defaults"),
        ("url level=", "only renamed"),
        ("url", "by their position"),
        ("depth= url", "by their position"),
        ("url worth= depth=", "by their position"),
    ],
)
def test_advice_tells_a_field_added_at_the_end_from_other_changes(now: str, told: str) -> None:
    said = advice(["url", "depth="], now.split())
    assert told in said
    assert bool(said) == bool(told)
