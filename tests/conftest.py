"""What holds for every test: the Hypothesis profile, and an environment that is nobody's own."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

pytest.register_assert_rewrite("tests.support")

from agent_chat.storage import workspace  # noqa: E402
from tests.support import persons, tally, verdicts, watched  # noqa: E402 - after its assertions are seen to

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator
    from typing import Any

# A real file system on a busy machine is slow now and then; that is no property of the code under test.
_CALM = [HealthCheck.too_slow]
settings.register_profile("dev", deadline=None, suppress_health_check=_CALM, max_examples=50)
settings.register_profile("ci", deadline=None, suppress_health_check=_CALM, derandomize=True, print_blob=True)
settings.register_profile(
    "nightly",
    deadline=None,
    suppress_health_check=_CALM,
    max_examples=2000,
    stateful_step_count=100,
    print_blob=True,
)
watched.install(verdicts.judge)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if os.environ.get("CI") else "dev"))


@pytest.fixture(scope="session", autouse=True)
def environment_of_nobody(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keeps the root, name and token of whoever runs the tests out of them, and their home folder untouched."""
    home = str(tmp_path_factory.mktemp("home"))
    with pytest.MonkeyPatch.context() as patch:
        for name in list(os.environ):
            if name.startswith("AGENT_CHAT_") or name in ("NO_COLOR", "FORCE_COLOR"):
                patch.delenv(name)
        patch.setenv("HOME", home)
        patch.setenv("USERPROFILE", home)
        patch.setattr(workspace, "user_name", lambda: "you")
        # Child processes share one cache of compiled modules that is nobody's own, as an installed program has one.
        patch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
        patch.setenv("PYTHONPYCACHEPREFIX", str(tmp_path_factory.mktemp("bytecode")))
        yield


@pytest.fixture
def seated(monkeypatch: pytest.MonkeyPatch) -> None:
    """A person sits at a terminal, and types what is asked for."""
    persons.seat(monkeypatch)


def _held_to_the_schemas() -> Generator[None, None, None]:
    """Fails where the program broke a schema, also if nobody noticed: it catches what is raised in it."""
    try:
        yield
    finally:
        verdicts.require_none()


# What makes a test ready, the test, and what it leaves are each looked at.
pytest_runtest_setup = pytest.hookimpl(wrapper=True)(_held_to_the_schemas)
pytest_runtest_call = pytest.hookimpl(wrapper=True)(_held_to_the_schemas)
pytest_runtest_teardown = pytest.hookimpl(wrapper=True)(_held_to_the_schemas)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Hands what a worker counted to the process that started it."""
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["tally"], output["schemas"] = dict(tally.COUNTED), dict(verdicts.JUDGED)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Adds up what the workers counted."""
    output = getattr(node, "workeroutput", {})
    tally.COUNTED.update(output.get("tally", {}))
    verdicts.JUDGED.update(output.get("schemas", {}))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Prints how much the crash lane looked at, if it was run, and how much was held against the schemas."""
    if tally.COUNTED:
        terminalreporter.write_line(tally.summary())
    if verdicts.JUDGED:
        terminalreporter.write_line(verdicts.summary())
