"""Rules about effects: who touches the disk, the process's surroundings, the terminal, the clock."""

from __future__ import annotations

import ast
import re

from tests.tidy import exceptions
from tests.tidy.source import Finding, imports_of, layer_of, uses_of, within

DISK_MODULES = (
    "agent_chat.storage.filesystem",
    "agent_chat.storage.file_lock",
    "agent_chat.storage.watch",
    "agent_chat.storage.real_place",
    "agent_chat.storage.named_files",
)
# Looks at the disk anywhere, outside the chat root too, and so may do nothing but look: module -> what it may use.
READING_MODULES = {
    "agent_chat.storage.real_place": tuple(
        "fcntl.ioctl os.close os.listdir os.lstat os.open os.pathconf os.path.samestat os.readlink os.stat_result"
        " os.O_CLOEXEC os.O_DIRECTORY os.O_NONBLOCK os.O_RDONLY".split()
    ),
    "agent_chat.storage.named_files": tuple(
        "os.close os.fstat os.lseek os.open os.read os.stat os.stat_result os.SEEK_SET"
        " os.O_BINARY os.O_CLOEXEC os.O_NOCTTY os.O_NOINHERIT os.O_NONBLOCK os.O_RDONLY".split()
    ),
}
CLOCK_MODULE = "agent_chat.storage.workspace"
OUTPUT_MODULE = "agent_chat.cli.output"
START_MODULE = "agent_chat.__main__"  # tells an interpreter that is too old so, before anything else can be imported
TERMINAL_LAYERS = ("cli", "hooks", "__main__")

# What neither looks at the disk nor at anything else outside the process.
PURE_OS = tuple(
    "os.altsep os.curdir os.devnull os.error os.extsep os.fsdecode os.fsencode os.fspath os.getpid os.linesep os.name"
    " os.pardir os.pathsep os.PathLike os.sep os.strerror"
    " os.path.altsep os.path.basename os.path.commonpath os.path.commonprefix os.path.curdir os.path.dirname"
    " os.path.isabs os.path.join os.path.normcase os.path.normpath os.path.pardir os.path.sep os.path.split"
    " os.path.splitdrive os.path.splitext os.path.splitroot".split()
)
# What a terminal's side may ask of its process.
TERMINAL_OS = tuple(
    "os._exit os.environ os.environb os.get_terminal_size os.getcwd os.getcwdb os.getenv os.getenvb os.geteuid"
    " os.getppid os.getuid os.isatty os.kill os.path.abspath os.path.expanduser os.path.expandvars".split()
)
ENVIRONMENT = tuple(
    "os.environ os.environb os.getenv os.getenvb os.getlogin os.path.expanduser os.path.expandvars os.putenv"
    " os.unsetenv"
    " sys.argv sys.orig_argv sys.stdin sys.stdout sys.stderr sys.__stdin__ sys.__stdout__ sys.__stderr__ sys.exit"
    " builtins.exit builtins.input builtins.quit builtins.SystemExit getpass".split()
)
OPENERS = ("builtins.open", "io.open", "io.open_code", "io.FileIO", "codecs.open", "tokenize.open")
DISK_LIBRARIES = frozenset(
    "_winapi ctypes dbm fcntl filecmp fileinput glob linecache mmap msvcrt nt posix shelve shutil sqlite3 tarfile"
    " tempfile winreg zipfile".split()
)
PATHLIB_DISK = frozenset(
    "absolute chmod cwd exists expanduser hardlink_to home is_block_device is_char_device is_dir is_fifo is_file"
    " is_mount is_socket is_symlink iterdir lchmod lstat mkdir open read_bytes read_text readlink rename resolve rglob"
    " rmdir samefile stat symlink_to touch unlink write_bytes write_text".split()
)
PRINTING = re.compile(
    r"(builtins\.(print|breakpoint|help)|sys\.(__)?std(out|err)(__)?\.(write|writelines|buffer)|os\.write"
    r"|pprint\.pp(rint)?|traceback\.print_\w+|warnings\.warn|logging)(\..*)?"
)
CLOCK = re.compile(
    r"time\.(time|monotonic|perf_counter|process_time|thread_time|clock_gettime)(_ns)?"
    r"|time\.sleep|time\.(localtime|gmtime|ctime|asctime)\(\)|datetime\.(datetime|date)\.(now|utcnow|today)"
    r"|(os\.urandom|os\.getrandom|uuid|random|secrets)(\..*)?"
)


def disk(module: str, source: str) -> list[Finding]:
    """Only the seam, the file lock and the watch touch the disk."""
    if module in DISK_MODULES:
        return []
    allowed = PURE_OS + tuple(exceptions.OS_FUNCTIONS.get(module, ()))
    if layer_of(module) in TERMINAL_LAYERS:
        allowed += TERMINAL_OS
    found = [name for name in _imported(module, source) if name[1].split(".")[0] in DISK_LIBRARIES]
    for line, name in uses_of(module, source):
        plain = re.sub(r"^(posixpath|ntpath)\b", "os.path", name)
        called = plain.replace("()", "")
        of_os = within(plain, "os") and plain != "os.path" and not any(within(called, each) for each in allowed)
        if of_os or plain in OPENERS:
            found.append((line, name))
    if any(within(name, "pathlib") for _, name in _imported(module, source)):
        found += [
            (node.lineno, f".{node.attr}")
            for node in ast.walk(ast.parse(source))
            if isinstance(node, ast.Attribute) and node.attr in PATHLIB_DISK
        ]
    where = "only storage/filesystem.py, named_files.py, file_lock.py, watch.py and real_place.py touch it"
    return [Finding(module, line, f"uses {name}; {where}") for line, name in sorted(set(found))]


def reading(module: str, source: str) -> list[Finding]:
    """Who looks at the disk outside the chat root only looks: it has nothing to write with."""
    if module not in READING_MODULES:
        return []
    allowed = PURE_OS + READING_MODULES[module]
    found = [name for name in _imported(module, source) if name[1].split(".")[0] in {*DISK_LIBRARIES, "pathlib"}]
    found = [name for name in found if name[1] != "fcntl"]
    for line, name in uses_of(module, source):
        plain = re.sub(r"^(posixpath|ntpath)\b", "os.path", name.replace("()", ""))
        of_system = plain.split(".")[0] in ("os", "fcntl") and plain != "os.path"
        if plain in OPENERS or (of_system and not any(within(plain, each) for each in allowed)):
            found.append((line, name))
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func).split(".")[-1]
            if called == "open" and any(isinstance(each, ast.Constant) for each in ast.walk(node)):
                found.append((node.lineno, "a number or mode that may open for writing"))
            elif called == "ioctl" and [ast.unparse(each) for each in node.args[1:2]] != ["_GET_FLAGS"]:
                found.append((node.lineno, "another control than FS_IOC_GETFLAGS"))
    return [Finding(module, line, f"uses {name}; it may only look at the disk") for line, name in sorted(set(found))]


def environment(module: str, source: str) -> list[Finding]:
    """Only the command line and the hooks know argv, environment, standard streams and exit."""
    if layer_of(module) in TERMINAL_LAYERS:
        return []
    return [
        Finding(module, line, f"uses {name}; only cli/ and hooks/ know argv, environment, streams and exit")
        for line, name in uses_of(module, source)
        if any(within(name, each) for each in ENVIRONMENT) and name not in exceptions.OS_FUNCTIONS.get(module, ())
    ]


def printing(module: str, source: str) -> list[Finding]:
    """Only `cli/output.py` prints."""
    if module in (OUTPUT_MODULE, START_MODULE):
        return []
    return [
        Finding(module, line, f"uses {name}; only cli/output.py prints")
        for line, name in uses_of(module, source)
        if PRINTING.fullmatch(name) and not (name == "os.write" and module in DISK_MODULES)
    ]


def clock_and_ids(module: str, source: str) -> list[Finding]:
    """Only the workspace reads the clock, sleeps or makes ids; the disk's modules are given theirs too."""
    if module == CLOCK_MODULE:
        return []
    return [
        Finding(module, line, f"uses {name}; only storage/workspace.py reads the clock, sleeps and makes ids")
        for line, name in sorted({*_imported(module, source), *uses_of(module, source)})
        if CLOCK.fullmatch(name)
    ]


def _imported(module: str, source: str) -> list[tuple[int, str]]:
    return [(each.line, each.target) for each in imports_of(module, source) if not each.checking]
