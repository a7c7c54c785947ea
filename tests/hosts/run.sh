#!/usr/bin/env bash
# Checks the plugin in real clients, each in an empty home and with a stub for a model. README.md beside this tells more.
#
#   tests/hosts/run.sh [--install] [--keep] [claude] [codex] [copilot]
#
# --install gets the clients with npm, --keep leaves the folder of the run; without names every client is checked.
# Exit status: 0 passed; 1 a check failed; 2 nothing was checked.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

hosts=${AGENT_CHAT_HOSTS:-${XDG_CACHE_HOME:-$HOME/.cache}/agent-chat-hosts}
package_of() {
  case "$1" in
    claude) echo @anthropic-ai/claude-code@2.1.332 ;;
    codex) echo @openai/codex@0.171.0 ;;
    copilot) echo @github/copilot@1.0.102 ;;
    *) echo "run.sh: no client is called $1; there are claude, codex, copilot" >&2; exit 2 ;;
  esac
}

install="" keep="" names=()
for word in "$@"; do
  case "$word" in
    --install) install=yes ;;
    --keep) keep=yes ;;
    -h | --help) sed -n '2,7s/^# \{0,1\}//p' tests/hosts/run.sh; exit 0 ;;
    *) package_of "$word" >/dev/null; names+=("$word") ;;
  esac
done
[ ${#names[@]} -gt 0 ] || names=(claude codex copilot)

# The folder's name has what trips careless quoting.
work=$(mktemp -d "${TMPDIR:-/tmp}/agent-chat хости XXXXXX")
if [ -n "$keep" ]; then echo "folder of this run: $work"; else trap 'rm -rf "$work"' EXIT; fi

# The checkout as a clone would have it, and what is not committed yet; a copy without git as it is.
mkdir "$work/agent-chat копія"
if [ "$(git -c safe.directory='*' rev-parse --show-toplevel 2>/dev/null)" = "$(pwd -P)" ]; then
  git -c safe.directory='*' ls-files -z --cached --others --exclude-standard |
    while IFS= read -r -d '' name; do [ ! -e "$name" ] || printf '%s\0' "$name"; done |
    tar -cf - --null -T - | tar -xf - -C "$work/agent-chat копія"
else
  tar -cf - --exclude __pycache__ . | tar -xf - -C "$work/agent-chat копія"
fi

programs=() paths=()
for name in "${names[@]}"; do
  if [ -n "$install" ]; then
    mkdir -p "$hosts/$name"
    npm install --prefix "$hosts/$name" --no-fund --no-audit --loglevel error "$(package_of "$name")" >&2
  fi
  program="$hosts/$name/node_modules/.bin/$name"
  [ -x "$program" ] || program=$(command -v "$name") || program=""
  if [ -n "$program" ]; then
    echo "$name is $program"
    programs+=("$name=$program")
  else
    echo "skipped $name: neither in $hosts nor on PATH; --install gets $(package_of "$name")"
  fi
done
[ ${#programs[@]} -gt 0 ] || { echo "nothing was checked"; exit 2; }

# Some clients are scripts of Node.js.
if node=$(command -v node); then paths=(--paths "$(dirname "$node")"); fi
python=$(command -v python3 || command -v python)
python=$("$python" -c 'import sys; assert sys.version_info >= (3, 9), "needs Python 3.9"; print(sys.executable)')

cd "$work/agent-chat копія"
mkdir "$work/run"
"$python" -B -m tests.hosts.checks --work "$work/run" ${paths[@]+"${paths[@]}"} "${programs[@]}"
