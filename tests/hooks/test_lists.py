"""Hosts, events and what is wired are written down in several places; the lists say the same."""

from __future__ import annotations

import json

import pytest

from agent_chat.cli import host_table
from agent_chat.cli.command import Argument
from agent_chat.hooks import call, hosts
from agent_chat.hooks.call import Call
from agent_chat.operations import wiring
from agent_chat.records import hook_line
from tests.tidy import tree

ROW = next(row for row in host_table.ROWS if row.path == ("hook",))


def test_the_lists_of_hosts_are_one() -> None:
    assert {*hosts.HOSTS} == {*host_table.HOSTS} == {*wiring.HOSTS}


def test_the_lists_of_events_are_one() -> None:
    assert {*call.EVENTS} == {*host_table.EVENTS} == {*hook_line.EVENTS, hook_line.WAIT}
    wired = {event.ours for host in wiring.HOSTS.values() for event in host.events}
    assert wired == {*call.EVENTS} - {hosts.WAIT}


@pytest.mark.parametrize("argument", ROW.options, ids=lambda argument: argument.name)
def test_the_options_of_the_row_are_those_that_a_hook_understands(argument: Argument) -> None:
    value = argument.choices[0] if argument.choices else str(argument.default)
    assert Call(["stop", argument.spellings[0], value], {}).notes == []


def test_the_plugin_wires_what_setup_wires() -> None:
    plugin = json.loads(tree.text_of("hooks/hooks.json"))["hooks"]
    host = wiring.HOSTS["claude"]
    assert [*plugin] == [event.name for event in host.events]
    for event in host.events:
        (group,) = plugin[event.name]
        assert group.get("matcher", "") == event.matcher
        assert [hook["timeout"] for hook in group["hooks"]] == [wiring.SECONDS]
