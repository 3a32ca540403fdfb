"""The fleet of a seed-server against one that does a URL at a time."""

from collections import Counter

import numpy as np
import pytest

from gcs.core.plan.seed_domains import SeedServerSettings, fair_moves, say
from gcs.sim.engine.reach import reach
from gcs.sim.studies import web_sailor
from gcs.sim.studies.study import StudyRequest


@pytest.fixture
def small(monkeypatch):
    for name, value in {"STEPS": 12, "WINDOW": 3, "SEEDS": 6, "FIRST": 4, "OTHERS": 2}.items():
        monkeypatch.setattr(web_sailor, name, value)


def slow_fleet(outlinks, domain, seeds, client_of, speed, balanced):
    """Pages fetched by each client, its connections and seeds held, after each step."""
    connections, rules = [4, 2, 0], SeedServerSettings()
    count, order, visited = Counter(), list(dict.fromkeys(sorted(seeds))), set()
    done, looks = Counter(), []
    for step in range(1, 13):
        if step == 4:
            connections[2] = 2
            waiting = Counter(str(domain[url]) for url in order if url not in visited)
            names = {str(d): str(c) for d, c in client_of.items()}
            for name, client in fair_moves(names, waiting, ["0", "1", "2"], rules).items():
                client_of[int(name)] = int(client)
        batch, offered = [], [each * speed for each in connections]
        for client in range(3):
            mine = [url for url in order if url not in visited and client_of[domain[url]] == client]
            best = sorted(mine, key=lambda url: -count[url])[: connections[client] * speed]
            done[client] += len(best)
            batch.append(best)
        visited.update(url for best in batch for url in best)
        told = [(link, client) for client, best in enumerate(batch) for url in best for link in outlinks[url]]
        # the server hears of a client's own domains first, then of the others'
        told.sort(key=lambda pair: client_of[domain[pair[0]]] != pair[1])
        for link, _ in told:
            if link not in visited:
                count[link] += 1
                if link not in order:
                    order.append(link)
        held = [sum(url not in visited and client_of[domain[url]] == client for url in order) for client in range(3)]
        if balanced:
            connections = [say(c, held[i] // speed, rules)[1] if c else 0 for i, c in enumerate(connections)]
        looks.append((dict(done), list(connections), held, offered, set(visited)))
    return looks


def slow_single(outlinks, seeds, upto):
    """What one crawler has when it has fetched as many pages as the fleet, step by step: the most linked go first."""
    count, order, visited = Counter(), sorted(set(seeds)), set()
    for pages in upto:
        waiting = [url for url in order if url not in visited]
        best = sorted(waiting, key=lambda url: -count[url])[: pages - len(visited)]
        visited.update(best)
        for link in (link for url in best for link in outlinks[url] if link not in visited):
            count[link] += 1
            if link not in order:
                order.append(link)
        yield set(visited)


def best_hits(outlinks, pages):
    """The part of the truly most linked pages that was fetched, where those that were fetched win ties."""
    linked = Counter(link for links in outlinks for link in links)
    ranking = sorted(range(len(outlinks)), key=lambda page: (-linked[page], page not in pages))
    return len(pages.intersection(ranking[: len(pages)])) / len(pages)


def test_rows_are_those_of_the_slow_fleet(web, outlinks, silent, small):
    rows = web_sailor.run(web, StudyRequest(seed=3), silent)
    seeds = np.random.default_rng(3).choice(web.pages, 6, replace=False)
    kept = np.flatnonzero(reach(web, seeds) >= 0).tolist()
    number = {page: place for place, page in enumerate(kept)}
    part = web.induced(reach(web, seeds) >= 0)
    links = [[number[link] for link in outlinks[page]] for page in kept]
    domain = web_sailor._domains(part, 3).tolist()
    sizes = Counter(domain)
    loads, client_of = [0, 0], {}
    for name in sorted(sizes):
        client_of[name] = min((0, 1), key=lambda me: (loads[me] + sizes[name]) / (4, 2)[me])
        loads[client_of[name]] += sizes[name]
    speed = max(int(0.5 * len(kept) / (12 * 6)), 1)
    for balanced in (False, True):
        looks = slow_fleet(links, domain, [number[s] for s in seeds.tolist()], dict(client_of), speed, balanced)
        alone = list(slow_single(links, [number[s] for s in seeds.tolist()], [len(look[4]) for look in looks]))
        for row in (row for row in rows if row.balanced is balanced):
            me = row.client - 1
            done, connections, held, _, visited = looks[row.step - 1]
            assert (row.pages, row.connections, row.held) == (done[me], connections[me], held[me])
            got = done[me] - (looks[row.step - 4][0][me] if row.step > 3 else 0)
            assert row.pages_per_step == pytest.approx(got / 3)
            assert row.busy == pytest.approx(got / max(sum(look[3][me] for look in looks[row.step - 3 : row.step]), 1))
            assert row.quality == pytest.approx(best_hits(links, visited))
            assert row.quality_single == pytest.approx(best_hits(links, alone[row.step - 1]))


def test_domains_are_top_level_where_there_are_enough(web):
    assert len(set(web_sailor._domains(web, 3).tolist())) == len(set(web.sites.tolist()))  # all of them are .example
    sizes = np.bincount(web_sailor._domains(web, 3))
    assert (np.diff(sizes) <= 0).all()
