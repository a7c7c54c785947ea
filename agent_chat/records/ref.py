"""A ref: what a message points to, a file on the same machine or a commit, and its text.

Stored is `path:<absolute path>#sha256:<64 hex digits>`, the hash being that of the file when it was posted, or
`commit:[REPO@]HASH`. A path may hold a `#` and a repository an `@`, so both are read from the right.
"""

from __future__ import annotations

from agent_chat.records.value import Value

PATH, COMMIT = "path:", "commit:"
FORM = "path:FILE or commit:[REPO@]HASH"
_MARK = "#sha256:"
_MARKED = len(_MARK) + 64
_HEX = frozenset("0123456789abcdefABCDEF")
_DIGITS = range(4, 65)  # of a commit: git abbreviates to no fewer, and SHA-256 has no more


class Ref(Value):
    """What a ref says: its kind, the file or the repository that it names, and the hash; "" for what it lacks."""

    kind: str
    place: str
    hash: str = ""

    @property
    def text(self) -> str:
        """The ref as it is stored."""
        if self.kind == PATH:
            return PATH + self.place + (_MARK + self.hash if self.hash else "")
        return COMMIT + (self.place + "@" if self.place else "") + self.hash


def parse(text: str) -> Ref | None:
    """Returns what a ref says; None when it has no form of one."""
    if text.startswith(PATH):
        path, digest = text[len(PATH) :], ""
        if path[-_MARKED:].startswith(_MARK) and _HEX.issuperset(path[-64:]):
            path, digest = path[:-_MARKED], path[-64:].lower()
        return Ref(kind=PATH, place=path, hash=digest) if path else None
    if not text.startswith(COMMIT):
        return None
    repository, at, digits = text[len(COMMIT) :].rpartition("@")
    if len(digits) not in _DIGITS or not _HEX.issuperset(digits) or (at and not repository):
        return None
    return Ref(kind=COMMIT, place=repository, hash=digits.lower())


def short(text: str) -> str:
    """Returns a ref as it is shown among others: without the hash of a file, which nobody compares by eye."""
    ref = parse(text)
    return text if ref is None or ref.kind == COMMIT else PATH + ref.place
