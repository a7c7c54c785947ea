"""While the owner has switched chat off: what is closed, what goes on, and that it is all there again afterwards."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agent_chat.cli import standard_input, terminal
from agent_chat.cli.commands import COMMANDS
from tests.cli.json_calls import CALLS, LONG_AGO, make_root, prepare, variables_of
from tests.support.cli import FakeClock, FaultyFiles, Result, plant, run, tree_of, workspace_on
from tests.support.persons import seat

if TYPE_CHECKING:
    from pathlib import Path

OFF = '{"schema_version": 1, "access": "off", "retention_days": 14}'
SPEAKING = {row.name for row in COMMANDS if row.speaks}
CLOSED = [*"post read wait peek show thread search inbox state compact".split(), "event post", "event read"]
OPEN = "init channels roster join leave ack claim lock unlock recover recover-pending check locks doctor owner".split()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return make_root(tmp_path / "root")


def call(root: Path, *words: str) -> Result:
    return run(words, root, environment=variables_of(root, words))


def test_what_is_closed_is_what_shows_or_publishes_text() -> None:
    assert set(CLOSED) <= SPEAKING
    assert not SPEAKING.intersection(OPEN)


@pytest.mark.usefixtures("seated")
@pytest.mark.parametrize("name", CALLS)
def test_while_chat_is_off_a_command_works_or_is_refused_and_changes_nothing(root: Path, name: str) -> None:
    words = prepare(root, name)
    plant(root / "_owner.json", OFF)
    before = tree_of(root)
    done = call(root, *words, "--json")
    if name in SPEAKING:
        assert (done.status, done.code) == (2, "ACCESS_DISABLED")
        assert tree_of(root) == before
    else:
        assert done.status == 0 or name in LONG_AGO, done


@pytest.mark.parametrize("name", sorted(SPEAKING))
def test_settings_that_cannot_be_read_close_what_the_switch_closes(root: Path, name: str) -> None:
    plant(root / "_owner.json", "{")
    assert call(root, *CALLS[name], "--json").code == "OWNER_SETTINGS_INVALID"
    clock = FakeClock()
    files = FaultyFiles(str(root), clock, at=1, code=13, only=("read_file",), where="_owner.json")
    workspace = workspace_on(root, clock=clock, files=files)
    assert run([*CALLS[name], "--json"], root, workspace=workspace).code == "IO_ERROR"


def test_channels_show_no_last_message_while_it_is_off(root: Path) -> None:
    assert [each["last"]["seq"] for each in call(root, "channels", "--json").json["channels"]] == [2, 1]
    plant(root / "_owner.json", OFF)
    done = call(root, "channels", "--json")
    assert [(each["messages"], each["last"]) for each in done.json["channels"]] == [(2, None), (1, None)]
    assert "last" not in call(root, "channels").stdout


def test_channels_show_no_last_message_where_the_switch_cannot_be_read(root: Path) -> None:
    plant(root / "_owner.json", "{")
    done = call(root, "channels", "--json")
    assert (done.status, done.code) == (2, "OWNER_SETTINGS_INVALID")
    assert [each["last"] for each in done.json["channels"]] == [None, None]


@pytest.mark.usefixtures("seated")
def test_what_was_there_is_there_again(root: Path) -> None:
    before = call(root, "peek", "dev").stdout
    for value in ("off", "on"):
        assert call(root, "owner", "access", value, "--as", "carol").status == 0
    assert call(root, "peek", "dev").stdout == before


# -- the commands ------------------------------------------------------------------------------------------------------


def test_settings_are_shown_to_anybody(root: Path) -> None:
    assert call(root, "owner").stdout == f"chat is on in root {root} (variable)\nmessages stay\n"
    plant(root / "_owner.json", '{"schema_version": 1, "access": "off", "retention_days": 3}')
    assert call(root, "owner").stdout == f"chat is off in root {root} (variable)\nmessages go after 3 days\n"
    plant(root / "_owner.json", "{")
    assert call(root, "owner", "--json").code == "OWNER_SETTINGS_INVALID"


def test_showing_makes_no_root(tmp_path: Path) -> None:
    assert run(["owner", "--json"], tmp_path / "none").code == "ROOT_NOT_FOUND"
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize(
    ("words", "question", "days"),
    [
        ((), "type 14 to remove messages that are older than 14 days in {root}: ", 14),
        (("30",), "type 30 to remove messages that are older than 30 days in {root}: ", 30),
        (("007",), "type 7 to remove messages that are older than 7 days in {root}: ", 7),
        (("36500",), "type 36500 to remove messages that are older than 36500 days in {root}: ", 36500),
        (("off",), "type off to keep all messages in {root}: ", None),
    ],
)
def test_a_term_is_14_days_unless_it_is_named(
    root: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], question: str, days: int | None
) -> None:
    asked = seat(monkeypatch)
    done = call(root, "owner", "retention", *words, "--as", "carol", "--json")
    assert (done.json["retention_days"], asked) == (days, [question.format(root=root)])


@pytest.mark.parametrize("word", ["0", "36501", "-1", "1.5", "two", "", "9" * 5000, "١٤", "on"])
def test_no_other_word_is_a_term(root: Path, monkeypatch: pytest.MonkeyPatch, word: str) -> None:
    asked = seat(monkeypatch)
    done = call(root, "owner", "retention", "--as", "carol", "--json", "--", word)
    assert (done.code, asked) == ("USAGE", [])


@pytest.mark.parametrize("words", [("owner", "access", "off"), ("owner", "retention"), ("channel", "delete", "dev")])
def test_a_damaged_file_or_a_missing_channel_is_told_before_anybody_types(
    root: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    asked = seat(monkeypatch)
    plant(root / "_owner.json", "{")
    (root / "dev").rename(root / "elsewhere")
    done = call(root, *words, "--as", "carol", "--json")
    assert (done.code in ("OWNER_SETTINGS_INVALID", "CHANNEL_NOT_FOUND"), asked) == (True, [])
    assert (root / "_owner.json").read_text() == "{"


def test_without_a_name_nobody_acts(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert seat(monkeypatch) == []
    assert call(root, "owner", "access", "off", "--json").code == "AGENT_MISSING"


def test_the_next_step_after_a_wrong_word_is_the_call_again(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seat(monkeypatch, "no", "no", "no")
    for words in (
        ("owner", "access", "off", "--as", "carol"),
        ("owner", "retention", "3", "--as", "carol"),
        ("channel", "delete", "dev", "--as", "carol"),
    ):
        error = call(root, *words, "--json").json["error"]
        assert (error["code"], error["next"]) == ("ACCESS_NOT_CONFIRMED", " ".join(("agent-chat", *words)))


def test_a_channel_that_is_gone_already_leaves_nothing(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seat(monkeypatch)
    plant(root / ".deleted-1" / "0001-alice-m.md")
    done = call(root, "channel", "delete", "dve", "--as", "carol", "--json")
    assert done.code == "CHANNEL_NOT_FOUND"
    assert "what was left of a deleted one is removed" in done.json["error"]["message"]
    assert not (root / ".deleted-1").exists()


def test_it_is_said_that_git_keeps_what_was_committed(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (root.parent / ".git").mkdir()
    (asked,) = (seat(monkeypatch),)
    done = call(root, "channel", "delete", "dev", "--as", "carol")
    kept = f"git keeps what was committed in {root.parent}"
    assert done.stdout == f"deleted dev with 2 messages; {kept}\n"
    assert asked == [f"type dev to delete it with 2 messages and all else in it; {kept}: "]


def test_in_a_test_nobody_is_at_a_terminal_by_chance() -> None:
    assert terminal.missing() == "standard input"


def test_a_post_whose_body_came_after_the_switch_is_not_published(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def body(_: object) -> str:
        """It is typed for so long that chat is switched off meanwhile."""
        plant(root / "_owner.json", OFF)
        return "text"

    monkeypatch.setattr(standard_input, "body", body)
    messages = sorted((root / "dev").glob("*.md"))
    assert call(root, "post", "dev", "--from", "bob", "--title", "t", "--json").code == "ACCESS_DISABLED"
    assert sorted((root / "dev").glob("*.md")) == messages
