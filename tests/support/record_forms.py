"""What every record must look like as the program writes it: by its place below the root, its schema and a little more.

The more is what a schema cannot say: that another YAML parser reads the same from a header, that the body of an audit
message is sorted and tells of the same event as its header, and how the lines of an entry's phases follow each other.
"""

from __future__ import annotations

import functools
import json
import re
from typing import Any

import yaml

from agent_chat.records import frontmatter, journal_entry
from agent_chat.records.message import is_audit_status
from tests.support import schemas
from tests.support.watched import ENTRY, MESSAGE, OF_ROOT, TOMBSTONE, UNKNOWN, kind_of

AUDIT_BODY = "audit-body"
EVENT_BODY = "agent-chat-event"
_OPENING, _BLOCK, _BLOCK_END = b"---\n", "```json\n", b"\n```\n"
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def record_faults(place: str, data: bytes) -> list[str]:
    """What is wrong with the bytes that are to stand at a place below the root, a line each."""
    kind = kind_of(place)
    if kind is None:
        return []
    if kind == UNKNOWN:
        return [f"{place}: no schema says what belongs there"]
    try:
        if kind == MESSAGE:
            return [*_message_faults(place, data)]
        if kind == ENTRY:
            return _entry_faults(place, data)
        if kind == TOMBSTONE:
            return _tombstone_faults(data)
        return _file_faults(kind, place, data)
    except (ValueError, yaml.YAMLError) as error:
        return [f"{kind}: {type(error).__name__}: {error}"]


def _file_faults(kind: str, place: str, data: bytes) -> list[str]:
    """A record of its own: canonical JSON, of the channel in whose folder it lies."""
    document = json.loads(data)
    found = schemas.faults(kind, document)
    # What another program wrote of the channel itself is kept; what belongs to the root is of none.
    if not found and kind not in (*OF_ROOT, "channel-meta") and document["channel"] != place.split("/", maxsplit=1)[0]:
        found.append(f"{kind}: its channel is {document['channel']}")
    return found + _form_faults(kind, document, data.decode("utf-8"))


def _tombstone_faults(data: bytes) -> list[str]:
    """What is wrong with the last batch of tombstones; what stands before it may be torn, or anybody's."""
    *_, batch = data.decode("utf-8", "replace").split("\n## ")
    lines = batch.split("\n")
    if lines[1:2] != [""] or lines[-1] or not all(line.startswith("- ") for line in lines[2:-1]):
        return [f"{TOMBSTONE}: its last batch is {batch!r}"]
    return [fault for line in lines[2:-1] for fault in schemas.faults(TOMBSTONE, json.loads(line[2:]))]


def _form_faults(kind: str, document: object, text: str) -> list[str]:
    """JSON of a file has two spaces of indent and a final newline; what ends a line for some readers is escaped."""
    wanted = json.dumps(document, indent=2, ensure_ascii=False) + "\n"
    wanted = wanted.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    return [] if text == wanted else [f"{kind}: its bytes are not the canonical ones: {text[:200]!r}"]


def header_faults(name: str, text: str) -> tuple[dict[str, Any], list[str]]:
    """The values of a header as PyYAML reads them, and what is wrong with them."""
    ours = frontmatter.parse(text).values
    if "was" in ours:
        # What was kept of another writer's header follows the last key of ours, and is as that one wrote it.
        text = re.match(r"(?s).*?^was: [^\n]*\n", text, re.MULTILINE)[0]  # type: ignore[index]
        ours = frontmatter.parse(text).values
    theirs = yaml.load(text, _LOADER)
    found = schemas.faults(name, theirs)
    wanted = {key: list(value) if isinstance(value, tuple) else value for key, value in ours.items()}
    if theirs != wanted or list(map(type, theirs.values())) != list(map(type, wanted.values())):
        found.append(f"{name}: PyYAML reads {theirs!r}, we read {wanted!r}")
    order = list(schemas.schemas()[name]["properties"])
    if sorted(theirs, key=lambda key: order.index(key) if key in order else -1) != list(theirs):
        found.append(f"{name}: its keys stand in another order: {list(theirs)}")
    return theirs, found


@functools.lru_cache(maxsize=1 << 10)  # it stands in its entry, and then under its name
def _message_faults(place: str, data: bytes) -> tuple[str, ...]:
    head, body = frontmatter.split(data)
    if not data.startswith(_OPENING):
        return (f"{MESSAGE}: it begins with {data[:8]!r}",)
    header, found = header_faults("message-header", head)
    number = int(place.rpartition("/")[2].partition("-")[0])
    if not found and header["seq"] != number:
        found.append(f"{MESSAGE}: its name says {number}, its header {header['seq']}")
    text = body.decode("utf-8")
    if text and not text.endswith("\n"):
        found.append(f"{MESSAGE}: its last line has no end")
    # One with another number now is somebody else's, or was looked at when it got its first one.
    if not found and is_audit_status(header.get("status", "")) and "was" not in header:
        found += audit_faults(header, text, place.split("/", maxsplit=1)[0])
    return tuple(found)


def audit_faults(header: dict[str, Any], text: str, channel: str) -> list[str]:
    """What is wrong with an audit message: its body, and how that agrees with the header."""
    body = json.loads(text)
    status = header["status"]
    if status.startswith("event."):
        return schemas.faults(EVENT_BODY, body)
    # The form of its event alone, which the whole schema would have chosen: that takes a tenth of the time.
    found = schemas.faults(AUDIT_BODY, body, form=schemas.form_of_event(body.get("event")))
    if found:
        return found
    wanted = {"event": status, "channel": channel, "transaction_id": header.get("transaction")}
    found += [
        f"{AUDIT_BODY}: {name} is {body.get(name)!r}, not {value!r}"
        for name, value in wanted.items()
        if body.get(name) != value
    ]
    if list(body) != sorted(body):
        found.append(f"{AUDIT_BODY}: its keys are not sorted: {list(body)}")
    about = next(body[key] for key in ("task_id", "lock_id", "transaction_id", "channel") if key in body)
    if header["title"] != f"{status} {about}":
        found.append(f"{AUDIT_BODY}: the title {header['title']!r} does not tell of {status} {about}")
    return found + _form_faults(AUDIT_BODY, body, text)


def _entry_faults(place: str, data: bytes) -> list[str]:
    start, end, phases = data.partition(_BLOCK_END)
    if not end:
        return [f"{ENTRY}: its JSON block has no end"]
    transaction, found = _plan_faults(place.split("/", maxsplit=1)[0], start)
    name = place.rpartition("/")[2]
    kept = f"-kept-{transaction}" in name  # filed as it was found, whatever that is
    return [*found, *phase_faults(phases.decode("utf-8"), filed=name != ".pending.md" and not kept)]


@functools.lru_cache(maxsize=1 << 10)  # the phases are all that changes of an entry
def _plan_faults(channel: str, data: bytes) -> tuple[str, tuple[str, ...]]:
    """The transaction of an entry, and what is wrong with all of it but the phases."""
    head, rest = frontmatter.split(data)
    header, faults = header_faults("journal-header", head)
    text = rest.decode("utf-8")
    if not text.startswith(_BLOCK):
        return "", (*faults, f"{ENTRY}: it has no JSON block")
    block = json.loads(text[len(_BLOCK) :])
    found = [*faults, *schemas.faults("journal-block", block)]
    found += _form_faults("journal-block", block, text[len(_BLOCK) :] + "\n")
    if not found:
        message = block["message"]["text"].encode()
        found += _message_faults(f"{channel}/{block['message']['file']}", message)
        audit = frontmatter.parse(frontmatter.split(message)[0]).values
        if (audit.get("transaction"), audit["from"]) != (header["id"], header["actor"]):
            found.append(f"{ENTRY}: its header tells of another change than its message")
    return str(header.get("id")), tuple(found)


def phase_faults(text: str, *, filed: bool) -> list[str]:
    """What is wrong with the lines of the phases: each at most once, in order; of a filed entry the change is done."""
    *lines, rest = text.split("\n")
    whole = [line for line in lines if not _is_torn(line)]
    order = [*journal_entry.PHASES, journal_entry.RECOVERED]
    steps = [next((step for step in order if line.startswith(step)), line) for line in whole]
    known = [step for step in order if step in steps]
    found = []
    if rest or steps[:1] != [journal_entry.PREPARED] or list(dict.fromkeys(steps)) != known:
        found.append(f"{ENTRY}: its phases are {text!r}")
    elif [step for step in steps if step != journal_entry.RECOVERED] != known[: len(known) - known.count(order[-1])]:
        found.append(f"{ENTRY}: a phase is there twice: {text!r}")
    elif filed and not {journal_entry.PUBLISHED, journal_entry.RECOVERED} & set(steps):
        found.append(f"{ENTRY}: it was filed as {text!r}")
    return found


def _is_torn(line: str) -> bool:
    """Whether a line is what a kill left of one; what comes after it begins a line of its own."""
    left = line.rstrip("\0")
    starts = (*journal_entry.PHASES, journal_entry.RECOVERED)
    return line not in starts and any(start.startswith(left) for start in starts)
