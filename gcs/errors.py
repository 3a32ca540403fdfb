"""The one tree of errors. Expected outcomes (a 404, a page refused by robots.txt) are values, not errors.

A message says what was wrong, where, and what to do about it: the CLI prints it as one line.
"""


class GcsError(Exception):
    """Anything that GCS raises on purpose. `exit_code` is what the CLI ends with."""

    exit_code = 1


class UsageError(GcsError):
    """The user asked for something that cannot be: a bad flag, seed, settings key or file."""

    exit_code = 2


class InUseError(UsageError):
    """Another process works in the directory. It may be about to let go of it."""


class SettingsError(UsageError):
    """A settings file, environment variable or flag holds an unknown key or a value of the wrong kind."""


class ConsentError(UsageError):
    """A crawl asks a machine for what its owner has not allowed."""


class OrderError(UsageError):
    """The user's own score for the order of the crawl failed: it would fail again, in whichever gatherer."""


class StoreError(GcsError):
    """The crawl directory or the record store cannot be read or written."""


class DamagedError(StoreError):
    """A file of the crawl directory does not hold what was written into it."""


class DiskFullError(StoreError):
    """There is no room left for the crawl. What was stored is safe, and the crawl can go on when there is."""


class SpaceError(GcsError):
    """The whiteboard cannot be reached, or refused what was asked of it."""


class CodecError(GcsError):
    """Bytes do not hold what they should: an unknown version, a damaged record."""


class SealError(CodecError):
    """A tuple was not written with the key of this team."""


class StuckError(GcsError):
    """The crawl cannot go on until somebody acts. Nothing is lost."""

    exit_code = 4


class UnknownVersionError(CodecError, StuckError):
    """Another version of GCS wrote this: it is left for a program that can read it."""
