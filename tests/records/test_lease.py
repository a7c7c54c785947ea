"""Leases: by the boot clock where they were granted, by wall time with a grace elsewhere; suspect when too long."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_chat.records.lease import (
    ACTIVE,
    EXPIRED,
    GRACE_SECONDS,
    MAX_SECONDS,
    SUSPECT,
    SUSPECT_SECONDS,
    Lease,
    Moment,
    granted,
)

HOUR, DAY = 3600.0, 86400.0
WALL, BOOT = 1767323045.25, 5000.125
NOW = Moment(wall=WALL, boot_id="one", boot=BOOT)


def later(seconds: float, *, jump: float = 0.0, boot_id: str = "one") -> Moment:
    """The moment so many seconds after NOW; `jump` is how far the wall clock was set meanwhile."""
    return Moment(wall=WALL + seconds + jump, boot_id=boot_id, boot=BOOT + seconds if boot_id == "one" else 3.0)


def test_a_lease_keeps_whole_seconds_of_wall_time_and_the_boot_that_it_runs_on() -> None:
    assert granted(NOW, 300) == Lease(
        expires=1767323346.0, granted=1767323045.0, seconds=300, boot_id="one", boot_expires=5300.125
    )
    assert granted(NOW.replace(boot_id=""), 300) == Lease(expires=1767323346.0, granted=1767323045.0, seconds=300)


@pytest.mark.parametrize("jump", [0.0, HOUR, -HOUR, 3 * DAY, -3 * DAY, 365 * DAY])
def test_on_its_own_boot_no_step_of_the_wall_clock_changes_anything(jump: float) -> None:
    lease = granted(NOW, 300)
    for seconds, standing in ((0, ACTIVE), (299.9, ACTIVE), (300, EXPIRED), (301, EXPIRED), (DAY, EXPIRED)):
        moment = later(seconds, jump=jump)
        assert lease.standing(moment) == standing
        assert lease.remaining(moment) == pytest.approx(300 - seconds)


@pytest.mark.parametrize("boot_id", ["two", ""])
def test_on_another_boot_it_runs_by_wall_time_with_a_grace(boot_id: str) -> None:
    lease = granted(NOW, 300)
    end = lease.expires + GRACE_SECONDS
    for wall, standing in ((WALL, ACTIVE), (lease.expires, ACTIVE), (end - 0.1, ACTIVE), (end, EXPIRED)):
        assert lease.standing(Moment(wall=wall, boot_id=boot_id, boot=9e9)) == standing


def test_where_no_boot_is_known_on_either_side_wall_time_decides() -> None:
    lease = granted(NOW.replace(boot_id=""), 300)
    unknown = Moment(wall=WALL + 299, boot_id="", boot=9e9)
    assert (lease.standing(unknown), lease.standing(unknown.replace(wall=WALL + 361))) == (ACTIVE, EXPIRED)


def test_a_boot_without_its_clock_is_no_boot() -> None:
    assert granted(NOW, 300).replace(boot_expires=None).standing(later(361)) == EXPIRED
    assert Lease(expires=WALL, granted=WALL, seconds=300, boot_id="", boot_expires=9e9).standing(later(61)) == EXPIRED


@pytest.mark.parametrize("length", [1.0, 300.0, MAX_SECONDS])
def test_a_stamp_three_days_ahead_is_suspect(length: float) -> None:
    ahead = granted(NOW.replace(wall=WALL + 3 * DAY), length)
    assert ahead.standing(later(0, boot_id="two")) == SUSPECT
    assert ahead.standing(later(0)) == ACTIVE  # the boot clock was never wrong
    assert ahead.standing(later(3 * DAY + length + 2 + GRACE_SECONDS, boot_id="two")) == EXPIRED


@pytest.mark.parametrize("seconds", [1.0, 300.0, MAX_SECONDS])
def test_it_is_suspect_from_its_length_and_five_minutes_on(seconds: float) -> None:
    lease = Lease(expires=WALL + seconds + SUSPECT_SECONDS, granted=WALL, seconds=seconds)
    assert lease.standing(later(0)) == ACTIVE
    assert lease.standing(later(0, jump=-0.5)) == SUSPECT
    by_boot = Lease(expires=0, granted=0, seconds=seconds, boot_id="one", boot_expires=BOOT + seconds + SUSPECT_SECONDS)
    assert by_boot.standing(NOW) == ACTIVE
    assert by_boot.standing(NOW.replace(boot=BOOT - 0.5)) == SUSPECT


def test_no_length_makes_a_lease_of_more_than_thirty_days_plausible() -> None:
    lease = Lease(expires=WALL + 40 * DAY, granted=WALL, seconds=40 * DAY)
    assert lease.standing(NOW) == SUSPECT
    assert lease.standing(later(10 * DAY)) == ACTIVE


def test_a_lease_without_a_length_is_as_long_as_its_stamps_say() -> None:
    legacy = Lease(expires=WALL + 300, granted=WALL)
    assert [legacy.standing(later(seconds)) for seconds in (0, 359, 360)] == [ACTIVE, ACTIVE, EXPIRED]
    assert legacy.standing(later(-DAY)) == SUSPECT
    # Its end lies before its beginning: no length at all, so that it is suspect soon.
    backwards = Lease(expires=WALL + 1000, granted=WALL + 5000)
    assert [backwards.standing(later(seconds)) for seconds in (0, 760, 1060)] == [SUSPECT, ACTIVE, EXPIRED]


@given(
    wall=st.floats(0, 4e9),
    boot=st.floats(0, 1e9),
    seconds=st.integers(1, int(MAX_SECONDS)) | st.floats(1, MAX_SECONDS),
)
def test_a_fresh_lease_is_active_everywhere_for_its_whole_length(wall: float, boot: float, seconds: float) -> None:
    now = Moment(wall=wall, boot_id="one", boot=boot)
    lease = granted(now, seconds)
    assert lease.standing(now) == lease.standing(now.replace(boot_id="two")) == ACTIVE
    assert lease.remaining(now) == pytest.approx(seconds, abs=0.001)
    assert seconds + GRACE_SECONDS <= lease.remaining(now.replace(boot_id="two")) + 1e-6
    assert lease.remaining(now.replace(boot_id="two")) <= seconds + GRACE_SECONDS + 1
    assert (lease.expires % 1, lease.granted % 1) == (0, 0)
