"""docs/format.md has the invariants that the doctor checks, no more and no fewer, and its numbers are true."""

from __future__ import annotations

import re

from agent_chat import names
from agent_chat.operations.findings import INVARIANTS
from agent_chat.records import claim, event, json_codec, path_lock, session, task
from agent_chat.records import message as message_record
from agent_chat.records.claim import Claim
from agent_chat.records.lease import SUSPECT_SECONDS, Lease
from agent_chat.records.locked_path import FILE, LockedPath
from agent_chat.records.path_lock import PathLock
from agent_chat.storage import layout
from tests.support import schemas, tokens
from tests.tidy import tree

PAGE = "docs/format.md"
SEEN = re.compile(r"(?m)^\| `([a-z]+\.[a-z]+)` \| (error|warning) \|")
UNSEEN = re.compile(r"(?m)^\| `([a-z]+\.[a-z]+)` \| (?!error|warning)")
KEY = re.compile(r"(?m)^\| ((?:`\w+`(?:, )?)+) \|")


def test_the_invariants_are_those_of_the_doctor() -> None:
    listed = SEEN.findall(tree.text_of(PAGE))
    assert dict(listed) == {id: severity for id, (severity, _) in INVARIANTS.items()}
    assert len(listed) == len(INVARIANTS)


def test_what_cannot_be_seen_has_ids_of_its_own() -> None:
    unseen = UNSEEN.findall(tree.text_of(PAGE))
    assert len(unseen) > 3
    assert not {*unseen} & {*INVARIANTS}


def keys_of(section: str) -> list[str]:
    """The names in the first column of a section's tables."""
    text = tree.text_of(PAGE).partition(f"\n{section}\n")[2].partition("\n#")[0]
    return [key for cell in KEY.findall(text) for key in re.findall(r"`(\w+)`", cell)]


def test_the_keys_of_a_message_are_there_in_their_order() -> None:
    assert keys_of("### Content") == list(schemas.schemas()["message-header"]["properties"])


def test_the_fields_of_records_are_there_in_their_order() -> None:
    lease = Lease(expires=0.0, granted=0.0)
    one = Claim(task_id="t", channel="c", owner="a", lease=lease, claimed_at=0.0)
    path = LockedPath(normalized_path="a", display_path="a", kind=FILE)
    lock = PathLock(lock_id="0", channel="c", owner="a", paths=(path,), lease=lease, locked_at=0.0)
    assert keys_of("### Tasks") == list(
        task.to_json(task.Task(id="t", channel="c", title="t", created_by="a", updated_at=0.0))
    )
    assert keys_of("### Claims") == list(claim.to_json(one))
    assert keys_of("### Sessions") == list(json_codec.object_of(json_codec.decode(session.render(tokens.session()))))
    assert keys_of("### Path locks") == list(path_lock.to_json(lock))


def test_the_fields_of_an_event_are_there_in_their_order_with_all_words() -> None:
    assert keys_of("## Events") == list(schemas.schemas()["agent-chat-event"]["properties"])
    section = tree.text_of(PAGE).partition("\n## Events\n")[2].partition("\n## ")[0]
    for word in (*event.TYPES, *event.PRIMITIVES, *event.STATUSES):
        assert f"`{word}`" in section, word
    assert f"1 to {event.MAX_NAME_CHARACTERS} characters" in section


def test_a_dot_in_an_owner_is_written_as_the_page_says() -> None:
    assert f"`{claim.file_name('task-1.2', 'j.doe')}`" in tree.text_of(PAGE)
    assert f"and {SUSPECT_SECONDS:.0f} seconds" in tree.text_of(PAGE)


def test_what_git_leaves_alone_and_the_audit_statuses_are_told() -> None:
    text = tree.text_of(PAGE)
    for word in (*layout.IGNORED, *message_record.AUDIT_PREFIXES, *layout.OURS, *layout.OF_THE_OTHER_PROGRAM):
        assert f"`{word}" in text, word


def test_its_numbers_are_those_of_the_code() -> None:
    text = " ".join(tree.text_of(PAGE).split())
    assert f"at most {names.MAX_FILE_NAME_BYTES} bytes" in text
    assert f"at most {names.MAX_NAME_BYTES} bytes in NFC" in text
    assert f"at most {names.SLUG_CHARACTERS} characters" in text
    assert f"at most {message_record.MAX_TITLE_BYTES:,} bytes" in text
    assert f"at most {names.MAX_SEQ:,}" in text
    assert f"more than {message_record.MAX_FILE_BYTES >> 20} MiB is not read" in text
    assert f"at most {message_record.MAX_BODY_BYTES >> 20} MiB of it" in text
