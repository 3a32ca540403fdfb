"""Templates: which tuples are wanted. The associative half of the tuple space, pure.

A template names a type and, for any of its fields, a pattern. Fields that it does not name are ANY.

    pattern          field value      matches
    ---------------  ---------------  -------
    ANY              whatever         yes
    a value          equal to it      yes
    a value          different        no
    OneOf(a, b, …)   equal to one     yes
    OneOf(a, b, …)   equal to none    no
    OneOf()          whatever         no

    tuple's type     template's type  matches
    ---------------  ---------------  -----------------------
    the same         T                if every pattern does
    another          T                no (a subclass is another)

Invariant: matching reads nothing but its two arguments. A template with an unknown field cannot be made.
"""

from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from gcs.core.messages.tuples import Tuple
from gcs.errors import UsageError

T = TypeVar("T", bound=Tuple)


class Any_:  # noqa: N801 (its one instance is ANY)
    """The pattern that every value matches."""

    def __repr__(self) -> str:
        return "ANY"


ANY: Final = Any_()


@dataclass(frozen=True, slots=True, init=False)
class OneOf:
    """The pattern that any of the given values matches."""

    values: tuple[Any, ...]

    def __init__(self, *values: Any) -> None:
        object.__setattr__(self, "values", values)


@dataclass(frozen=True, slots=True)
class Template(Generic[T]):
    """Tuples of one type whose fields fit. Make one with `template(Type, field=pattern, …)`."""

    kind: type[T]
    #: the patterns that can refuse something; ANY is left out
    patterns: tuple[tuple[str, Any], ...] = ()

    def matches(self, item: Tuple) -> bool:
        """Whether the tuple is wanted; see the truth table above."""
        return type(item) is self.kind and all(_fits(getattr(item, name), want) for name, want in self.patterns)


def template(kind: type[T], **patterns: Any) -> Template[T]:
    """A template; a field that the type does not have is the caller's mistake."""
    for name in patterns:
        if name not in kind.__struct_fields__:
            known = ", ".join(kind.__struct_fields__)
            raise UsageError(f"a {kind.name} tuple has no field {name!r}; it has {known}")
    return Template(kind, tuple((name, want) for name, want in patterns.items() if want is not ANY))


def _fits(value: Any, want: Any) -> bool:
    return value in want.values if isinstance(want, OneOf) else bool(value == want)
