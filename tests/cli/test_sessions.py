"""Sessions as callers see them: who acts under a token, what is shown of it, and what a bad one is answered with."""

from __future__ import annotations

import json
import os
import shlex
from typing import TYPE_CHECKING, Any, Callable

import pytest

from tests.cli import json_calls
from tests.support.cli import message_file, plant, run, tree_of
from tests.support.tokens import plant_session, secret_of, session

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.cli import Result

SECRET = secret_of(1).hex()
posix = pytest.mark.skipif(os.name == "nt", reason="links, pipes and modes of POSIX")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return json_calls.make_root(tmp_path / "root")


def under(root: Path, token: str, *argv: str, **variables: str) -> Result:
    return run(argv, root, environment={"AGENT_CHAT_TOKEN": token, **variables})


def start(root: Path, *argv: str, token: str = "") -> dict[str, Any]:
    result = under(root, token, "session", "start", *argv, "--json")
    assert result.status == 0, result
    return result.json


# -- connections -------------------------------------------------------------------------------------------------------


def test_sessions_share_a_connection_if_one_was_started_under_the_other(root: Path) -> None:
    first, other = start(root, "--as", "bob"), start(root, "--as", "bob")
    child = start(root, "--as", "carol", token=first["token"])["session"]
    own = first["session"]
    assert (child["connection"], child["parent"], child["agent"]) == (own["connection"], own["id"], "carol")
    assert other["session"]["connection"] != own["connection"]
    assert len({each["id"] for each in (own, other["session"], child)}) == 3


@pytest.mark.parametrize("ended", [None, 5.0])
def test_a_session_keeps_connection_and_taint_of_the_token_even_of_an_ended_one(
    root: Path, ended: float | None
) -> None:
    token = plant_session(root, taint="RESTRICTED", ended=ended)
    made = start(root, token=token)["session"]
    assert (made["connection"], made["taint"]) == (session().connection, "RESTRICTED")
    assert (made["agent"], made["parent"], made["ended"]) == ("bob", session().id, None)


# -- the token is shown once -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", json_calls.CALLS)
@pytest.mark.parametrize("form", [[], ["--json"]], ids=["text", "json"])
def test_no_command_shows_or_stores_the_token_that_it_runs_under(root: Path, name: str, form: list[str]) -> None:
    token = plant_session(root)
    for variables in ({}, {"AGENT_CHAT_DEBUG": "1"}):
        for argv in ((*json_calls.CALLS[name], *form), (token, *form)):
            result = under(root, token, *argv, **variables)
            assert SECRET[:40] not in result.stdout + result.stderr, result
    for path, (_, data) in tree_of(root).items():
        assert SECRET.encode() not in data, path


def test_a_token_that_is_typed_by_mistake_is_not_echoed(root: Path) -> None:
    token = plant_session(root)
    for argv in (
        ("session", "show", token),
        ("session", "end", token),
        ("post", "dev", "--from", token, "--title", "t"),
        ("peek", token),
        ("show", "dev", token),
        ("read", "dev", "--as", "bob", "--skip-from", token),
        ("roster", "dev", token),
        ("task", "show", "work", token),
        ("post", "dev", "--from", "bob", "--title", "t", "--topic", token),
        ("post", "dev", "--from", "bob", "--title", "t", "--ref", token),
        ("hook", token),
    ):
        for form in ((), ("--json",)):
            result = run((*argv, *form), root)
            assert SECRET[:8] not in result.stdout + result.stderr, result
    assert run(("session", "show", token), root).code == "SESSION_NOT_FOUND"


def test_a_bug_shows_no_secret_in_its_traceback(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> bool:
        raise RuntimeError("of ours")

    monkeypatch.setattr("agent_chat.records.token.has_secret", broken)
    result = under(root, plant_session(root), *json_calls.CALLS["post"], AGENT_CHAT_DEBUG="1")
    assert (result.status, "Traceback" in result.stderr, SECRET[:8] in result.stderr) == (70, True, False)


# -- who acts ----------------------------------------------------------------------------------------------------------

# session start alone takes another's name: that is how a helper gets a session of its own. Under a token nobody is a
# person, whatever the name.
OF_PERSONS = ("owner access", "owner retention", "channel delete")
NAMING = [name for name, argv in json_calls.CALLS.items() if {"--as", "--from"} & {*argv}]
ACTING = [name for name in NAMING if name not in ("session start", *OF_PERSONS)]
SPELLINGS = ("--as", "--from", "--owner", "--actor", "--created-by")


@pytest.mark.parametrize("name", ACTING)
def test_nobody_acts_under_anothers_token_by_any_spelling(root: Path, name: str) -> None:
    argv = list(json_calls.CALLS[name])
    at = next(place for place, word in enumerate(argv) if word in ("--as", "--from"))
    token = plant_session(root, agent="zoe")
    met = 0
    for spelling in SPELLINGS:
        argv[at] = spelling
        before = tree_of(root)
        result = under(root, token, *argv)
        field = spelling in ("--owner", "--created-by") and result.code != "SESSION_IDENTITY"
        assert field or (result.status, result.code) == (2, "SESSION_IDENTITY"), result
        met += not field
        if not field:
            assert tree_of(root) == before
    assert met >= 3


@pytest.mark.parametrize("name", ACTING)
def test_a_bad_token_is_refused_by_whatever_acts_and_nothing_changes(root: Path, name: str) -> None:
    ended = plant_session(root, ended=1.0)
    for token in (ended, f"{ended[:-1]}0", "x", SECRET, f"../{ended}", "\udcff", f"{ended} "):
        before = tree_of(root)
        result = under(root, token, *json_calls.CALLS[name])
        assert (result.status, result.code[:7]) == (2, "SESSION"), result
        assert tree_of(root) == before


@pytest.mark.parametrize("name", OF_PERSONS)
def test_a_person_has_no_token_good_or_bad(root: Path, name: str) -> None:
    for token in (plant_session(root), plant_session(root, ended=1.0), "x"):
        before = tree_of(root)
        assert under(root, token, *json_calls.CALLS[name]).code == "ACCESS_NOT_A_PERSON"
        assert tree_of(root) == before


def test_the_name_in_the_environment_is_ignored_under_a_token(root: Path) -> None:
    token = plant_session(root)
    result = under(root, token, "post", "dev", "--title", "t", "--json", AGENT_CHAT_NAME="alice")
    assert run(("show", "dev", str(result.json["seq"]), "--json"), root).json["message"]["from"] == "bob"


@pytest.mark.parametrize("who", ["bob", "a; touch x", "", "--help"])
def test_a_stale_token_is_answered_with_a_command_that_works(root: Path, who: str) -> None:
    token = plant_session(root)
    (root / "_sessions" / f"{session().id}.json").unlink()
    refused = under(root, token, "post", "dev", f"--from={who}", "--title", "t", "--json")
    words = shlex.split(refused.error["next"])
    assert (refused.code, words[:4]) == ("SESSION_UNKNOWN", ["agent-chat", "session", "start", "--as"])
    again = under(root, token, *words[1:], "--json")
    assert again.status == 0, again
    name = again.json["session"]["agent"]
    assert name == ("bob" if who == "bob" else "NAME")
    assert under(root, again.json["token"], "post", "dev", "--title", "t").status == 0


def test_a_stale_token_keeps_nobody_from_starting_a_session_in_a_new_root(tmp_path: Path) -> None:
    token = plant_session(tmp_path / "one")
    result = under(tmp_path / "other", token, "session", "start", "--as", "bob", "--json")
    assert result.status == 0, result
    assert result.json["session"]["connection"] != session().connection


def test_an_ended_token_is_refused_and_ended_once(root: Path) -> None:
    token = plant_session(root)
    assert under(root, token, "session", "end").status == 0
    for argv in (("session", "end"), ("session", "show"), ("post", "dev", "--title", "t")):
        assert under(root, token, *argv).code == "SESSION_ENDED"
    shown = run(("session", "show", session().id, "--json"), root).json["session"]
    assert shown["ended"] is not None


# -- leases ------------------------------------------------------------------------------------------------------------


def test_what_a_session_holds_is_released_by_it_or_by_the_fence_alone(root: Path, tmp_path: Path) -> None:
    mine, twin = plant_session(root), plant_session(root, 2)
    tree = {"AGENT_CHAT_WORKSPACE": str(tmp_path)}
    fences = [
        under(root, mine, "task", "claim", "work", "t-1", "--json").json["claim"]["fence"],
        under(root, mine, "lock", "work", "a.py", "--json", **tree).json["lock"]["fence"],
    ]
    calls = (
        (("task", "renew", "work", "t-1"), ("task", "release", "work", "t-1")),
        (("renew-lock", "work", "a.py"), ("unlock", "work", "a.py")),
    )
    for fence, (renew, release) in zip(fences, calls):
        for call in (renew, release):
            assert under(root, twin, *call, **tree).code.endswith("OWNER_MISMATCH")
            assert run((*call, "--as", "bob"), root, environment=tree).code.endswith("OWNER_MISMATCH")
        assert under(root, mine, *renew, **tree).status == 0
        assert under(root, twin, *renew, "--fence", str(fence), **tree).status == 0
        assert under(root, mine, *release, **tree).status == 0


# -- what is verified --------------------------------------------------------------------------------------------------

NOT_VERIFIED: dict[str, dict[str, str]] = {
    "no such session": {"session": "nobody", "connection": f'"{session().connection}"'},
    "another connection": {"session": session().name, "connection": f'"{session(2).connection}"'},
    "no such connection": {"session": session().name, "connection": '"0000000000000000"'},
    "no connection": {"session": session().name},
    "a connection alone": {"connection": f'"{session().connection}"'},
    "another agent's": {"session": session(2, "alice").name, "connection": f'"{session(2).connection}"'},
    "no place in the root": {"session": "x", "connection": '"../../etc"'},
}


def shown(root: Path, seq: str, *, as_json: bool) -> list[Any]:
    """What each command that shows messages says of one."""
    calls: list[tuple[str, ...]] = [
        ("read", "dev", "--as", "carol", "--all", "--peek"),
        ("wait", "dev", "--as", "carol", "--after", "0", "--timeout", "0"),
        ("wait", "dev", "work", "--as", "carol", "--after", "0", "--timeout", "0"),
        ("watch", "dev", "--as", "carol", "--after", "0", "--timeout", "0"),
        ("peek", "dev", "-n", "50"),
        ("show", "dev", seq),
        ("thread", "dev", seq),
        ("search", "dev", "marked"),
    ]
    found = []
    for argv in calls:
        result = run((*argv, *(["--json"] if as_json else [])), root)
        assert result.status in (0, 1), result
        if not as_json:
            lines = [line for line in result.stdout.split("\n") if line.startswith(f"#{seq} ")]
            found.append("unverified session" in lines[0])
            continue
        documents = [json.loads(line) for line in result.stdout.split("\n") if line]
        every = [each for doc in documents for each in doc.get("messages", [doc.get("message", doc)])]
        found.append(next(each["verified"] for each in every if each.get("seq") == int(seq)))
    return found


@pytest.mark.parametrize("status", ["", "task.created"])
@pytest.mark.parametrize("why", NOT_VERIFIED)
def test_a_message_that_its_session_does_not_vouch_for_is_marked_wherever_it_is_shown(
    root: Path, why: str, status: str
) -> None:
    plant_session(root)
    plant_session(root, 2, "alice")
    fields = {**NOT_VERIFIED[why], **({"status": status} if status else {})}
    plant(root / "dev" / "0900-bob-m.md", message_file(900, "bob", "marked", **fields))
    assert shown(root, "900", as_json=True) == [False] * 8
    assert shown(root, "900", as_json=False) == [True] * 8


def test_a_message_of_a_session_is_verified_wherever_it_is_shown_also_when_that_has_ended(root: Path) -> None:
    token = plant_session(root)
    seq = str(under(root, token, "post", "dev", "--title", "marked", "--json").json["seq"])
    assert shown(root, seq, as_json=True) == [True] * 8
    assert under(root, token, "session", "end").status == 0
    assert shown(root, seq, as_json=True) == [True] * 8
    assert shown(root, seq, as_json=False) == [False] * 8


def test_a_long_run_of_audit_messages_says_how_many_are_unverified(root: Path) -> None:
    for seq in range(900, 912):
        more = {"session": "nobody"} if seq < 903 else {}
        plant(root / "dev" / f"{seq:04d}-bob-m.md", message_file(seq, "bob", status="task.created", **more))
    text = run(("peek", "dev", "-n", "12"), root).stdout
    assert (
        text.splitlines(keepends=True)[-1] == "#900-#911 12 audit messages (task.created), 3 of unverified sessions\n"
    )


# -- damaged records ---------------------------------------------------------------------------------------------------


def _later(path: Path) -> None:
    path.write_text(path.read_text("utf-8").replace('"schema_version": 1', '"schema_version": 2'), "utf-8")


def _instead(make: Callable[[Path], object]) -> Callable[[Path], None]:
    def act(path: Path) -> None:
        path.unlink()
        make(path)

    return act


DAMAGES: dict[str, Callable[[Path], object]] = {
    "empty": lambda path: path.write_bytes(b""),
    "no JSON": lambda path: path.write_bytes(b"{"),
    "deep": lambda path: path.write_bytes(b"[" * 500_000),
    "a later version": _later,
    "huge": lambda path: os.truncate(path, 1 << 32),
    "of another": lambda path: path.write_bytes(path.read_bytes().replace(b'-1"', b'-7"')),
    "of another connection": lambda path: path.write_bytes(
        path.read_bytes().replace(b'"connection": "', b'"connection": "0')
    ),
    "a number as name": lambda path: path.write_bytes(path.read_bytes().replace(b'"agent": "bob"', b'"agent": 1')),
    "a folder": _instead(lambda path: path.mkdir()),
    "a pipe": _instead(os.mkfifo),
    "a link": _instead(lambda path: path.symlink_to("/etc/passwd")),
    "a dangling link": _instead(lambda path: path.symlink_to("nowhere")),
}


@posix
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_record_is_told_named_by_the_doctor_and_stops_nobody_else(root: Path, damage: str) -> None:
    token = plant_session(root)
    seq = str(under(root, token, "post", "dev", "--title", "marked", "--json").json["seq"])
    child = start(root, "--as", "zed", token=token)
    path = root / "_sessions" / f"{session().id}.json"
    DAMAGES[damage](path)
    for argv in (("post", "dev", "--title", "t"), ("session", "show"), ("session", "end"), ("session", "start")):
        refused = under(root, token, *argv)
        assert (refused.code, str(path) in refused.stderr) == ("SESSION_INVALID_RECORD", True), refused
    assert run(("session", "show", session().id), root).code == "SESSION_INVALID_RECORD"
    assert shown(root, seq, as_json=True) == [False] * 8
    seen = run(("show", "dev", seq), root)
    assert f"some messages cannot be verified: {path}: " in seen.stderr
    findings = run(("doctor", "--json"), root).json["findings"]
    assert [each["path"] for each in findings if each["id"] == "session.valid"] == [str(path)]
    # Others of the same connection go on.
    posted = under(root, child["token"], "post", "dev", "--title", "marked", "--json")
    assert shown(root, str(posted.json["seq"]), as_json=True) == [True] * 8
    named = run(("session", "start", "--as", "dora", "--name", "x"), root)
    assert (named.status, str(path) in named.stderr) == (0, True)
    assert start(root, token=child["token"])["session"]["id"] == f"{session().connection}-3"


@posix
@pytest.mark.parametrize("kind", ["file", "link", "pipe"])
def test_what_is_no_folder_of_sessions_is_told_and_stops_no_reader(root: Path, kind: str) -> None:
    place = root / "_sessions"
    plant(root / "dev" / "0900-bob-m.md", message_file(900, "bob", "marked", session="x"))
    if kind == "file":
        plant(place)
    elif kind == "link":
        place.symlink_to(root / "dev")
    else:
        os.mkfifo(place)
    assert shown(root, "900", as_json=True) == [False] * 8
    refused = run(("session", "start", "--as", "bob"), root)
    assert (refused.status, refused.code) == (2, "PATH_REFUSED"), refused
    assert [each["path"] for each in run(("doctor", "--json"), root).json["findings"]][:1] == [str(place)]


def test_the_doctor_names_what_is_no_record_and_removes_what_the_dead_left(root: Path) -> None:
    token = plant_session(root)
    folder = root / "_sessions"
    plant(folder / "notes.json")
    plant(folder / "tmp-1", at=1.0)
    found = {(each["id"], os.path.basename(each["path"])) for each in run(("doctor", "--json"), root).json["findings"]}
    assert {("file.foreign", "notes.json"), ("temporary.stale", "tmp-1")} <= found
    fixed = run(("doctor", "--fix", "--json"), root).json
    assert f"removed {folder / 'tmp-1'}" in fixed["fixed"]
    assert (folder / "notes.json").exists()
    assert not (folder / "tmp-1").exists()
    assert under(root, token, "session", "show").status == 0


@posix
@pytest.mark.parametrize("mode", [0o700, 0o770, 0o755])
def test_sessions_follow_the_mode_of_the_root(tmp_path: Path, mode: int) -> None:
    root = tmp_path / "root"
    root.mkdir()
    os.chmod(root, mode)
    start(root, "--as", "bob")
    (record,) = (root / "_sessions").glob("*.json")
    assert (root / "_sessions").stat().st_mode & 0o777 == mode
    assert record.stat().st_mode & 0o777 == mode & 0o666
    assert "_sessions/" in (root / ".gitignore").read_text("utf-8")
