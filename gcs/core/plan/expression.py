"""Expressions over named numbers, as users write them in the settings: `queued > 1000 and imbalance > 0.5`.

Numbers, the names that the caller offers, + - * / // %, comparisons (also chained), and, or, not, min, max, abs.
What is not on this list is refused when the expression is read, not when it is used.

Arithmetic is that of floating-point numbers: x / 0 is infinite, 0 / 0 compares as false with everything.

Invariant: reading either gives an expression that can always be evaluated, or a SettingsError that says where.
"""

import ast
import math
import operator
from collections.abc import Callable, Collection, Mapping

from gcs.errors import SettingsError

Values = Mapping[str, float]
Evaluator = Callable[[Values], float]

#: characters, and levels of nesting: far more than a person writes, far less than exhausts the interpreter
MAX_LENGTH, MAX_DEPTH = 1000, 100

_COMPARISONS: dict[type[ast.cmpop], Callable[[float, float], bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
_FUNCTIONS: dict[str, Callable[..., float]] = {"min": min, "max": max, "abs": abs}


def _divide(left: float, right: float) -> float:
    if right:
        return left / right
    return math.copysign(math.inf, left) if left and not math.isnan(left) else math.nan


def _floor_divide(left: float, right: float) -> float:
    quotient = _divide(left, right)
    return float(math.floor(quotient)) if math.isfinite(quotient) else quotient


_OPERATIONS: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: _divide,
    ast.FloorDiv: _floor_divide,
    ast.Mod: lambda left, right: left % right if right and math.isfinite(left) else math.nan,
}


class Expression:
    """Read once, evaluated often."""

    def __init__(self, text: str, names: Collection[str]) -> None:
        self.text = text
        self._names = names
        if len(text) > MAX_LENGTH:
            raise SettingsError(f"an expression of {len(text)} characters: {MAX_LENGTH} are the most")
        line = text.replace("\r", " ").replace("\n", " ")
        self._indent = len(line) - len(line.lstrip())
        try:
            tree = ast.parse(line.strip(), mode="eval")
        except SyntaxError as error:
            raise self._error(error.msg, (error.offset or 1) - 1) from None
        except (ValueError, MemoryError, RecursionError):  # a NUL byte; nested too deep for the parser
            raise self._error("not an expression", 0) from None
        if _depth(tree) > MAX_DEPTH:
            raise self._error("nested too deep", 0)
        self._evaluate = self._read(tree.body)

    def __call__(self, values: Values) -> float:
        """The value; comparisons give 1 or 0."""
        return self._evaluate(values)

    def holds(self, values: Values) -> bool:
        """Whether it is true: neither 0 nor undefined."""
        value = self(values)
        return bool(value) and not math.isnan(value)

    def _read(self, node: ast.expr) -> Evaluator:
        match node:
            case ast.Constant(value=bool() | int() | float() as number):
                return self._constant(node, number)
            case ast.Name(id=name):
                return self._name(node, name)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATIONS:
                operation, first, second = _OPERATIONS[type(op)], self._read(left), self._read(right)
                return lambda values: operation(first(values), second(values))
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                inner = self._read(operand)
                return lambda values: float(not inner(values))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                inner = self._read(operand)
                return lambda values: -inner(values)
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                return self._read(operand)
            case ast.BoolOp(op=op, values=parts):
                all_or_any, each = all if isinstance(op, ast.And) else any, [self._read(part) for part in parts]
                return lambda values: float(all_or_any(part(values) for part in each))
            case ast.Compare(left=left, ops=ops, comparators=rest) if all(type(op) in _COMPARISONS for op in ops):
                return self._comparison([left, *rest], [_COMPARISONS[type(op)] for op in ops])
            case ast.Call(func=ast.Name(id=name), args=[_, *_] as args, keywords=[]) if name in _FUNCTIONS:
                return self._call(node, name, args)
        raise self._error(
            "only numbers, names, + - * / // %, comparisons, and, or, not, min, max, abs", node.col_offset
        )

    def _constant(self, node: ast.expr, number: float) -> Evaluator:
        try:
            value = float(number)
        except OverflowError:
            raise self._error("too large a number", node.col_offset) from None
        return lambda _values: value

    def _name(self, node: ast.expr, name: str) -> Evaluator:
        if name not in self._names:
            raise self._error(f"unknown name {name!r}; known: {', '.join(sorted(self._names))}", node.col_offset)
        return lambda values: float(values[name])

    def _comparison(self, nodes: list[ast.expr], tests: list[Callable[[float, float], bool]]) -> Evaluator:
        parts = [self._read(node) for node in nodes]

        def compare(values: Values) -> float:
            numbers = [part(values) for part in parts]
            return float(all(test(a, b) for test, a, b in zip(tests, numbers, numbers[1:])))

        return compare

    def _call(self, node: ast.expr, name: str, args: list[ast.expr]) -> Evaluator:
        function, parts = _FUNCTIONS[name], [self._read(part) for part in args]
        if (len(parts) == 1) != (name == "abs"):
            raise self._error(
                f"{name} takes {'one number' if name == 'abs' else 'two numbers or more'}", node.col_offset
            )
        return lambda values: float(function(*(part(values) for part in parts)))

    def _error(self, what: str, at: int) -> SettingsError:
        return SettingsError(f"expression {self.text!r}, at character {self._indent + at + 1}: {what}")


def _depth(tree: ast.AST) -> int:
    depth, level = 0, [tree]
    while level:
        depth, level = depth + 1, [child for node in level for child in ast.iter_child_nodes(node)]
    return depth
