"""What all tests share."""

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("machines are noisy", deadline=None)
settings.load_profile("machines are noisy")

SHARED = Path(__file__).parents[2] / "shared"


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Keeps bytes out of the tests' names: gzip writes the time into them, and the workers must agree on the names."""
    return argname if isinstance(val, bytes) else None


@pytest.fixture
def shared() -> Path:
    """The folder of public data beside the checkout; a test that needs it is skipped where it is absent."""
    if not SHARED.is_dir():
        pytest.skip("../shared (public graphs and conformance data) is absent")
    return SHARED


@pytest.fixture(autouse=True)
def undisturbed_logging() -> Iterator[None]:
    """A command that a test runs in this process sets up logging for good: the next test would see no events."""
    logger = logging.getLogger("gcs")
    before = logger.handlers[:], logger.level, logger.propagate
    yield
    logger.handlers[:], logger.level, logger.propagate = before
