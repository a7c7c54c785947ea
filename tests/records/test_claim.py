"""Claims as records, and their file names: no two pairs of task and owner share one."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_chat import names
from agent_chat.records.claim import Claim, file_name, is_of, may_be_of, parse, render
from agent_chat.records.lease import Lease
from agent_chat.records.record_fields import INVALID, RecordError
from tests.support.leases import legacy_claim

IDS = st.from_regex(r"[A-Za-z0-9]([A-Za-z0-9_-]|\.(?!\.)){0,6}", fullmatch=True)
AGENTS = st.from_regex(r"[A-Za-z0-9é]([A-Za-z0-9é_-]|\.(?!\.)){0,6}", fullmatch=True).filter(
    lambda name: names.fault_of_name(name) is None
)
INSTANTS = st.integers(0, 253402300799).map(float)
REASONS = st.none() | st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40)
CLAIMS = st.builds(
    Claim,
    task_id=IDS,
    channel=AGENTS,
    owner=AGENTS,
    lease=st.builds(
        Lease,
        expires=INSTANTS,
        granted=INSTANTS,
        seconds=st.none() | st.integers(0, 10**7) | st.floats(0, 1e7),
        boot_id=st.none() | st.just("0b00"),
        boot_expires=st.none() | st.floats(0, 1e9),
    ),
    claimed_at=INSTANTS,
    previous_owner=st.none() | AGENTS,
    previous_lease_expires_at=st.none() | INSTANTS,
    recovery_reason=REASONS,
    fence=st.none() | st.integers(0, names.MAX_SEQ),
    session=st.none() | st.just("s-1"),
)
# Names of the greatest size: 64 bytes, in several scripts, with as many dots as there may be.
LONG_OWNERS = ["x" * 64, "a." * 31 + "aa", "Ї" * 32, "さ" * 21 + "x", "ñ.ñ." * 10 + "ñab", "𐐀" * 16]


@given(CLAIMS)
def test_what_is_written_is_read_back(claim: Claim) -> None:
    data = render(claim)
    assert parse(data) == claim
    assert render(parse(data)) == data


def test_the_fields_of_a_record_and_their_order() -> None:
    claim = Claim(
        task_id="T-1",
        channel="dev",
        owner="bob",
        lease=Lease(expires=1767323345.0, granted=1767323105.0, seconds=300, boot_id="one", boot_expires=5300.5),
        claimed_at=1767323045.0,
        previous_owner="carol",
        previous_lease_expires_at=1767323000.0,
        recovery_reason="gone",
        fence=7,
        session="s-1",
    )
    assert list(json.loads(render(claim)).items()) == [
        ("schema_version", 1),
        ("task_id", "T-1"),
        ("channel", "dev"),
        ("owner", "bob"),
        ("lease_expires_at", "2026-01-02T03:09:05+00:00"),
        ("claimed_at", "2026-01-02T03:04:05+00:00"),
        ("updated_at", "2026-01-02T03:05:05+00:00"),
        ("previous_owner", "carol"),
        ("previous_lease_expires_at", "2026-01-02T03:03:20+00:00"),
        ("recovery_reason", "gone"),
        ("fence", 7),
        ("lease_seconds", 300),
        ("boot_id", "one"),
        ("boot_expires", 5300.5),
        ("session", "s-1"),
    ]


def test_a_record_of_the_other_program_has_no_length_no_boot_and_no_fence() -> None:
    data = legacy_claim(previous_owner="carol", recovery_reason="gone")
    claim = parse(data)
    assert claim == Claim(
        task_id="T-1",
        channel="dev",
        owner="bob",
        lease=Lease(expires=1767323345.0, granted=1767323045.0),
        claimed_at=1767323045.0,
        previous_owner="carol",
        recovery_reason="gone",
    )
    assert parse(render(claim)) == claim


@pytest.mark.parametrize("id", ["", "../T", "a..b", "a b", "ä", "x" * 65])
def test_a_claim_on_what_is_no_task_id_is_refused(id: str) -> None:
    with pytest.raises(RecordError) as caught:
        parse(legacy_claim(id))
    assert caught.value.fault == INVALID


# --- file names -----------------------------------------------------------------------------------------------------


def test_two_pairs_that_read_alike_do_not_share_a_file() -> None:
    assert file_name("v1", "2.bot") == "v1.2%2Ebot.json"
    assert file_name("v1.2", "bot") == "v1.2.bot.json"
    assert file_name("T-1", "bob") == "T-1.bob.json"


@given(IDS, AGENTS, IDS, AGENTS)
def test_no_two_pairs_share_a_file(id: str, owner: str, other_id: str, other: str) -> None:
    same = names.same(id, other_id) and names.same(owner, other)
    assert names.same(file_name(id, owner), file_name(other_id, other)) == same


@given(IDS, st.data())
def test_a_cut_at_another_dot_is_another_file(id: str, data: st.DataObject) -> None:
    owner = data.draw(AGENTS)
    parts = f"{id}.{owner}".split(".")
    others = [(".".join(parts[:at]), ".".join(parts[at:])) for at in range(1, len(parts))]
    assert len({file_name(*pair) for pair in others}) == len(others)


@pytest.mark.parametrize("owner", LONG_OWNERS, ids=ascii)
def test_names_of_the_greatest_size_fit(owner: str) -> None:
    assert (len(owner.encode()), names.fault_of_name(owner)) == (64, None)
    name = file_name("t" * 64, owner)
    assert len(name.encode()) <= names.MAX_FILE_NAME_BYTES
    assert is_of(name, "T" * 64)
    assert may_be_of(name, "T" * 64)


@given(IDS, AGENTS, IDS)
def test_whose_file_a_name_is(id: str, owner: str, other: str) -> None:
    name = file_name(id, owner)
    assert is_of(name, other) == names.same(id, other)
    assert may_be_of(name, id)
    if not names.fold(f"{id}.").startswith(names.fold(f"{other}.")):
        assert not may_be_of(name, other)


def test_a_name_that_leaves_dots_in_the_owner_may_be_of_two_tasks() -> None:
    assert may_be_of("v1.2.bot.json", "v1")
    assert may_be_of("v1.2.bot.json", "V1.2")
    assert not may_be_of("v1.2.bot.json", "v")
    assert not may_be_of("v1.2.bot.json", "v1.2.bot.json")
    assert not may_be_of("v1.bob.json~", "v1")
