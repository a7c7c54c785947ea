"""A lease: until when somebody holds something, judged by the clock that no time step moves.

On the boot on which it was granted a lease runs by the boot clock. Elsewhere it runs by wall time, with a grace, since
two clocks never agree. What would run on for longer than its whole length is suspect: some clock was wrong.
"""

from __future__ import annotations

from agent_chat.records.value import Value

ACTIVE = "active"
EXPIRED = "expired"
SUSPECT = "suspect"

GRACE_SECONDS = 60.0
SUSPECT_SECONDS = 300.0
MAX_SECONDS = 30 * 86400.0
DEFAULT_SECONDS = 300


class Moment(Value):
    """One instant by all clocks: wall time in POSIX seconds, and seconds since a boot, `boot_id` "" where not known."""

    wall: float
    boot_id: str
    boot: float


class Lease(Value):
    """A lease; what a record of another program does not say is None.

    `seconds` is its length, `granted` when it was granted or renewed, in POSIX seconds.
    """

    expires: float
    granted: float
    seconds: float | None = None
    boot_id: str | None = None
    boot_expires: float | None = None

    def remaining(self, now: Moment) -> float:
        """Returns the seconds left, the grace included; not above 0 when it has run out."""
        return self.left(now) + (0.0 if self._is_of(now) else GRACE_SECONDS)

    def left(self, now: Moment) -> float:
        """Returns the seconds until it ends as it was granted, below 0 when it has ended; no grace is in it."""
        if self.boot_expires is not None and self._is_of(now):
            return self.boot_expires - now.boot
        return self.expires - now.wall

    def _is_of(self, now: Moment) -> bool:
        """Tells whether it was granted on this boot, so that the boot clock judges it."""
        return self.boot_expires is not None and bool(self.boot_id) and self.boot_id == now.boot_id

    def standing(self, now: Moment) -> str:
        """Returns ACTIVE, EXPIRED or SUSPECT."""
        if self.remaining(now) <= 0:
            return EXPIRED
        length = self.seconds if self.seconds is not None else max(self.expires - self.granted, 0.0)
        return SUSPECT if self.left(now) > min(length, MAX_SECONDS) + SUSPECT_SECONDS else ACTIVE


def granted(now: Moment, seconds: float) -> Lease:
    """Returns a lease of a length that begins now; records keep whole seconds of wall time, so a part counts as one."""
    on_boot = bool(now.boot_id)
    return Lease(
        expires=-(-(now.wall + seconds) // 1),
        granted=now.wall // 1,
        seconds=seconds,
        boot_id=now.boot_id if on_boot else None,
        boot_expires=round(now.boot + seconds, 3) if on_boot else None,
    )
