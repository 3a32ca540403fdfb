import random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gcs.core.page.simhash import simhash

MASK = (1 << 64) - 1


def by_hand(text: str) -> int:
    """The definition, one feature and one bit at a time."""
    data = b"\n" + text.encode("utf-8", "replace").lower()[:8192] + bytes(16)
    counts, features = [0] * 64, 0
    for at in range(1, len(data) - 16):
        if (data[at - 1] <= 0x20 < data[at]) or data[at] >= 0xE0:
            first, second = (int.from_bytes(data[at + skip : at + skip + 8], "little") for skip in (0, 8))
            mixed = (first * 0x9E3779B97F4A7C15 & MASK) ^ (second * 0xC2B2AE3D27D4EB4F & MASK)
            mixed ^= mixed >> 32
            mixed = mixed * 0xBF58476D1CE4E5B9 & MASK
            features += 1
            for bit in range(64):
                counts[bit] += mixed >> bit & 1
    return sum(1 << bit for bit in range(64) if 2 * counts[bit] > features)


@given(st.text(max_size=300))
@example("")
@example(" \n\t")
@example("日本語のテキスト" * 70)
@example("word " * 600)
@example("".join(f"word{number} " for number in range(2_000)))
@example("Größe ÄRGER " * 100)
@example("\ud800 lone surrogate")
def test_simhash_is_its_definition(text: str) -> None:
    assert simhash(text) == by_hand(text)


def test_simhash_never_changes() -> None:
    """Signatures are stored: this one must be the same in every version and on every machine."""
    assert simhash("The quick brown fox jumps over the lazy dog") == 0x288E82817496DF53


def _text(words: list[str]) -> str:
    return " ".join(words)


@pytest.mark.parametrize("seed", range(5))
def test_simhash_of_a_small_change_is_near_and_of_another_text_is_far(seed: int) -> None:
    chance = random.Random(seed)
    vocabulary = ["".join(chance.choices("abcdefghijklmnop", k=chance.randint(2, 9))) for _ in range(3000)]
    words, others = (chance.choices(vocabulary, k=2000) for _ in range(2))
    edited = list(words)
    for _ in range(3):
        edited[chance.randrange(2000)] = chance.choice(vocabulary)
    assert (simhash(_text(words)) ^ simhash(_text(edited))).bit_count() <= 8
    assert (simhash(_text(words)) ^ simhash(_text(others))).bit_count() >= 16


def test_simhash_ignores_case_and_white_space_between_lines() -> None:
    assert simhash("Hello World again") == simhash("hello world AGAIN")
