"""The rules for names: agents, channels, tasks and topics; folding, slugs and message file names.

Names are compared folded (canonical caseless matching, The Unicode Standard 3.13, D145) and kept as they were first
written. The everyday name is ASCII, so the Unicode tables are loaded only when a name needs them.
"""

from __future__ import annotations

from agent_chat.errors import ChatError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_NAME_BYTES = 64
MAX_FILE_NAME_BYTES = 240
MAX_SEQ = 999_999_999
SLUG_CHARACTERS = 40
RESERVED_AGENTS = ("all", "system")
_DEVICES = frozenset(
    ["con", "prn", "aux", "nul", "conin$", "conout$", *(p + d for p in ("com", "lpt") for d in "123456789¹²³")]
)
_ASCII_LETTERS_DIGITS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")
_TOPIC_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789._/-")


def normal_form(text: str) -> str:
    """Returns the NFC form of a text."""
    if text.isascii():
        return text
    import unicodedata

    return unicodedata.normalize("NFC", text)


def decomposed_form(text: str) -> str:
    """Returns the NFD form of a text."""
    if text.isascii():
        return text
    import unicodedata

    return unicodedata.normalize("NFD", text)


def fold(name: str) -> str:
    """Returns the form by which two names are the same name: caseless and in NFC."""
    if name.isascii():
        return name.lower()
    import unicodedata

    return unicodedata.normalize("NFC", unicodedata.normalize("NFD", name).casefold())


def same(one: str, other: str) -> bool:
    """Tells whether two names are the same name."""
    return one == other or fold(one) == fold(other)


def _is_word(character: str, *, first: bool) -> bool:
    """Tells whether a character is a letter or digit of any script, or, after the first, a combining mark."""
    if character.isascii():
        return character in _ASCII_LETTERS_DIGITS
    import unicodedata

    category = unicodedata.category(character)
    return category[0] == "L" or category == "Nd" or (category[0] == "M" and not first)


def fault_of_name(name: str) -> str | None:
    """Returns what is wrong with a channel or agent name in NFC, or None when nothing is."""
    if not name:
        return "it is empty"
    if len(name.encode("utf-8", "replace")) > MAX_NAME_BYTES:
        return f"it is longer than {MAX_NAME_BYTES} bytes"
    everyday = name.isascii() and name.isalnum()
    fault = None if everyday else _fault_of_characters(name)
    if fault is None and is_device(name):
        return "Windows keeps that name for a device"
    return fault


def is_device(name: str) -> bool:
    """Tells whether Windows takes a file name for a device, whatever extension it has."""
    return fold(name).partition(":")[0].partition(".")[0].rstrip(" ") in _DEVICES


def _fault_of_characters(name: str) -> str | None:
    if not _is_word(name[0], first=True):
        return "it must begin with a letter or digit"
    for character in name[1:]:
        if character not in "._-" and not _is_word(character, first=False):
            return f"{character!a} is not allowed"
    if name.endswith(".") or ".." in name:
        return "a dot may neither end it nor follow a dot"
    return None


def channel_name(text: str) -> str:
    """Returns a checked channel name in NFC; refuses with CHANNEL_INVALID."""
    name = normal_form(text)
    fault = fault_of_name(name)
    if fault:
        raise ChatError("CHANNEL_INVALID", f"{quoted(text)} is no channel name: {fault}", name=text)
    return name


def agent_name(text: str, *, reserved: bool = False) -> str:
    """Returns a checked agent name in NFC; refuses with AGENT_INVALID, or AGENT_RESERVED unless `reserved`."""
    name = normal_form(text)
    fault = fault_of_name(name)
    if fault:
        raise ChatError("AGENT_INVALID", f"{quoted(text)} is no agent name: {fault}", name=text)
    if not reserved and fold(name) in RESERVED_AGENTS:
        raise ChatError("AGENT_RESERVED", f"{quoted(text)} is a reserved name", name=text)
    return name


def agent_list(text: str) -> tuple[str, ...]:
    """Returns the checked names of a comma list, each once, in order; a leading @ is taken off."""
    names: list[str] = []
    for part in text.split(","):
        word = part.strip()
        name = agent_name(word[1:] if word.startswith("@") else word)
        if not contains(names, name):
            names.append(name)
    return tuple(names)


def contains(known: Iterable[str], name: str) -> bool:
    """Tells whether a name is among others, case aside."""
    return spelling(known, name) is not None


def spelling(known: Iterable[str], name: str) -> str | None:
    """Returns a name as it is spelled among the known ones, or None when it is not among them."""
    folded = fold(name)
    for candidate in known:
        if candidate == name or fold(candidate) == folded:
            return candidate
    return None


def fault_of_task_id(text: str) -> str | None:
    """Returns what is wrong with a task id, or None when nothing is."""
    if not 1 <= len(text) <= 64:
        return "it must have 1 to 64 characters"
    if text[0] not in _ASCII_LETTERS_DIGITS:
        return "it must begin with a letter or digit"
    for character in text:
        if character not in _ASCII_LETTERS_DIGITS and character not in "._-":
            return f"{character!a} is not allowed"
    return "it has two dots in a row" if ".." in text else None


def is_topic(text: str) -> bool:
    """Tells whether a text can be a message's topic."""
    return 1 <= len(text) <= 100 and text[0] not in "._/-" and _TOPIC_CHARACTERS.issuperset(text)


def topic_name(text: str) -> str:
    """Returns a checked message topic; refuses with MESSAGE_INVALID."""
    if not is_topic(text):
        raise ChatError(
            "MESSAGE_INVALID",
            f"{quoted(text)} is no topic: 1 to 100 of a-z 0-9 . _ / -, beginning with a letter or digit",
        )
    return text


def status_label(text: str) -> str:
    """Returns a checked status label; refuses with MESSAGE_INVALID."""
    allowed = all(c in "._-/" or _is_word(c, first=False) for c in text)
    if not (1 <= len(text) <= MAX_NAME_BYTES and allowed and _is_word(text[0], first=True)):
        raise ChatError("MESSAGE_INVALID", f"{quoted(text)} is no status: 1 to 64 letters, digits, '.', '_', '-', '/'")
    return normal_form(text)


def slug(title: str, *, max_bytes: int) -> str:
    """Returns the part of a file name that is made of a title: letters of every script, digits and hyphens.

    At most 40 characters and `max_bytes` bytes of UTF-8, never cut inside a combining sequence; "message" when the
    title holds nothing that can be kept.
    """
    text = normal_form(title[: SLUG_CHARACTERS * 8].lower())
    letters: list[str] = []
    for character in text:
        if _is_word(character, first=not letters or letters[-1] == "-"):
            letters.append(character)
        elif letters and letters[-1] != "-":
            letters.append("-")
    used = 0
    end = 0
    for index, character in enumerate(letters[:SLUG_CHARACTERS]):
        used += len(character.encode("utf-8"))
        if used > max_bytes:
            break
        following = letters[index + 1] if index + 1 < len(letters) else "-"
        if following == "-" or _is_word(following, first=True):
            end = index + 1
    return "".join(letters[:end]).strip("-") or "message"


def message_file_name(seq: int, sender: str, title: str) -> str:
    """Returns the file name of a message: NNNN-<from>-<slug>.md, at most 240 bytes."""
    start = f"{seq:04d}-{sender}-"
    room = MAX_FILE_NAME_BYTES - len(start.encode("utf-8")) - len(".md")
    return f"{start}{slug(title, max_bytes=room)}.md"


def fault_of_session(text: str) -> str | None:
    """Returns what is wrong with a session's id, or None when nothing is: 1 to 64 ASCII letters, digits, - and _."""
    plain = text.isascii() and text.replace("-", "").replace("_", "").isalnum()
    return None if plain and len(text) <= 64 else "it must have 1 to 64 of A-Z a-z 0-9 - _, and a letter or digit"


def quoted(text: str, *, limit: int = 60) -> str:
    """Returns a text as it may stand in a one-line message: quoted, escaped and cut, without the secret of a token."""
    if len(text) <= limit:
        return repr(text)
    return repr(without_secrets(text)[:limit] + "…")


def without_secrets(text: str) -> str:
    """Returns a text without the secrets of tokens: the digits after a dot, where there are as many as in a secret."""
    head, *parts = text.split(".")
    return ".".join((head, *("…" + part[64:] if _begins_as_secret(part) else part for part in parts)))


def _begins_as_secret(text: str) -> bool:
    return len(text) >= 64 and not text[:64].strip("0123456789abcdef")
