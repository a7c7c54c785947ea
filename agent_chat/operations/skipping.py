"""What a reader skips: topics and senders that it has chosen to leave out.

There is deliberately no list of topics to follow instead: an extra message is cheaper than a missed call for help in a
new topic. What is skipped is stored all the same, and a cursor passes over it.
"""

from __future__ import annotations

from agent_chat import names
from agent_chat.records.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_chat.records.message import Message

NO_TOPIC = "general"


class Skips(Value):
    """The topics, and the names of agents or sessions, that one reader skips in one call."""

    topics: tuple[str, ...] = ()
    senders: tuple[str, ...] = ()

    def leave_out(self, message: Message) -> bool:
        """Tells whether a message is skipped."""
        return self.leaves_out(message.sender, message.topic, message.session, is_audit=message.is_audit)

    def leaves_out(self, sender: str, topic: str, session: str = "", *, is_audit: bool = False) -> bool:
        """Tells whether what has such a header is skipped; an audit message has no topic, so by its sender alone."""
        if self.senders and names.contains(self.senders, sender):
            return True
        if self.senders and session and names.contains(self.senders, session):
            return True
        return bool(self.topics) and not is_audit and (topic or NO_TOPIC) in self.topics


NOTHING = Skips()
