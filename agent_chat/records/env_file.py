"""One line of ours in a file of variables, as dotenv reads it: put in, known again, taken out.

The line comes first, since a file need not end with a line break. It ends with a mark, by which it is known.
"""

from __future__ import annotations

MARK = "# agent-chat setup"
BYTE_ORDER_MARK = "\ufeff"


class EnvFileError(ValueError):
    """The variable is set by somebody else's line, or its value cannot be written; the text is fit for a user."""


def with_variable(text: str, name: str, value: str) -> str:
    """Returns the text with a line that sets a variable; a line of ours that sets it otherwise gives way."""
    head, rest = _split(without_variable(text, name))
    for number, line in enumerate(rest.splitlines(), 1):
        key, sign, set_to = line.strip().partition("=")
        if sign and key.removeprefix("export ").strip() == name:
            if set_to.strip().strip("'\"`") == value:
                return text
            raise EnvFileError(f"line {number}: {name} is set already")
    newline = "\r\n" if "\r\n" in rest else "\n"
    # Where the file was there and empty the line has no end, so that without it nothing is left.
    return f"{head}{name}={_quoted(value)} {MARK}{newline if rest else ''}{rest}"


def without_variable(text: str, name: str) -> str:
    """Returns the text without the line of ours that sets a variable."""
    head, rest = _split(text)
    return head + "".join([line for line in rest.splitlines(keepends=True) if not _is_ours(line, name)])


def _split(text: str) -> tuple[str, str]:
    return (BYTE_ORDER_MARK, text[1:]) if text.startswith(BYTE_ORDER_MARK) else ("", text)


def _is_ours(line: str, name: str) -> bool:
    return line.startswith(f"{name}=") and line.rstrip("\r\n").endswith(f" {MARK}")


def _quoted(value: str) -> str:
    """Returns a value in quotes between which nothing in it has a meaning."""
    signs = "".join(sign for sign in "'`" if sign not in value) + ('"' if not set('"\\') & set(value) else "")
    if not signs or "\n" in value or "\r" in value:
        raise EnvFileError(f"{value!r} cannot be written as a value")
    return signs[0] + value + signs[0]
