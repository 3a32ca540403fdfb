"""Views: from a snapshot of the board to the values of the API. Pure; any tuple may be missing on the board."""

from collections import defaultdict

import msgspec
from msgspec.structs import asdict

from gcs.core.messages.tuples import Control, CrawlState, Member, MemberState
from gcs.core.plan.plan import Plan
from gcs.core.report import report as reports
from gcs.core.report.counters import Counters
from gcs.core.report.estimate import AWAY, estimate
from gcs.core.report.report import Report, Share, decoded, with_outlook
from gcs.core.report.roster import natural, rows, workloads
from gcs.core.report.series import SeriesCounts, SeriesPoint
from gcs.core.report.treemap import Point, points_of
from gcs.roles.station.view import schemas
from gcs.roles.station.view.board_snapshot import BoardSnapshot

#: figures of the heartbeats that a point of the history adds up
SUMMED = ("pages", "queued", "known", "in_flight")
#: pages and hosts that are shown
MOST_PAGES, MOST_HOSTS = 30, 50


def status(board: BoardSnapshot, plan: Plan | None, report: Report, now: SeriesPoint) -> schemas.Status:
    return schemas.Status(
        crawl=board.crawl,
        state=report.state,
        at=board.at,
        leader=board.leader.gatherer if board.leader else "",
        epoch=board.plan.epoch if board.plan else 0,
        superpages=len(plan.cuts) if plan else 0,
        committed=bool(board.plan and board.plan.committed),
        hot_pages=len(plan.hot_pages) if plan else 0,
        mode=str(plan.mode) if plan else "",
        seeds=len(board.charter.seeds) if board.charter else 0,
        outlook=report.outlook,
        now=now,
        team=[
            *rows(board.at_work, board.leader, dict(board.waiting)),
            *rows(_gone_members(board, report.session), None, {}),
        ],
        helpers=[schemas.HelperStatus(**asdict(beat)) for beat in sorted(board.helpers, key=lambda beat: beat.helper)],
        report=report,
    )


def state_of(control: Control | None, anybody: bool) -> str:
    """The state of the crawl in one word, as the page shows it."""
    if control is None:
        return "waiting"
    if control.state is CrawlState.DONE:
        return "done"
    if control.state is CrawlState.STOPPING:
        return "stopping" if anybody else "stopped"
    return str(control.state) if anybody else "waiting"


def report(board: BoardSnapshot, is_away: bool = False) -> Report:
    """The report as it would be now, with the gatherers that have left or died.

    `is_away`: the whiteboard does not answer, so the board is old. The estimate is that of the heartbeats, which are
    newer than the bulletins, and which all others see.
    """
    shown = {bulletin.gatherer: bulletin.share for bulletin in board.bulletins}
    shares = [_share(member, shown.get(member.gatherer, b"")) for member in board.at_work]
    shares = sorted([*shares, *_gone(board)], key=lambda share: natural(share.id))
    built = reports.build(board.crawl, board.state or state_of(board.control, bool(board.at_work)), shares)
    built = msgspec.structs.replace(built, helpers=len(board.helpers))
    if not board.at_work:
        return built
    session = board.charter.session if board.charter else 1
    works = workloads(board.at_work, board.accounts, session)
    return with_outlook(built, estimate(works, AWAY if is_away else built.state))


def sample(board: BoardSnapshot, report: Report) -> tuple[SeriesPoint, SeriesCounts]:
    """The figures of this moment, from the heartbeats, which are newer than the bulletins."""
    figures = [member.figures for member in (*board.at_work, *_gone_members(board, report.session))]

    def total(name: str) -> int:
        return int(sum(each.get(name, 0.0) for each in figures))

    summed = {name: total(name) for name in SUMMED}
    point = SeriesPoint(at=board.at, failed=report.failed, explored=report.explored_fraction, **summed)
    return point, SeriesCounts(board.at, point.pages, total("bytes"))


def differs(point: SeriesPoint, last: SeriesPoint) -> bool:
    """Whether anything was done between two moments."""
    return (point.pages, point.known, point.queued, point.failed) != (last.pages, last.known, last.queued, last.failed)


def links(board: BoardSnapshot) -> schemas.ExchangedLinks:
    known = {member.gatherer for member in board.members} | {each.gatherer for each in board.bulletins}
    names = sorted(known, key=natural)
    sent = {bulletin.gatherer: bulletin.sent for bulletin in board.bulletins}
    matrix = [[sent.get(source, {}).get(target, 0) for target in names] for source in names]
    return schemas.ExchangedLinks(names, matrix)


def rebalances(board: BoardSnapshot) -> schemas.Rebalances:
    """The plans, the newest first."""
    return schemas.Rebalances(
        [
            schemas.Rebalance(
                epoch=note.epoch,
                at=note.at,
                reason=note.reason,
                superpages=note.superpages,
                gatherers=note.gatherers,
                moved=note.moved,
                transfers=[schemas.RangeTransfer(**asdict(move)) for move in note.moves],
                lost=note.lost,
                committed_at=note.committed_at or None,
            )
            for note in sorted(board.notes, key=lambda note: -note.epoch)
        ]
    )


def errors(board: BoardSnapshot, report: Report) -> schemas.Errors:
    """Failures by kind and by host, a host that several gatherers share counted once."""
    hosts: dict[str, schemas.HostErrors] = {}
    for bulletin in board.bulletins:
        for trouble in bulletin.troubles:
            known = hosts.get(trouble.host)
            failed = trouble.failed + (known.failed if known else 0)
            others = known.gatherers if known else []
            last = known if known and known.at > trouble.at else trouble
            hosts[trouble.host] = schemas.HostErrors(
                trouble.host, failed, last.kind, last.url, last.at, [*others, bulletin.gatherer]
            )
    worst = sorted(hosts.values(), key=lambda each: (-each.failed, each.host))[:MOST_HOSTS]
    return schemas.Errors(dict(sorted(report.failures.items(), key=lambda item: (-item[1], item[0]))), worst)


def pages(board: BoardSnapshot) -> schemas.RecentPages:
    """The newest pages of all."""
    found = [
        schemas.ShownPage(bulletin.gatherer, **asdict(page)) for bulletin in board.bulletins for page in bulletin.recent
    ]
    return schemas.RecentPages(sorted(found, key=lambda page: (-page.fetched_at, page.url))[:MOST_PAGES])


def points(board: BoardSnapshot) -> list[Point]:
    """The URL tree, as the gatherers show it."""
    return sorted(point for bulletin in board.bulletins for point in points_of(bulletin.gatherer, bulletin.patches))


def _gone(board: BoardSnapshot, session: int = 0) -> list[Share]:
    """Shares of gatherers that are not here, for this session (0: all): from their accounts or their last bulletins."""
    here = {member.gatherer for member in board.at_work}
    found: dict[str, Share] = {}
    for bulletin in board.bulletins:
        if share := decoded(bulletin.share):
            # a gatherer that has died: the others have, or will get, the URLs that were queued there
            found[share.id] = msgspec.structs.replace(share, known_urls=0, queued=0) if here else share
    found |= {share.id: share for account in board.accounts if (share := decoded(account.share))}
    gone = [share for share in found.values() if share.id not in here and session in (0, share.session)]
    return sorted(gone, key=lambda share: natural(share.id))


def _gone_members(board: BoardSnapshot, session: int) -> list[Member]:
    """Gatherers that are not here, as their last heartbeats would show them."""
    return [
        Member(
            *(share.id, ""),
            epoch=share.epoch,
            settled_epoch=share.epoch,
            state=MemberState.GONE,
            figures={
                "pages": share.counters.pages,
                "bytes": share.counters.size_bytes,
                "known": share.known_urls,
                "queued": share.queued,
                "explored": share.explored_fraction,
            },
        )
        for share in _gone(board, session)
    ]


def _share(member: Member, shown: bytes) -> Share:
    """A gatherer's share from its bulletin; if there is none, or of another version, from its heartbeat."""
    if found := decoded(shown):
        return found
    figure = defaultdict(float, member.figures)
    return Share(
        id=member.gatherer,
        counters=Counters(pages=int(figure["pages"]), size_bytes=int(figure["bytes"])),
        known_urls=int(figure["known"]),
        queued=int(figure["queued"]),
        unique=int(figure["pages"]),
        explored_fraction=figure["explored"],
        busy=figure["busy"],
        superpages=0,
        epoch=member.epoch,
    )
