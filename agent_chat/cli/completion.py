"""Completion scripts for bash, zsh and fish, made from the table of commands.

A script knows commands, options and choices by itself; channel names it reads off the folders of the root, so that
completing a word starts no Python. A folder name that no channel can have is left out: it might hold shell syntax.

All three work alike. Four lookups hold the facts of the table; a scan of the words before the cursor tells the
command, how many positionals it has, and whether an option waits for its value; one function says what belongs at
the cursor. `@file`, `@channel` and `@text` stand for what is not a fixed list of words.
"""

from __future__ import annotations

from agent_chat.cli.command import GLOBALS, HELP, ROOT, Reply

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from agent_chat.cli.command import Argument, Command, Request

    # The texts that a lookup answers, `*` in them meaning anything, and the words of the answer.
    Fact = tuple[tuple[str, ...], tuple[str, ...]]

FILES = ("FILE", "DIR", "PATH", "PATH,PATH")
"""Metavars of options whose value is a path."""


def run(request: Request) -> Reply:
    """Answers `completion`: the script for a shell."""
    from agent_chat.cli.commands import COMMANDS

    shell = request.text("shell")
    text = script(shell, COMMANDS)
    return Reply(data={"shell": shell, "script": text}, text=text)


def script(shell: str, commands: Sequence[Command]) -> str:
    """Returns the completion script for `shell`: bash, zsh or fish."""
    template = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}[shell].replace("@SHARED@", _SHARED)
    render = _fish_case if shell == "fish" else _sh_case
    for place, facts in (
        ("@NEXT@", _next_words(commands)),
        ("@OPTIONS@", _option_words(commands)),
        ("@VALUES@", _value_words(commands)),
        ("@POSITIONALS@", _positional_words(commands)),
    ):
        template = template.replace(place, "\n".join(render(*fact) for fact in facts))
    return template


def _next_words(commands: Iterable[Command]) -> Iterable[Fact]:
    """Yields which words may follow the words of a command so far."""
    known: dict[str, dict[str, None]] = {}
    for row in commands:
        for depth, word in enumerate(row.path):
            known.setdefault(" ".join(row.path[:depth]), {})[word] = None
    for path, words in known.items():
        yield (path,), tuple(words)


def _option_words(commands: Iterable[Command]) -> Iterable[Fact]:
    """Yields the spellings of the options of each command."""
    for row in commands:
        yield (row.name,), _spellings((*row.options, *GLOBALS))
    yield ("*",), _spellings(GLOBALS)


def _value_words(commands: Iterable[Command]) -> Iterable[Fact]:
    """Yields what the value of an option is, asked for by command and spelling."""
    yield tuple(f"* {spelling}" for spelling in ROOT.spellings), ("@file",)
    for row in commands:
        for argument in row.options:
            if not argument.flag:
                kind = ("@file",) if argument.metavar in FILES else ("@text",)
                yield tuple(f"{row.name} {spelling}" for spelling in argument.spellings), argument.choices or kind


def _positional_words(commands: Sequence[Command]) -> Iterable[Fact]:
    """Yields what a positional is, asked for by command and place."""
    for row in sorted(commands, key=lambda row: -len(row.path)):
        for place, argument in enumerate(row.positionals):
            words = argument.choices
            if argument.label == "<channel>":
                words = ("@channel",)
            elif argument.label == "<path>":
                words = ("@file",)
            elif row == HELP:
                words = tuple(dict.fromkeys(other.path[0] for other in commands))
            if words:
                yield (f"{row.name} {'*' if argument.many and row != HELP else place}",), words


def _spellings(arguments: Iterable[Argument]) -> tuple[str, ...]:
    """Returns the spellings of the arguments that help shows."""
    return tuple(spelling for argument in arguments if not argument.hidden for spelling in argument.spellings)


def _sh_case(patterns: tuple[str, ...], words: tuple[str, ...]) -> str:
    """Renders a fact for `case` of bash and zsh."""
    quoted = ("*".join(f"'{part}'" if part else "" for part in pattern.split("*")) or "''" for pattern in patterns)
    return f"    {' | '.join(quoted)}) printf '%s ' {' '.join(words)} ;;"


def _fish_case(patterns: tuple[str, ...], words: tuple[str, ...]) -> str:
    """Renders a fact for `switch` of fish."""
    quoted = " ".join(f"'{pattern}'" for pattern in patterns)
    return f"    case {quoted}\n      printf '%s\\n' {' '.join(words)}"


_SHARED = r"""
# The words that may follow the words of a command so far.
_agent_chat_next() {
  case "$1" in
@NEXT@
  esac
}
# The options of a command.
_agent_chat_options() {
  case "$1" in
@OPTIONS@
  esac
}
# What the value of option $2 of command $1 is; nothing for a flag.
_agent_chat_value() {
  case "$1 $2" in
@VALUES@
  esac
}
# What positional number $2 of command $1 is.
_agent_chat_positional() {
  case "$1 $2" in
@POSITIONALS@
  esac
}
# The channels of root $1, one a line.
_agent_chat_channels() {
  local root=${1:-${AGENT_CHAT_ROOT:-$HOME/agent-chat}} folder name
  case "$root" in
    '~') root=$HOME ;;
    '~/'*) root=$HOME/${root#??} ;;
  esac
  for folder in "$root"/*/; do
    [[ -e ${folder}_meta.json ]] || continue
    name=${folder%/}
    name=${name##*/}
    case "$name" in
      -* | *[[:space:][:cntrl:]\!\"\#\$%\&\'\(\)\*+,/:\;\<=\>\?@\[\\\]^\`\{\|\}\~]*) continue ;;
    esac
    printf '%s\n' "$name"
  done
}
# Reads the words before the cursor; sets at (the command), count (of positionals), option (that waits for its value),
# plain (after --) and root.
_agent_chat_scan() {
  local word equals=
  at= count=0 option= plain= root=
  for word in "$@"; do
    if [[ -n $option ]]; then
      if [[ $word == "=" && -z $equals ]]; then
        equals=1
      else
        if [[ $option == --root ]]; then root=$word; fi
        option= equals=
      fi
    elif [[ -z $plain && $word == -- ]]; then
      plain=1
    elif [[ -z $plain && $word == --root=* ]]; then
      root=${word#--root=}
    elif [[ -z $plain && $word == -?* ]]; then
      if [[ -n $(_agent_chat_value "$at" "$word") ]]; then option=$word; fi
    elif [[ $count == 0 && " $(_agent_chat_next "$at") " == *" $word "* ]]; then
      at=${at:+$at }$word
    else
      count=$((count + 1))
    fi
  done
}
# What belongs at the cursor, where the word begins with $1.
_agent_chat_wanted() {
  if [[ -n $option ]]; then
    _agent_chat_value "$at" "$option"
  elif [[ -z $plain && $1 == -* ]]; then
    _agent_chat_options "$at"
  else
    if [[ $count == 0 ]]; then _agent_chat_next "$at"; fi
    _agent_chat_positional "$at" "$count"
  fi
}
# The words that belong at the cursor, one a line.
_agent_chat_words() {
  local word
  for word in $(_agent_chat_wanted "$1"); do
    case "$word" in
      @channel) _agent_chat_channels "$root" ;;
      @*) ;;
      *) printf '%s\n' "$word" ;;
    esac
  done
}
"""

_BASH = r"""# bash completion for agent-chat; to load it: source <(agent-chat completion bash)
@SHARED@
_agent_chat() {
  local current=${COMP_WORDS[COMP_CWORD]} at count option plain root word
  _agent_chat_scan "${COMP_WORDS[@]:1:COMP_CWORD-1}"
  COMPREPLY=()
  # Bash makes a word of the = in --option=value.
  if [[ $current == "=" && -n $option ]]; then current=; fi
  if [[ $(_agent_chat_wanted "$current") == *@file* ]]; then
    compopt -o filenames 2>/dev/null
    while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -f -- "$current")
  else
    while IFS= read -r word; do
      if [[ $word == "$current"* ]]; then COMPREPLY+=("$word"); fi
    done < <(_agent_chat_words "$current")
  fi
}
complete -F _agent_chat agent-chat
"""

_ZSH = r"""#compdef agent-chat
# zsh completion for agent-chat; to load it: source <(agent-chat completion zsh)
@SHARED@
_agent_chat() {
  setopt local_options no_nomatch no_ksh_arrays
  local current=$words[CURRENT] at count option plain root
  local -a found
  _agent_chat_scan "${(@)words[2,CURRENT-1]}"
  if [[ -z $option && -z $plain && $current == --*=* ]]; then
    option=${current%%=*}
    current=${current#*=}
    compset -P '*='
  fi
  if [[ $(_agent_chat_wanted "$current") == *@file* ]]; then
    _files
  else
    found=("${(@f)$(_agent_chat_words "$current")}")
    compadd -- ${found:#}
  fi
}
if [[ $funcstack[1] == _agent-chat ]]; then
  _agent_chat "$@"
else
  (( $+functions[compdef] )) || { autoload -Uz compinit && compinit }
  compdef _agent_chat agent-chat
fi
"""

_FISH = r"""# fish completion for agent-chat; to load it: agent-chat completion fish | source

# The words that may follow the words of a command so far.
function __agent_chat_next
  switch "$argv[1]"
@NEXT@
  end
end
# The options of a command.
function __agent_chat_options
  switch "$argv[1]"
@OPTIONS@
  end
end
# What the value of an option of a command is; nothing for a flag.
function __agent_chat_value
  switch "$argv[1] $argv[2]"
@VALUES@
  end
end
# What a positional of a command is.
function __agent_chat_positional
  switch "$argv[1] $argv[2]"
@POSITIONALS@
  end
end
# The channels of a root, one a line.
function __agent_chat_channels
  set -l root $argv[1]
  test -n "$root"; or set root $AGENT_CHAT_ROOT
  test -n "$root"; or set root $HOME/agent-chat
  set root (string replace -r '^~(?=/|$)' -- $HOME $root)
  for folder in $root/*/
    test -e "$folder"_meta.json; or continue
    string match -q -r '/(?<name>[\p{L}\p{N}][\p{L}\p{N}\p{M}._-]*)/$' -- $folder; and printf '%s\n' $name
  end
end
# What belongs at the cursor, one candidate a line.
function __agent_chat_complete
  set -l current (commandline -ct)
  set -l words (commandline -opc)
  set -l at ''
  set -l count 0
  set -l option ''
  set -l plain ''
  set -l root ''
  set -l prefix ''
  for word in $words[2..-1]
    if test -n "$option"
      test "$option" = --root; and set root $word
      set option ''
    else if test -z "$plain"; and test "$word" = --
      set plain 1
    else if test -z "$plain"; and string match -q -- '--root=*' $word
      set root (string replace -- --root= '' $word)
    else if test -z "$plain"; and string match -q -r -- '^-.' $word
      test -n "$(__agent_chat_value "$at" "$word")"; and set option $word
    else if test $count = 0; and contains -- "$word" (__agent_chat_next "$at")
      set at (string trim -- "$at $word")
    else
      set count (math $count + 1)
    end
  end
  if test -z "$option$plain"; and string match -q -- '--*=*' $current
    set option (string replace -r '=.*' '' -- $current)
    set prefix $option=
  end
  begin
    if test -n "$option"
      __agent_chat_value "$at" "$option"
    else if test -z "$plain"; and string match -q -- '-*' $current
      __agent_chat_options "$at"
    else
      test $count = 0; and __agent_chat_next "$at"
      __agent_chat_positional "$at" $count
    end
  end | while read -l word
    switch $word
      case @file
        printf '%s\n' $prefix(__fish_complete_path (string replace -- "$prefix" '' "$current"))
      case @channel
        __agent_chat_channels "$root"
      case '@*'
      case '*'
        printf '%s\n' $prefix$word
    end
  end
end
complete -c agent-chat -f -a '(__agent_chat_complete)'
"""
