"""Expressions over named numbers: against Python's own evaluator, and what is refused."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gcs.core.plan.expression import MAX_LENGTH, Expression
from gcs.errors import SettingsError

NAMES = {"queued", "pages", "members"}
OPERATORS = ["+", "-", "*", "/", "//", "%", "<", "<=", ">", ">=", "==", "!=", "and", "or"]
VALUES = {"queued": 120.0, "pages": 30.0, "members": 4.0}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("queued", 120),
        ("queued / pages", 4),
        ("queued // 50 + 7 % 4 - -1", 6),
        ("2 * (3 + 4)", 14),
        ("+pages", 30),
        ("queued > 100", 1),
        ("queued > 100 and pages > 100", 0),
        ("queued > 100 or pages > 100", 1),
        ("not pages", 0),
        ("1 < members <= 4 != pages", 1),
        ("1 < members < 4", 0),
        ("max(pages, queued, 7) - min(1, 2) + abs(-3)", 122),
        ("True", 1),
        ("  pages\n  + 1", 31),
        ("1e3", 1000),
    ],
)
def test_expression_gives(text, value):
    assert Expression(text, NAMES)(VALUES) == value


@pytest.mark.parametrize(
    ("text", "at", "why"),
    [
        ("queud > 1", 1, "unknown name 'queud'; known: members, pages, queued"),
        ("1 + queud", 5, "unknown name"),
        ("   queud", 4, "unknown name"),
        ("queued >", None, "invalid syntax"),
        ("", 1, "invalid syntax"),
        ("'a' > 1", 1, "only numbers"),
        ("queued ** 9", 1, "only numbers"),
        ("queued.real", 1, "only numbers"),
        ("queued[0]", 1, "only numbers"),
        ("__import__('os')", 1, "only numbers"),
        ("pages + (lambda: 1)()", 9, "only numbers"),
        ("[1 for x in (1, 2)]", 1, "only numbers"),
        ("1 if pages else 2", 1, "only numbers"),
        ("(x := 3)", 2, "only numbers"),
        ("pages is 1", 1, "only numbers"),
        ("1 in pages", 1, "only numbers"),
        ("1j", 1, "only numbers"),
        ("max(pages)", 1, "two numbers"),
        ("abs(1, 2)", 1, "one number"),
        ("max(*pages)", 5, "only numbers"),
        ("max(1, key=2)", 1, "only numbers"),
        ("min()", 1, "only numbers"),
        ("9" * 400, 1, "too large"),
        ("1; 2", 2, "invalid syntax"),
        ("a\0b", None, ""),
        ("-" * 900 + "1", 1, ""),
        ("(" * 300 + "1" + ")" * 300, None, ""),
    ],
)
@pytest.mark.filterwarnings("ignore::SyntaxWarning")
def test_expression_refuses(text, at, why):
    with pytest.raises(SettingsError) as refusal:
        Expression(text, NAMES)
    assert why in str(refusal.value)
    if at is not None:
        assert f"at character {at}:" in str(refusal.value)


def test_expression_refuses_one_that_is_too_long():
    with pytest.raises(SettingsError, match="1001 characters"):
        Expression("1" * (MAX_LENGTH + 1), NAMES)


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("queued / 0 > 1e300", True),
        ("-queued / 0 < -1e300", True),
        ("0 / 0", False),
        ("0 / 0 > 1", False),
        ("0 / 0 <= 1", False),
        ("not 0 / 0", False),
        ("0 // 0", False),
        ("queued // 0", True),
        ("1 % 0", False),
        ("1e308 * 10 % 3", False),
    ],
)
def test_expression_divides_as_floating_point_does(text, holds):
    assert Expression(text, NAMES).holds(VALUES) is holds


def _texts() -> st.SearchStrategy[str]:
    leaves = st.one_of(st.sampled_from(sorted(NAMES)), st.integers(0, 9).map(str), st.sampled_from(["0.5", "1e2"]))

    def grow(inner):
        binary = st.tuples(inner, st.sampled_from(OPERATORS), inner)
        call = st.tuples(st.sampled_from(["min", "max"]), inner, inner)
        return st.one_of(
            binary.map(lambda part: f"({part[0]} {part[1]} {part[2]})"),
            call.map(lambda part: f"{part[0]}({part[1]}, {part[2]})"),
            inner.map(lambda part: f"(not {part})"),
            inner.map(lambda part: f"(-{part})"),
        )

    return st.recursive(leaves, grow, max_leaves=8)


@given(_texts(), st.fixed_dictionaries({name: st.integers(0, 5) for name in NAMES}))
def test_expression_agrees_with_python(text, values):
    """But for division by zero, and for and/or, which give true or false here."""
    try:
        expected = eval(text, {"min": min, "max": max}, values)
    except ZeroDivisionError:
        Expression(text, NAMES)(values)  # does not raise
        return
    expression = Expression(text, NAMES)
    if " and " in text or " or " in text:
        assert math.isfinite(expression(values)) or math.isnan(expression(values))
    else:
        assert math.isclose(expression(values), float(expected), abs_tol=1e-9)


@given(st.text(max_size=60))
@pytest.mark.filterwarnings("ignore::SyntaxWarning", "ignore::DeprecationWarning")
def test_expression_is_read_or_refused_whatever_it_is(text):
    try:
        expression = Expression(text, NAMES)
    except SettingsError:
        return
    assert isinstance(expression.holds(VALUES), bool)
