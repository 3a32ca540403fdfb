"""Cells of a CSV table that people open in a spreadsheet."""

#: what a formula begins with, or an apostrophe: the first character that a spreadsheet looks at
_FORMULA = ("=", "+", "-", "@", "\t", "\n", "'", "＝", "＋", "－", "＠")
#: control characters, but for tab and newline
_CONTROLS = dict.fromkeys([*range(9), *range(11, 32), *range(0x7F, 0xA0)], "\N{REPLACEMENT CHARACTER}")


def harmless(cell: object) -> object:
    """A cell that no spreadsheet takes for a formula, as OWASP advises.

    A text that begins like one gets an apostrophe before it, and so does one that begins with an apostrophe: to take
    one apostrophe away from each text that begins with one brings back what was stored, but for control characters.
    """
    if not isinstance(cell, str):
        return cell
    text = cell.translate(_CONTROLS)
    return f"'{text}" if text.startswith(_FORMULA) else text
