"""Starts the lines by which hosts call our hooks, as the hosts do, and brings back how they ended.

Only `doctor --hosts` starts anything of ours; nothing else is started here. A line that takes too long is ended with
all that it started.
"""

from __future__ import annotations

import os

from agent_chat.operations.host_checks import SECONDS, is_inherited
from agent_chat.records.hook_answer import Ran, first_line
from agent_chat.records.known_line import PLUGIN_ROOT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from subprocess import Popen
    from typing import IO, Any

    from agent_chat.operations.host_checks import Trial

MAX_BYTES = 1 << 16
KILL = 9
MISSING = 127
LEFT_SECONDS = 0.3
OLDEST = (3, 9)
_ASK = "import sys; sys.stdout.write('%d.%d' % sys.version_info[:2])"


class EndedBySignal:
    """A context that a signal to end leaves as Ctrl-C does, so that all is tidied up; then it ends the process."""

    def __enter__(self) -> None:
        import signal

        self._number = 0
        self._before = {
            number: signal.signal(number, self._interrupt)
            for number in (getattr(signal, name, None) for name in ("SIGTERM", "SIGHUP"))
            if number is not None
        }

    def _interrupt(self, number: int, _frame: object) -> None:
        self._number = number
        raise KeyboardInterrupt

    def __exit__(self, *error: object) -> None:
        import signal

        for number, handler in self._before.items():
            signal.signal(number, handler)
        if self._number:
            os.kill(os.getpid(), self._number)


class Runner:
    """Starts lines in a shell; `environment` is that of the process."""

    def __init__(self, environment: Mapping[str, str], seconds: float | None = None) -> None:
        inherited = {name: value for name, value in environment.items() if is_inherited(name)}
        self._inherited = inherited if os.name == "nt" else _encoded(inherited)
        self._seconds = SECONDS if seconds is None else seconds
        self._pythons: dict[str, str] = {}

    def run(self, trial: Trial) -> Ran:
        """Starts a line and returns how it ended."""
        return self._run(trial.line, trial.payload, trial.folder, trial.variables)

    def fault_of_pythons(self, pythons: tuple[str, ...], folder: str) -> str:
        """Returns why none of some interpreters runs our hooks, "" where one does or none is needed."""
        faults = [self._fault_of_python(python, folder) for python in pythons]
        return "; ".join(faults) if all(faults) else ""

    def _fault_of_python(self, python: str, folder: str) -> str:
        if python not in self._pythons:
            ran = self._run(f'{python} -I -S -c "{_ASK}"', b"", folder, {})
            self._pythons[python] = _fault_of_version(python, ran)
        return self._pythons[python]

    def _run(self, line: str, payload: bytes, folder: str, variables: Mapping[str, str]) -> Ran:
        import subprocess

        pipe = subprocess.PIPE
        # The shell of Windows knows no such variables, so it gets the folder, as some hosts do it everywhere.
        whole = line.replace(PLUGIN_ROOT, variables.get("CLAUDE_PLUGIN_ROOT", ""))
        try:
            process = subprocess.Popen(
                whole if os.name == "nt" else ["sh", "-c", _native(line)],
                shell=os.name == "nt",
                stdin=pipe,
                stdout=pipe,
                stderr=pipe,
                cwd=_native(folder),
                env={**self._inherited, **{_native(name): _native(value) for name, value in variables.items()}},
                start_new_session=os.name != "nt",
            )
        except OSError as error:
            return Ran(status=MISSING, errors=f"cannot be started: {error.strerror or error}".encode())
        try:
            return self._talk(process, payload)
        finally:
            if process.poll() is None:
                _end(process)

    def _talk(self, process: Popen[bytes], payload: bytes) -> Ran:
        """Gives a process its input and returns what it wrote, as far as that is kept, once it has ended."""
        import subprocess
        import threading

        written: tuple[list[bytes], list[bytes]] = ([], [])
        threads = [
            threading.Thread(target=_drain, args=(stream, kept), daemon=True)
            for stream, kept in zip((process.stdout, process.stderr), written)
        ]
        threads.append(threading.Thread(target=_feed, args=(process.stdin, payload), daemon=True))
        for thread in threads:
            thread.start()
        try:
            status: int | None = process.wait(self._seconds)
        except subprocess.TimeoutExpired:
            status = None
            _end(process)
        for thread in threads:
            thread.join(LEFT_SECONDS)
        if any(thread.is_alive() for thread in threads):
            _end(process)  # what it left behind holds its pipes open
        return Ran(status=status, output=b"".join(written[0]), errors=b"".join(written[1]))


def _fault_of_version(python: str, ran: Ran) -> str:
    """Returns what is wrong with an interpreter that was asked for its version."""
    if ran.status is None:
        return f"{python} does not answer"
    major, _, minor = ran.output.decode("ascii", "replace").strip().partition(".")
    if ran.status == 0 and major.isdigit() and minor.isdigit():
        return "" if (int(major), int(minor)) >= OLDEST else f"{python} is {major}.{minor}, and 3.9 is needed"
    said = first_line(ran.errors)
    return f"{python} does not start (status {ran.status}{': ' + said if said else ''})"


def _feed(stream: IO[bytes] | None, data: bytes) -> None:
    """Writes to a process and closes its input; one that has ended without reading is no failure."""
    import contextlib

    assert stream is not None
    with contextlib.suppress(BrokenPipeError), stream:
        stream.write(data)


def _drain(stream: IO[bytes] | None, kept: list[bytes]) -> None:
    """Reads all that a process writes, and keeps the beginning."""
    assert stream is not None
    size = 0
    with stream:
        while True:
            part = stream.read1(MAX_BYTES)  # type: ignore[attr-defined]
            if not part:
                return
            if size < MAX_BYTES:
                kept.append(part[: MAX_BYTES - size])
            size += len(part)


def _end(process: Popen[bytes]) -> None:
    """Ends a process and, where there are groups of processes, all that it started."""
    if os.name != "nt":
        import contextlib

        with contextlib.suppress(ProcessLookupError, PermissionError):  # nothing of it is left
            os.kill(-process.pid, KILL)
    if process.poll() is None:
        process.kill()
    process.wait()


def _encoded(variables: Mapping[str, str]) -> dict[Any, Any]:
    """Returns inherited variables as the bytes that they were."""
    return {os.fsencode(name): os.fsencode(value) for name, value in variables.items()}


def _native(text: str) -> Any:
    """Returns a text of ours as the system takes it: in UTF-8, whatever the locale says."""
    return text if os.name == "nt" else text.encode("utf-8", "surrogateescape")
