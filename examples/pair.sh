#!/bin/sh
# Two agents talk: alice asks, bob answers, alice says thanks. Each command is a process of its own.
#
#   sh examples/pair.sh                              agent-chat is on the PATH
#   AGENT_CHAT="python chat.py" sh examples/pair.sh  from a checkout, nothing installed
#
# It works in a temporary folder, removes it, and ends with 0 only if all of this has happened.
set -eu

folder=$(mktemp -d "${TMPDIR:-/tmp}/agent-chat-pair.XXXXXX")
export AGENT_CHAT_ROOT="$folder/root"
unset AGENT_CHAT_NAME AGENT_CHAT_TOKEN

# Without its channel bob's wait ends by itself, so nothing that was started here stays behind.
clean_up() {
  rm -rf "$AGENT_CHAT_ROOT" || :
  wait
  rm -rf "$folder"
}
trap clean_up EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

chat() { ${AGENT_CHAT:-agent-chat} "$@"; }
say() { printf '\n-- %s\n' "$*"; }
fail() { echo "pair.sh: $*" >&2; exit 1; }

# What bob does, in the background: wait for a question, answer it, wait for what comes next.
bob() {
  chat wait pair --as bob --timeout 20
  chat post pair --from bob --reply 1 --title "Re: Primary key?" --status decision --body-file - <<'END'
A UUID. Two services write, and they share no counter.
END
  chat wait pair --as bob --timeout 20
}

say "a channel for alice and bob"
chat init pair --members alice,bob --topic "Schema of the order service"
bob >"$folder/bob.txt" 2>&1 &
bob=$!

say "alice asks, and waits for the answer"
chat post pair --from alice --title "Primary key?" --body-file - <<'END'
Should `orders.id` be a number or a UUID? It costs $0 to change today.
END
chat wait pair --as alice --reply-to 1 --timeout 20

say "alice says thanks; bob has waited for that"
chat post pair --from alice --reply 2 --title "Thanks, doing that" </dev/null # the title says it all
wait "$bob" || { cat "$folder/bob.txt" >&2; fail "bob failed"; }

say "what bob saw and did"
cat "$folder/bob.txt"

say "the conversation, as anyone may read it"
chat peek pair

say "nothing is left unread, and all is well"
for agent in alice bob; do
  unread=$(chat inbox --as "$agent")
  echo "$unread"
  [ "$unread" = "nothing unread for $agent" ] || fail "$agent has not read everything"
done
channels=$(chat channels)
echo "$channels"
case "$channels" in "pair: 3 messages"*) ;; *) fail "expected three messages" ;; esac
chat doctor
