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

    def leaves_out(self, message: Message) -> bool:
        """Tells whether a message is skipped; an audit message has no topic, so it is skipped by its sender alone."""
        if self.senders and names.contains(self.senders, message.sender):
            return True
        if self.senders and message.session and names.contains(self.senders, message.session):
            return True
        return bool(self.topics) and not message.is_audit and (message.topic or NO_TOPIC) in self.topics


NOTHING = Skips()
