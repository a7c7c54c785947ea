"""How messages look as text: one header line at column 0, the body indented below it, audit messages as one line each.

The header ends with what it takes to answer; everything before that is other people's text, made safe.
"""

from __future__ import annotations

from agent_chat.cli.output import to_json
from agent_chat.records.message import to_json as message_json
from agent_chat.records.shown_text import safe_block, safe_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping, Sequence

    from agent_chat.storage.message_store import Stored

# Longer runs of audit messages are told in one line.
AUDIT_RUN = 10
SNIPPET_CHARACTERS = 200


def short_time(created: str) -> str:
    """Returns a creation time without seconds and with Z for UTC, or as it is when it has another form."""
    if created[10:11] == "T" and created.endswith("+00:00"):
        return safe_line(f"{created[:10]} {created[11:16]}Z")
    return safe_line(created)


def heading(stored: Stored, channel: str, *, by_file: bool = False, alone: bool = False) -> str:
    """Returns the header line of a message; shown `alone` it names the session that it comes from, and no refs."""
    message = stored.message
    to = ", ".join(message.to) if message.to else "all"
    parts = [f"#{message.seq} {message.sender} -> {to}", safe_line(message.title), short_time(message.created)]
    if message.reply_to is not None:
        parts.append(f"re #{message.reply_to}")
    if message.status:
        parts.append(safe_line(message.status))
    if message.topic:
        parts.append(f"topic {safe_line(message.topic)}")
    if alone and message.session and not stored.unverified:
        whose = f"session {message.session}, connection {message.connection}, user {message.account}"
        parts.append(safe_line(whose))
    if stored.unverified:
        parts.append(_doubted(stored))
    if message.refs and not alone:
        parts.append(safe_line(" ".join(map(_short, message.refs))))
    answer = safe_line(stored.file) if by_file else str(message.seq)
    parts.append(f"post {channel} --reply {answer}")
    return " | ".join(part for part in parts if part)


def _short(ref: str) -> str:
    """Returns a ref without its hash."""
    from agent_chat.records.ref import short

    return short(ref)


def block(stored: Stored, channel: str, *, by_file: bool = False) -> str:
    """Returns a whole message as text: header line and indented body; an audit message is one line."""
    if stored.message.is_audit:
        return audit_line(stored)
    body = stored.message.body
    return heading(stored, channel, by_file=by_file) + "\n" + (safe_block(body) if body else "")


def shown_alone(stored: Stored, channel: str, refs: Sequence[Mapping[str, str]], *, by_file: bool = False) -> str:
    """Returns a message as `show` has it, an audit message too: header, a line for how each ref stands, body."""
    lines = [heading(stored, channel, by_file=by_file, alone=True)]
    for ref in refs:
        why = f" ({ref['reason']})" if "reason" in ref else ""
        lines.append(safe_line(f"ref {ref['state']}{why}: {_short(ref['ref'])}"))
    body = stored.message.body
    return "\n".join(lines) + "\n" + (safe_block(body) if body else "")


def audit_line(stored: Stored) -> str:
    """Returns an audit message as its one line."""
    message = stored.message
    return f"#{message.seq} {message.sender}{doubt(stored)}: {safe_line(message.title)}\n"


def doubt(stored: Stored) -> str:
    """Returns what follows a sender's name: nothing, or the session that the message is not known to come from."""
    return f" ({_doubted(stored)})" if stored.unverified else ""


def _doubted(stored: Stored) -> str:
    return f"unverified session {safe_line(stored.message.session or stored.message.connection)}"


def blocks(items: Sequence[Stored], channel: str, doubled: Container[int] = ()) -> str:
    """Returns several messages as text; more than ten audit messages in a row become one line.

    Where several messages carry a number, as `doubled` tells, a file name is what answers.
    """
    parts: list[str] = []
    run: list[Stored] = []
    for stored in items:
        if stored.message.is_audit:
            run.append(stored)
            continue
        parts.append(_audit_run(run))
        run = []
        parts.append(block(stored, channel, by_file=stored.message.seq in doubled))
    parts.append(_audit_run(run))
    return "".join(parts)


def _audit_run(run: Sequence[Stored]) -> str:
    if len(run) <= AUDIT_RUN:
        return "".join(map(audit_line, run))
    statuses = ", ".join(sorted({safe_line(stored.message.status) for stored in run}))
    doubted = sum(stored.unverified for stored in run)
    doubt = f", {doubted} of unverified sessions" if doubted else ""
    return f"#{run[0].message.seq}-#{run[-1].message.seq} {len(run)} audit messages ({statuses}){doubt}\n"


def snippets(items: Sequence[Stored], words: Sequence[str], channel: str, doubled: Container[int] = ()) -> str:
    """Returns found messages, each as its header line and the first line of the body that holds one of the words."""
    return "".join(_snippet(stored, words, channel, by_file=stored.message.seq in doubled) for stored in items)


def _snippet(stored: Stored, words: Iterable[str], channel: str, *, by_file: bool) -> str:
    head = heading(stored, channel, by_file=by_file)
    needles = [word.casefold() for word in words]
    for line in stored.message.body.split("\n"):
        folded = line.casefold()
        if any(needle in folded for needle in needles):
            shown = safe_line(line.strip())
            cut = shown if len(shown) <= SNIPPET_CHARACTERS else shown[:SNIPPET_CHARACTERS] + "…"
            return f"{head}\n  {cut}\n"
    return head + "\n"


def text_size(stored: Stored) -> int:
    """Returns how many bytes a message takes in a page of text."""
    return len(block(_at_worst(stored), stored.file).encode("utf-8", "backslashreplace"))


def json_size(stored: Stored) -> int:
    """Returns how many bytes a message takes in a page of JSON."""
    return len(to_json(message_json(stored.message, stored.file, unverified=True)).encode("utf-8"))


def _at_worst(stored: Stored) -> Stored:
    """Returns a message in its longest form: whether it comes from its session is looked into on the way out."""
    message = stored.message
    return stored.replace(unverified=True) if message.session or message.connection else stored
