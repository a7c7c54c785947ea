"""What persons decided about a root, a line each: who, as which user, when, what was and what is."""

from __future__ import annotations

from agent_chat.records import json_codec
from agent_chat.records.value import Value

ACCESS = "access"
RETENTION = "retention"
CHANNEL = "channel"


class Entry(Value):
    """One decision, at a time in ISO 8601 in UTC, by a person as a user of the operating system.

    `what` is what was decided about, `channel` the one that it was about, "" for the whole root. `was` and `now` are
    values of JSON. `failed` says why what was decided did not come about; then `now` is what stands all the same.
    """

    at: str
    who: str
    account: str
    what: str
    was: object
    now: object
    channel: str = ""
    failed: str = ""


def render(entry: Entry) -> bytes:
    """Returns the line of an entry: a JSON object, so that no name or reason can make two lines of it."""
    fields: dict[str, object] = {"at": entry.at, "who": entry.who, "account": entry.account, "what": entry.what}
    if entry.channel:
        fields["channel"] = entry.channel
    fields |= {"was": entry.was, "is": entry.now}
    if entry.failed:
        fields["failed"] = entry.failed.encode("utf-8", "backslashreplace").decode("utf-8")
    return (json_codec.encode(fields) + "\n").encode("utf-8")
