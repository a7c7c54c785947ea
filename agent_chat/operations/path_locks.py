"""Path locks: files and folders of the work tree that exactly one agent edits, for as long as its lease runs."""

from __future__ import annotations

from agent_chat import names
from agent_chat.errors import ChatError
from agent_chat.operations import leases, lock_records, lock_views
from agent_chat.operations.audited import Ticket, carry_out, ticket
from agent_chat.operations.leases import PATH_LOCK, Actor
from agent_chat.operations.lock_records import StoredLock, Wanted, place_of
from agent_chat.operations.lock_views import holding_of
from agent_chat.operations.participants import first_spelling
from agent_chat.records import locked_path, path_lock
from agent_chat.records.journal_entry import Change
from agent_chat.records.lease import ACTIVE, DEFAULT_SECONDS, EXPIRED, granted
from agent_chat.records.path_lock import PathLock
from agent_chat.records.record_fields import instant_text
from agent_chat.records.value import Value
from agent_chat.storage.journal import OF_LOCKS
from agent_chat.storage.lock_index import LockIndex
from agent_chat.storage.record_store import RecordStore
from agent_chat.storage.workspace import shell_word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agent_chat.records.locked_path import Located
    from agent_chat.storage.channel import Channel, Mutation

    Locate = Callable[[str], Located]

MAX_RECORD_BYTES = 1 << 18


class Locked(Value):
    """What became of a lock, and the number of the audit message; `warnings` tell of what was set aside."""

    lock: PathLock
    seq: int
    renewed: bool = False
    warnings: tuple[str, ...] = ()


class _Call:
    """One call on locks under the channel's lock: who asks, and what its change gets."""

    def __init__(self, channel: Channel, mutation: Mutation, actor: Actor) -> None:
        self.channel = channel
        self.mutation = mutation
        self.records = RecordStore(channel, OF_LOCKS, locked=True)
        numbers = mutation.numbers()
        self.actor = actor.replace(name=first_spelling(channel, numbers, actor.name))
        self.ticket: Ticket = ticket(mutation, numbers)

    @property
    def look(self) -> str:
        """The words of the command that lists the locks."""
        return f"locks {self.channel.name}"

    def recovery(self, lock_id: str) -> str:
        """The words of the command by which the caller recovers a lock."""
        return f"recover {self.channel.name} {lock_id} --as {self.actor.name} --reason 'taking over'"

    def require_rights(self, lock: PathLock) -> None:
        """Refuses whoever does not hold the lock, or holds it no longer."""
        holding = holding_of(lock)
        leases.require_holder(self.channel, PATH_LOCK, holding, self.actor, call=self.look)
        leases.require_running(self.channel, PATH_LOCK, holding, self.ticket.now, call=self.recovery(lock.lock_id))

    def commit(self, operation: str, event: str, before: StoredLock | None, after: PathLock | None) -> None:
        """Commits a lock as it is afterwards, None when it is given back."""
        lock = after if after is not None else before.lock if before is not None else None
        assert lock is not None
        change = Change(
            path=place_of(lock.lock_id),
            before=before.data if before is not None else None,
            after=path_lock.render(after) if after is not None else None,
        )
        fields: dict[str, object] = {
            "lock_id": lock.lock_id,
            "owner": lock.owner,
            "paths": [locked_path.to_json(path) for path in lock.paths],
            "expires_at": instant_text(lock.lease.expires),
            "lease_expires_at": instant_text(lock.lease.expires),
            "fence": lock.fence,
            "updated_at": self.ticket.created,
        }
        if operation == "recover":
            fields["previous_owner"] = lock.previous_owner
            fields["previous_expires_at"] = instant_text(lock.previous_expires_at)
            fields["recovery_reason"] = lock.recovery_reason
        carry_out(
            self.mutation,
            OF_LOCKS,
            self.ticket,
            operation=operation,
            actor=self.actor.name,
            target=lock.lock_id,
            event=event,
            changes=(change,),
            fields=fields,
            audit_failed="PATH_LOCK_AUDIT_FAILED",
        )

    def target(self, text: str, locate: Locate) -> tuple[StoredLock, PathLock]:
        """Returns the lock that an id or a path means; PATH_LOCK_NOT_FOUND, or the code of a damaged one."""
        place = place_of(text) if path_lock.is_lock_id(text) else None
        data = self.records.read(place) if place is not None else None
        if place is None or data is None:
            located = locate(text)
            index = LockIndex(self.records)
            place = self._place_of_path(text, located, index)
            data = self.records.read(place) if place is not None else None
            if place is None or data is None:
                raise self._not_found(text, located, index)
        stored = lock_records.parse_lock(self.records, place, data)
        assert stored.lock is not None
        return stored, stored.lock

    def _place_of_path(self, text: str, located: Located, index: LockIndex) -> str | None:
        """Returns where the one lock on exactly this path is: the caller's own, else another's, else a damaged one."""
        read = (
            lock_records.read_lock(self.records, place)
            for place, paths in index.paths()
            if any(locked_path.same(located, path) for path in paths)
        )
        found = [stored for stored in read if stored is not None]
        sound = [stored for stored in found if stored.lock is not None]
        own = [stored for stored in sound if names.same(stored.owner, self.actor.name)]
        meant = own or sound or found
        if len(meant) > 1:
            ids = " or ".join(stored.id for stored in meant)
            raise ChatError("PATH_LOCK_INVALID_PATH", f"{names.quoted(text)} is in several locks; name {ids}")
        return meant[0].place if meant else None

    def _not_found(self, text: str, located: Located, index: LockIndex) -> ChatError:
        """Returns the refusal of what is no lock's id or path; a path may have been meant from the top of a tree."""
        known = {path.normalized_path: (path, place) for place, paths in index.paths() for path in paths}
        here = located.path.normalized_path
        meant = known.get(text.rstrip("/"))
        from_top = ""
        if meant is not None:
            lock_id = meant[1].rpartition("/")[2][: -len(path_lock.END)]
            from_top = f"; from the top of {meant[0].tree or 'a work tree'} it is lock {lock_id}"
        return self.channel.refusal(
            "PATH_LOCK_NOT_FOUND",
            f"no lock has the id {names.quoted(text)}, or is on exactly {names.quoted(here)}{from_top} "
            f"({self.channel.name} in {self.channel.workspace.describe()})",
            call=self.look,
            near=None if meant else (text, tuple(known)),
        )


def lock(
    channel: Channel,
    actor: Actor,
    located: Sequence[Located],
    *,
    lease_seconds: str | None = None,
    why: str | None = None,
    tree_words: str = "",
) -> Locked:
    """Locks all paths for the actor, or none; fails with PATH_LOCK_CONFLICT or PATH_LOCK_RECOVERY_REQUIRED.

    Where one of the actor's own running locks covers them all, that lock's lease runs anew, for its own length where
    none is given. Asking for a part of it never shortens it; a new reason takes the place of the old. All paths must be
    of one work tree. `tree_words` are the words by which a command finds the same work tree.
    """
    if not located:
        raise ChatError("PATH_LOCK_INVALID_PATH", "no path was named")
    trees = sorted({each.path.tree for each in located})
    if len(trees) > 1:
        raise ChatError(
            "PATH_LOCK_INVALID_PATH", f"the paths are of several work trees ({', '.join(trees)}); lock them one by one"
        )
    who = leases.known_actor(channel, PATH_LOCK, actor)
    seconds = leases.duration(PATH_LOCK, lease_seconds, DEFAULT_SECONDS)
    reason = leases.reason(PATH_LOCK, why) if why is not None else None
    with channel.mutation(OF_LOCKS, actor=who.name) as mutation:
        call = _Call(channel, mutation, who)
        index = LockIndex(call.records)
        own = _obstacles(call, Wanted(located), index, tree_words)
        covering = _covering(call, own, located)
        if covering is not None:
            stored, held = covering
            own_seconds = leases.duration(PATH_LOCK, lease_seconds, held.lease.seconds or DEFAULT_SECONDS)
            if not _is_whole(held, located) and held.lease.standing(call.ticket.now) == ACTIVE:
                # Asking for a part must not shorten the whole.
                own_seconds = max(own_seconds, int(-(-held.lease.remaining(call.ticket.now) // 1)))
            taken = held.replace(lease=granted(call.ticket.now, own_seconds), reason=reason or held.reason)
            call.commit("renew-lock", "path.lock.renewed", stored, taken)
        else:
            taken = _new_lock(call, located).replace(lease=granted(call.ticket.now, seconds), reason=reason)
            if len(path_lock.render(taken)) > MAX_RECORD_BYTES:
                raise ChatError("PATH_LOCK_INVALID_PATH", "so many paths make too large a record; lock a folder")
            call.commit("lock", "path.locked", None, taken)
        index.add(place_of(taken.lock_id), taken.paths)
        index.store()
        return Locked(lock=taken, seq=call.ticket.seq, renewed=covering is not None, warnings=tuple(index.warnings))


def _new_lock(call: _Call, located: Sequence[Located]) -> PathLock:
    paths = {each.path.normalized_path: each.path for each in reversed(located)}
    return PathLock(
        lock_id=call.channel.workspace.ids.fresh(),
        channel=call.channel.name,
        owner=call.actor.name,
        paths=tuple(reversed(paths.values())),
        lease=granted(call.ticket.now, DEFAULT_SECONDS),
        locked_at=call.ticket.now.wall // 1,
        fence=call.ticket.seq,
        session=call.actor.session,
    )


def _obstacles(call: _Call, wanted: Wanted, index: LockIndex, tree_words: str) -> list[StoredLock]:
    """Returns the actor's own locks on the wanted paths; refuses when there are others, or some that have run out."""
    now = call.ticket.now
    found = list(lock_records.in_the_way(call.records, wanted, index))
    others = [stored for stored in found if not names.same(stored.owner, call.actor.name)]
    running = [stored for stored in others if stored.lock is None or stored.lock.lease.standing(now) == ACTIVE]
    if running:
        damaged = all(stored.lock is None for stored in running)
        wait = f"wait {call.channel.name} --path {_path_word(wanted, running)} --as {call.actor.name}{tree_words}"
        raise call.channel.refusal(
            "PATH_LOCK_CONFLICT",
            "; ".join(lock_views.conflict_text(stored, now) for stored in running),
            call=f"doctor {call.channel.name}" if damaged else wait,
            conflicts=[lock_views.conflict_fields(stored, now) for stored in running],
        )
    for stored in found:
        if stored.lock is not None and (stored in others or stored.lock.lease.standing(now) == EXPIRED):
            holding = holding_of(stored.lock)
            raise leases.lapsed(call.channel, PATH_LOCK, holding, now, call=call.recovery(stored.id))
    return found


def _path_word(wanted: Wanted, obstacles: Sequence[StoredLock]) -> str:
    """Returns the first wanted path that an obstacle is on, as a word of a command line."""
    paths = [path for stored in obstacles for path in stored.paths]
    text = next(each for each in wanted.located if Wanted([each]).meets(paths)).path.display_path
    return shell_word(text)


def _is_whole(held: PathLock, located: Sequence[Located]) -> bool:
    """Tells whether some paths are all that a lock is on."""
    return all(any(locked_path.same(each, path) for each in located) for path in held.paths)


def _covering(call: _Call, own: Sequence[StoredLock], located: Sequence[Located]) -> tuple[StoredLock, PathLock] | None:
    """Returns one of the actor's own locks, of this very session, that covers all paths."""
    for stored in own:
        held = stored.lock
        if held is None or (held.session is not None and held.session != call.actor.session):
            continue
        if all(locked_path.covers(held.paths, each) for each in located):
            return stored, held
    return None


def renew(channel: Channel, actor: Actor, target: str, locate: Locate, *, lease_seconds: str | None = None) -> Locked:
    """Makes the holder's lease run anew from now, for its own length where none is given."""
    who = leases.known_actor(channel, PATH_LOCK, actor)
    leases.duration(PATH_LOCK, lease_seconds, DEFAULT_SECONDS)
    with channel.mutation(OF_LOCKS, actor=who.name) as mutation:
        call = _Call(channel, mutation, who)
        stored, held = call.target(target, locate)
        call.require_rights(held)
        seconds = leases.duration(PATH_LOCK, lease_seconds, held.lease.seconds or DEFAULT_SECONDS)
        renewed = held.replace(lease=granted(call.ticket.now, seconds))
        call.commit("renew-lock", "path.lock.renewed", stored, renewed)
        return Locked(lock=renewed, seq=call.ticket.seq, renewed=True)


def unlock(channel: Channel, actor: Actor, target: str, locate: Locate) -> Locked:
    """Gives a whole lock back; only its owner can, and only while its lease runs."""
    who = leases.known_actor(channel, PATH_LOCK, actor)
    with channel.mutation(OF_LOCKS, actor=who.name) as mutation:
        call = _Call(channel, mutation, who)
        stored, held = call.target(target, locate)
        call.require_rights(held)
        call.commit("unlock", "path.lock.unlocked", stored, None)
        return Locked(lock=held, seq=call.ticket.seq)


def recover(
    channel: Channel, actor: Actor, target: str, locate: Locate, why: str, *, lease_seconds: str | None = None
) -> Locked:
    """Gives a lock whose lease has run out, or is suspect, to the actor, with a reason; the former owner included."""
    who = leases.known_actor(channel, PATH_LOCK, actor)
    reason = leases.reason(PATH_LOCK, why)
    seconds = leases.duration(PATH_LOCK, lease_seconds, DEFAULT_SECONDS)
    with channel.mutation(OF_LOCKS, actor=who.name) as mutation:
        call = _Call(channel, mutation, who)
        stored, held = call.target(target, locate)
        holding = holding_of(held)
        now = call.ticket.now
        leases.require_recoverable(channel, PATH_LOCK, "PATH_LOCK_NOT_STALE", holding, now, call=call.look)
        _refuse_overlap(call, held)
        if call.actor.fence is not None:
            mine = holding.replace(owner=call.actor.name)
            leases.require_holder(channel, PATH_LOCK, mine, call.actor, call=call.look)
        taken = held.replace(
            owner=call.actor.name,
            lease=granted(now, seconds),
            locked_at=now.wall // 1,
            previous_owner=held.owner,
            previous_expires_at=held.lease.expires,
            recovery_reason=reason,
            reason=None,
            fence=call.ticket.seq,
            session=call.actor.session,
        )
        call.commit("recover", "path.lock.recovered", stored, taken)
        return Locked(lock=taken, seq=call.ticket.seq)


def _refuse_overlap(call: _Call, held: PathLock) -> None:
    """Refuses to recover a lock while another agent's runs on one of its paths: its owner had locked both."""
    now = call.ticket.now
    wanted = Wanted([locked_path.as_located(path) for path in held.paths])
    for stored in lock_records.in_the_way(call.records, wanted, LockIndex(call.records)):
        other = stored.lock
        if stored.id == held.lock_id or names.same(stored.owner, call.actor.name):
            continue
        if other is None or other.lease.standing(now) == ACTIVE:
            raise call.channel.refusal(
                "PATH_LOCK_CONFLICT",
                lock_views.conflict_text(stored, now),
                call=call.look,
                conflicts=[lock_views.conflict_fields(stored, now)],
            )
