"""What has changed in a text: nothing is invented, nothing kept back."""

from hypothesis import given
from hypothesis import strategies as st

from gcs.core.watch.text_change import MOST_LINE, MOST_LINES, diff_lines, sentences, text_change

_lines = st.lists(st.sampled_from(["One.", "Two two.", "Three", "", "A longer line of words"]), max_size=10)


@given(_lines, _lines)
def test_what_went_and_came_makes_one_text_of_the_other(old: list[str], new: list[str]) -> None:
    before, after = sentences("\n".join(old)), sentences("\n".join(new))
    found = diff_lines("\n".join(old), "\n".join(new))
    went, came = (sorted(line[2:] for line in found if line.startswith(sign)) for sign in ("- ", "+ "))
    assert sorted([*after, *went]) == sorted([*before, *came])
    assert (found == []) == (before == after)


@given(_lines, _lines)
def test_words_are_counted(old: list[str], new: list[str]) -> None:
    change = text_change("\n".join(old), "\n".join(new))
    before, after = " ".join(old).split(), " ".join(new).split()
    assert len(after) - len(before) == change.words_added - change.words_removed
    back = text_change("\n".join(new), "\n".join(old))
    assert (back.words_added, back.words_removed) == (change.words_removed, change.words_added)


def test_one_word_shows_one_sentence() -> None:
    sentence = "This is sentence number {} of a paragraph that has no line breaks in it at all. "
    old = "".join(sentence.format(number) for number in range(30))
    change = text_change(old, old.replace("number 12", "number twelve"))
    assert (change.words_added, change.words_removed) == (1, 1)
    lines = change.diff.splitlines()
    assert len(lines) == 4 and lines[1][:2] == "- " and lines[2] == "+ " + sentence.format("twelve").strip()


def test_diff_is_bounded() -> None:
    old = "\n".join(f"{number} {'x' * 2_000}" for number in range(5_000))
    lines = diff_lines(old, old[::-1])
    assert len(lines) <= MOST_LINES + 1 and max(map(len, lines)) <= MOST_LINE + 2
    same = "\n".join(["again"] * 20_000)
    assert diff_lines(same, same + "\nmore")[-1:] in ([], ["+ more"])
