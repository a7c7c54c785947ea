"""A chat root in a temporary folder: commands in the test's own process, files planted by hand, and what is there."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, Any

from tests.support.processes import Done, call

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from agent_chat.storage.workspace import Workspace

CREATED = '"2025-01-01T00:00:00+00:00"'


class Root:
    """One root."""

    def __init__(self, path: Path, variables: Mapping[str, str] | None = None) -> None:
        self.path = path
        self.variables = {"AGENT_CHAT_ROOT": str(path), "HOME": str(path.parent), **(variables or {})}

    def run(self, *arguments: str, workspace: Workspace | None = None, timeout: float = 10.0) -> Done:
        """Runs a command; one that crashes fails the test that runs it."""
        done = call(arguments, self.variables, workspace=workspace, timeout=timeout)
        assert done.status != 70, done
        assert "Traceback" not in done.err, done
        return done

    def must(self, *arguments: str) -> Done:
        """Runs a command that has to succeed."""
        done = self.run(*arguments)
        assert done.status == 0, done
        return done

    def post(self, title: str, *, sender: str = "alice", channel: str = "dev", body: str | None = None) -> int:
        """Posts a message and returns its number."""
        text = ["--body", body] if body is not None else []
        return int(self.must("post", channel, "--from", sender, "--title", title, *text, "--json").json["seq"])

    def read(self, agent: str = "bob", *options: str, channel: str = "dev") -> dict[str, Any]:
        """Reads all that is new for an agent, page after page, as one reply."""
        reply = self.must("read", channel, "--as", agent, "--json", *options).json
        while reply["has_more"] and not reply.get("held") and "--peek" not in options:
            page = self.must("read", channel, "--as", agent, "--json", *options).json
            reply = {**page, "messages": reply["messages"] + page["messages"]}
        return reply

    def titles(self, agent: str = "bob", *options: str) -> list[str]:
        """Reads all that is new for an agent and returns the titles."""
        return [message["title"] for message in self.read(agent, *options)["messages"]]

    def doctor(self, *options: str) -> dict[str, list[dict[str, str]]]:
        """Runs the doctor and returns its findings by the name of the file that each is about."""
        done = self.run("doctor", *options, "--json")
        found: dict[str, list[dict[str, str]]] = {}
        for finding in done.json["findings"]:
            found.setdefault(os.path.basename(finding["path"]), []).append(finding)
        assert done.status == bool(found)
        return found

    def channel(self, name: str = "dev") -> Path:
        """The folder of a channel."""
        return self.path / name

    def cursor(self, agent: str = "bob", channel: str = "dev") -> int:
        """The number in an agent's cursor file."""
        return int((self.path / channel / ".cursors" / f"{agent}.txt").read_text().split()[0])

    def plant(self, name: str, data: bytes | str, *, channel: str = "dev", age: float = 3600.0) -> Path:
        """Writes a file into a channel as another program would, and makes it `age` seconds old."""
        path = self.path / channel / name
        path.write_bytes(data.encode() if isinstance(data, str) else data)
        age_file(path, age)
        return path


def make_root(path: Path, channel: str = "dev") -> Root:
    """Makes a root with one channel."""
    root = Root(path)
    root.must("init", channel)
    return root


def message_text(seq: int, sender: str = "alice", title: str = "by hand", body: str = "text\n") -> str:
    """A message file as a person would write it."""
    return f'---\nseq: {seq}\nfrom: {sender}\ntitle: "{title}"\ncreated: {CREATED}\n---\n{body}'


def age_file(path: Path, seconds: float) -> None:
    """Makes a file look as if it was last written `seconds` ago."""
    now = os.stat(path.parent).st_mtime
    os.utime(path, (now - seconds, now - seconds))


def tree(folder: Path) -> dict[str, tuple[int, bytes]]:
    """What lies in a folder: each path with its mode, and its bytes, or where a link points to."""
    found: dict[str, tuple[int, bytes]] = {}
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        data = b""
        if stat.S_ISLNK(status.st_mode):
            data = os.fsencode(os.readlink(path))
        elif stat.S_ISREG(status.st_mode):
            data = path.read_bytes()
        found[path.relative_to(folder).as_posix()] = (status.st_mode, data)
    return found
