"""The leader: every gatherer's process has a candidate; the elected one decides who crawls what, and when all is done.

    leader             stands for election; while elected, holds a term
    config             what every leader of a crawl is given
    term               one term: the order of decisions, step by step
    fenced_board       the whiteboard read as one value; postings that are refused once another one leads
    liveness           members that should be there and are not: ghosts, and giving up
    rebalance_rounds   announcement → replies → plan

It writes LeaderLease, Announcement, PlanPosted and Control(DONE); it takes RebalanceCall. All else is read from the
board at every step, so the next leader goes on where this one ends, wherever that is.
"""

from gcs.roles.leader.config import LeaderConfig
from gcs.roles.leader.leader import Leader

__all__ = ["Leader", "LeaderConfig"]
