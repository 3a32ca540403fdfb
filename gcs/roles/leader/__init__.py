"""The leader: every gatherer's process has a candidate; the elected one decides who crawls what, and when all is done.

    leader    stands for election; while elected, holds an office
    office    one term: the order of decisions, step by step
    board     what hangs on the whiteboard, as one value; posting under the fence
    absent    names that should be there and are not: ghosts, and giving up
    rounds    announcement → replies → plan

It writes Leader, Announcement, PlanPosted and Control(DONE); it takes RebalanceCall. All else it knows is read from the
board at every step, so the next leader goes on where this one ends, wherever that is.
"""

from gcs.roles.leader.leader import Leader

__all__ = ["Leader"]
