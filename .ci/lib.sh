# What the gate and the slow lanes share; sourced by both from the root of the checkout.

export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1
unset PYTHONDONTWRITEBYTECODE
unset PYTHONPATH PYTHONHOME VIRTUAL_ENV
work=$(mktemp -d "${TMPDIR:-/tmp}/agent-chat-ci.XXXXXX")
export PYTHONPYCACHEPREFIX="$work/bytecode"
trap 'rm -rf "$work"' EXIT

say() { printf '\n== %s\n' "$*"; }

# Sets $oldest and $newest to the full paths of the oldest and the newest supported CPython of this machine.
find_pythons() {
  local minor candidate found absent=""
  oldest="" newest=""
  for minor in 9 10 11 12 13; do
    found=""
    for candidate in "${HOME:-}"/.pyenv/versions/3."$minor".*/bin/python3."$minor" "python3.$minor"; do
      # A launcher may exist without its interpreter, and an interpreter without what makes a venv: ask it.
      found=$("$candidate" -c "import sys, venv, ensurepip; assert sys.version_info[:2] == (3, $minor)
assert sys.implementation.name == 'cpython'; print(sys.executable)" 2>/dev/null) && break
      found=""
    done
    if [ -z "$found" ]; then
      absent="$absent 3.$minor"
    else
      newest=$found
      oldest=${oldest:-$found}
    fi
  done
  [ -n "$newest" ] || { echo "no CPython from 3.9 to 3.13 here" >&2; exit 1; }
  echo "oldest: $oldest, newest: $newest${absent:+ (skipped, not here:$absent)}"
}

# new_venv NAME PYTHON EXTRA: a venv in $work with the checkout and one of its groups of tools.
new_venv() {
  "$2" -m venv "$work/$1"
  "$work/$1/bin/pip" install -q -e ".[$3]"
}

# export_checkout FOLDER: what is or may be committed, as a clone would have it, and nothing else.
export_checkout() {
  mkdir "$1"
  git -c safe.directory='*' ls-files -z --cached --others --exclude-standard |
    while IFS= read -r -d '' name; do [ ! -e "$name" ] || printf '%s\0' "$name"; done |
    tar -cf - --null -T - | tar -xf - -C "$1"
}

# readme_block NAME: the fenced block that follows the line `<!-- NAME -->`.
readme_block() {
  local block
  block=$(awk -v mark="<!-- $1 -->" '
    $0 == mark { marked = 1; next }
    marked && /^```/ { if (inside) exit; inside = 1; next }
    inside { print }
  ' README.md)
  [ -n "$block" ] || { echo "README.md has no block after <!-- $1 -->" >&2; exit 1; }
  printf '%s\n' "$block"
}
