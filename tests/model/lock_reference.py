"""The reference of path locks: which paths meet, and what each call must make of the locks."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from tests.model.work_reference import Lease, Lock, Now, RefusedError, Step, Who, require_rights

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


class Path(NamedTuple):
    """A path as it is stored, and its kind."""

    path: str
    kind: str


# What is written -> what is meant; the folders src and src/deep and the file src/a.py are there, all else is not.
PATHS = {
    "src": Path("src", "directory"),
    "src/a.py": Path("src/a.py", "file"),
    "src/../src/a.py": Path("src/a.py", "file"),
    "src/deep": Path("src/deep", "directory"),
    "src/deep/b.py": Path("src/deep/b.py", "file"),
    "srcs": Path("srcs", "file"),
    "new": Path("new", "file"),
    "new/": Path("new", "directory"),
    "new/x.py": Path("new/x.py", "file"),
}


def leads_to(one: str, other: str) -> bool:
    """Whether a path is another, or leads to it."""
    return (other + "/").startswith(one + "/")


def meet(lock: Lock, wanted: Sequence[Path]) -> bool:
    """Whether a lock is on a file that one of some paths is on."""
    return any(leads_to(one, each.path) or leads_to(each.path, one) for one, _ in lock.paths for each in wanted)


def covers(lock: Lock, wanted: Path) -> bool:
    """Whether all that a path holds is in a lock: a file holds nothing but itself."""
    return any(
        leads_to(path, wanted.path) if kind == "directory" else (path, "file") == wanted for path, kind in lock.paths
    )


class Locks:
    """The rules of path locks, over the locks by their ids."""

    def __init__(self, locks: dict[str, Lock]) -> None:
        self.locks = locks

    def on(self, wanted: Sequence[Path]) -> list[Lock]:
        """The locks on some paths, in order of their ids."""
        return [self.locks[id] for id in sorted(self.locks) if meet(self.locks[id], wanted)]

    def lock(self, texts: Sequence[str], who: Who, lease: Lease, id: str, reason: str | None) -> Step:
        """Locks all paths, or none; what one running lock of one's own covers is renewed."""
        wanted = [PATHS[text] for text in texts]
        found = self.on(wanted)
        others = [each for each in found if each.hold.owner != who.name]
        if any(each.hold.runs(lease.now) for each in others):
            raise RefusedError("PATH_LOCK_CONFLICT")
        if others or not all(each.hold.runs(lease.now) for each in found):
            raise RefusedError("PATH_LOCK_RECOVERY_REQUIRED")
        for own in found:
            if own.hold.session in (None, who.session) and all(covers(own, each) for each in wanted):
                hold = lease.renewed(own.hold)
                if not {path for path, _ in own.paths} <= {each.path for each in wanted}:
                    # Asking for a part does not shorten the whole.
                    hold = own.hold.anew(lease.now, max(hold.seconds, math.ceil(own.hold.ends - lease.now.boot)))
                return Step(own.id, own._replace(hold=hold, reason=reason or own.reason), "path.lock.renewed")
        paths = {each.path: each for each in reversed(wanted)}  # of two kinds of one path the first counts
        return Step(id, Lock(id, frozenset(paths.values()), lease.granted(who), reason), "path.locked")

    def target(self, text: str, who: Who) -> Lock:
        """The lock that an id means, or a path of it; one's own before those of others."""
        if text in self.locks:
            return self.locks[text]
        path = PATHS[text].path if text in PATHS else text
        found = [each for each in self.locks.values() if path in {one for one, _ in each.paths}]
        meant = [each for each in found if each.hold.owner == who.name] or found
        if not meant:
            raise RefusedError("PATH_LOCK_NOT_FOUND")
        if len(meant) > 1:
            raise RefusedError("PATH_LOCK_INVALID_PATH")
        return meant[0]

    def renew(self, text: str, who: Who, lease: Lease) -> Step:
        """Makes the lease run anew."""
        lock = self.target(text, who)
        require_rights(lock.hold, who, lease.now, "PATH_LOCK")
        return Step(lock.id, lock._replace(hold=lease.renewed(lock.hold)), "path.lock.renewed")

    def unlock(self, text: str, who: Who, lease: Lease) -> Step:
        """Gives a whole lock back."""
        lock = self.target(text, who)
        require_rights(lock.hold, who, lease.now, "PATH_LOCK")
        return Step(lock.id, None, "path.lock.unlocked")

    def recover(self, text: str, who: Who, lease: Lease, why: str) -> Step:
        """Gives a lock whose lease has run out to whoever asks, unless another's runs on one of its paths."""
        lock = self.target(text, who)
        if lock.hold.runs(lease.now):
            raise RefusedError("PATH_LOCK_NOT_STALE")
        if any(each.hold.owner != who.name and each.hold.runs(lease.now) for each in self._beside(lock)):
            raise RefusedError("PATH_LOCK_CONFLICT")
        if who.fence not in (None, lock.hold.fence):
            raise RefusedError("PATH_LOCK_OWNER_MISMATCH")
        hold = lease.granted(who, (lock.hold.owner, lock.hold.tells, why))
        return Step(lock.id, lock._replace(hold=hold, reason=None), "path.lock.recovered")

    def _beside(self, lock: Lock) -> Iterator[Lock]:
        return (each for each in self.on([Path(*path) for path in lock.paths]) if each.id != lock.id)

    def overlaps(self, now: Now) -> list[tuple[str, str]]:
        """Running locks of different owners that meet: there must be none."""
        return [
            (lock.id, other.id)
            for lock in self.locks.values()
            for other in self._beside(lock)
            if lock.hold.runs(now) and other.hold.runs(now) and lock.hold.owner != other.hold.owner
        ]
