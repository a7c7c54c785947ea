"""Text of others made safe to show: on a terminal, on one line, below a line of ours, in Markdown of ours.

Other people's text never moves a cursor, sets a colour or reverses a line: control characters and what reverses the
direction of text are shown escaped (Unicode Technical Report 36, 2.2; ECMA-48). Nor does it make a heading, a list item
or HTML in a document of ours (CommonMark 0.31).
"""

from __future__ import annotations


def _escapes() -> dict[int, str]:
    """Builds the translation of what a terminal might obey."""
    table = {code: f"\\x{code:02x}" for code in (*range(0x09), *range(0x0B, 0x20), *range(0x7F, 0xA0))}
    unseen = (0x061C, 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A), 0xFEFF)
    table.update((code, f"\\u{code:04x}") for code in unseen)
    table[0x0D] = "\\r"
    return table


ESCAPES = _escapes()
_LINE_ESCAPES = {**ESCAPES, 0x09: "\\t", 0x0A: "\\n"}
_FENCES = ("```", "~~~")


def safe_line(text: str) -> str:
    """Returns a text as it may stand on one line of output."""
    return text if text.isprintable() else _encodable(text.translate(_LINE_ESCAPES))


def safe_block(text: str) -> str:
    """Returns a text of several lines with each line indented by two spaces, so that no line can pass for a header."""
    shown = safe_text(text)
    if shown.endswith("\n"):
        shown = shown[:-1]
    return "  " + shown.replace("\n", "\n  ") + "\n"


def safe_text(text: str) -> str:
    """Returns a text of several lines as it may stand on a terminal."""
    return _encodable(text.replace("\r\n", "\n").translate(ESCAPES))


def _encodable(text: str) -> str:
    """Returns a text with its lone surrogates, as odd file names have them, escaped."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def shortened(text: str, most_bytes: int) -> str:
    """Returns a text on one line, cut so that it takes at most so many bytes of UTF-8."""
    line = safe_line(text)
    data = line.encode("utf-8")
    return line if len(data) <= most_bytes else data[: most_bytes - 3].decode("utf-8", "ignore") + "…"


def inline(text: str) -> str:
    """Returns a text as it may stand within a line of Markdown: on that line, and with no HTML in it."""
    shown = safe_line(text)
    if "<" not in shown:
        return shown
    parts = shown.split("<")
    line = parts[0]
    for part in parts[1:]:
        opens = part[:1].isalpha() or part[:1] in ("!", "/", "?")
        escaped = (len(line) - len(line.rstrip("\\"))) % 2 == 1
        line += ("\\<" if opens and not escaped else "<") + part
    return line


def quoted(text: str, *, most_lines: int, most_characters: int) -> tuple[list[str], bool]:
    """Returns the lines of a block quote in Markdown, without empty ones, and whether something had to be left out."""
    lines: list[str] = []
    rest = most_characters
    for line in filter(str.strip, text.replace("\r\n", "\n").split("\n")):
        if len(lines) == most_lines or not line[:rest].strip():
            return lines, True
        lines.append("> " + _plain(inline(line[:rest].rstrip())))
        if len(line) > rest:
            return lines, True
        rest -= len(line)
    return lines, False


def _plain(line: str) -> str:
    """Returns a line that begins no heading and no fence, underlines none, and defines no link, which would not show.

    Nor does it within a quote or a list item of its own.
    """
    start = _after_containers(line)
    said = line[start:]
    if not said:
        return line
    if said.startswith(("#", "[", *_FENCES)) or not said.strip("=") or not said.strip("- "):
        return line[:start] + "\\" + said
    return line


def _after_containers(line: str) -> int:
    """Returns where the text of a line begins, after the marks of quotes and list items."""
    at = 0
    while True:
        while line[at : at + 1] in (" ", "\t"):
            at += 1
        mark = at
        while line[mark : mark + 1].isdigit():
            mark += 1
        sign, after = line[mark : mark + 1], line[mark + 1 : mark + 2]
        if sign == ">" and mark == at:
            at += 1
        elif after == " " and sign in ((".", ")") if mark > at else ("-", "*", "+")):
            at = mark + 1
        else:
            return at
