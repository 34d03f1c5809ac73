"""Text and tables that read well in a terminal and in a notebook."""

from __future__ import annotations

import html
from collections.abc import Sequence


class Text(str):
    """Text of several lines: a terminal shows the lines, a notebook shows them in a fixed width."""

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self)}</pre>"


def text_table(head: Sequence[str], rows: Sequence[Sequence[str]], numeric: Sequence[bool]) -> str:
    """Columns side by side, numbers to the right."""
    widths = [max(len(row[k]) for row in (head, *rows)) for k in range(len(head))]

    def line(row: Sequence[str]) -> str:
        cells = (cell.rjust(w) if right else cell.ljust(w) for cell, w, right in zip(row, widths, numeric, strict=True))
        return "  ".join(cells).rstrip()

    return "\n".join([line(head), *map(line, rows)])


def html_table(head: Sequence[str], rows: Sequence[Sequence[str]], numeric: Sequence[bool]) -> str:
    def line(tag: str, row: Sequence[str]) -> str:
        cells = (
            f'<{tag} style="text-align:{"right" if right else "left"}">{html.escape(cell)}</{tag}>'
            for cell, right in zip(row, numeric, strict=True)
        )
        return f"<tr>{''.join(cells)}</tr>"

    body = "".join(line("td", row) for row in rows)
    return f"<table><thead>{line('th', head)}</thead><tbody>{body}</tbody></table>"
