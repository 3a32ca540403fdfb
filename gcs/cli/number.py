"""A number on the command line that has an end: `nan` and `inf` pass every range of click's, and limit nothing."""

import math

import click


class Number(click.FloatRange):
    """A click.FloatRange of finite numbers."""

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """From what was written."""
        number = float(super().convert(value, param, ctx))  # type: ignore[arg-type]  # it takes what was written, too
        if not math.isfinite(number):
            self.fail(f"{value} is no number that has an end.", param, ctx)
        return number
