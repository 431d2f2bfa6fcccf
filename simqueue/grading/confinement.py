"""What keeps a submission in its place: limits of the system, another user, and a tripwire.

The tripwire is an audit hook: Python calls it before a file is opened, a process is started, a
socket is made, …, and it can't be taken out again. It gives the clear sentence. Behind it stand the
limits of the system, which hold for whoever gets past it.
"""

from __future__ import annotations

import ast
import contextlib
import importlib
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

FIRST_USER: Final = 1_600_000
NOBODY: Final = 65_534

_FORBIDDEN: Final = {
    "os.fork": "start a process (os.fork)",
    "os.forkpty": "start a process (os.forkpty)",
    "os.exec": "start a program (os.exec)",
    "os.posix_spawn": "start a process (os.posix_spawn)",
    "os.spawn": "start a process (os.spawn)",
    "os.system": "start a program (os.system)",
    "subprocess.Popen": "start a program (subprocess)",
    "pty.spawn": "start a program (pty)",
    "_thread.start_new_thread": "start a thread",
    "os.kill": "send a signal (os.kill)",
    "os.killpg": "send a signal (os.killpg)",
    "signal.pthread_kill": "send a signal",
    "os.remove": "remove a file",
    "os.rmdir": "remove a folder",
    "os.mkdir": "make a folder",
    "os.rename": "rename a file",
    "os.link": "link a file",
    "os.symlink": "link a file",
    "os.truncate": "change a file",
    "os.chmod": "change a file",
    "os.chown": "change a file",
    "os.utime": "change a file",
    "os.putenv": "change the environment",
    "shutil.rmtree": "remove a folder",
    "resource.setrlimit": "change its limits",
    "resource.prlimit": "change its limits",
    "mmap.__new__": "map memory",
    "ctypes.dlopen": "load a library (ctypes)",
    "ctypes.dlsym": "load a library (ctypes)",
    "ctypes.cdata": "reach into memory (ctypes)",
    "gc.get_objects": "look for objects that are not its own (gc)",
    "gc.get_referrers": "look for objects that are not its own (gc)",
    "sys.settrace": "trace the program",
    "sys.setprofile": "trace the program",
    "sys.addaudithook": "add an audit hook",
    "socket.__new__": "open a connection",
    "socket.connect": "open a connection",
    "socket.bind": "open a connection",
    "sqlite3.connect": "open a database of its own: use ctx.sql",
    "code.__new__": "make code out of bytes",
}


def import_first(source: str) -> None:
    """Import the modules that `source` names and that come with Python or the library.

    The user that a submission runs as may not be able to read them. Nothing of the submission runs.
    """
    with contextlib.suppress(SyntaxError, ValueError, RecursionError):
        for node in ast.walk(ast.parse(source)):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names = [node.module]
            for name in names:
                top = name.partition(".")[0]
                known = top in sys.stdlib_module_names or top in ("simqueue", "numpy", "pandas")
                if known and top not in ("antigravity", "this", "idlelib"):
                    with contextlib.suppress(Exception):
                        importlib.import_module(name)


def confine(total: float, memory: float, grader: int) -> None:
    """Take everything from this process that a submission does not need, for good.

    Parameters
    ----------
    total
        Seconds of processor time.
    memory
        Megabytes on top of what the process has now.
    grader
        The number of the grader's process: where the grader is root, it gives this one a user of
        its own.
    """
    with contextlib.suppress(ImportError):
        import resource

        for name, wanted in (
            ("RLIMIT_CPU", int(total) + 1),
            ("RLIMIT_AS", _address_space() + int(memory * 2**20)),
            ("RLIMIT_FSIZE", 0),
            ("RLIMIT_CORE", 0),
            ("RLIMIT_NPROC", 1),
            ("RLIMIT_NOFILE", 32),
        ):
            which = getattr(resource, name, None)
            if which is not None:
                with contextlib.suppress(ValueError, OSError):
                    _, most = resource.getrlimit(which)
                    limit = wanted if most == resource.RLIM_INFINITY else min(wanted, most)
                    resource.setrlimit(which, (limit, limit))
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        _become_nobody(grader)


def _address_space() -> int:
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    except (OSError, ValueError, IndexError):
        return 2**32
    return pages * os.sysconf("SC_PAGE_SIZE")


def _become_nobody(grader: int) -> None:
    """Become a user that owns nothing; one for each process where the system has enough of them."""
    del grader
    for user in (FIRST_USER + os.getpid() % 400_000, NOBODY):
        try:
            os.setgroups([])
            os.setresgid(user, user, user)
            os.setresuid(user, user, user)
        except OSError:
            continue
        return
    raise SystemExit("no user to run a submission as")


def set_tripwire(own_folder: Path, trip: Callable[[str], None]) -> None:
    """From now on call `trip` with what a submission tries to do and may not.

    It may read files of its own folder and of Python, and write none.
    """
    readable = tuple(
        os.path.realpath(place) + os.sep
        for place in (
            sys.prefix,
            sys.base_prefix,
            sys.exec_prefix,
            Path(__file__).parents[1],
            own_folder,
            "/usr/share/zoneinfo",
        )
    )
    writing = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
    forbidden, trips = _FORBIDDEN, [trip]

    def hook(event: str, args: tuple[Any, ...]) -> None:
        if event == "open":
            path, mode, flags = args
            if isinstance(path, int):
                trips[0]("open a file by its number")
            writes = bool(flags & writing) if isinstance(flags, int) else False
            if writes or (isinstance(mode, str) and set(mode) & set("wax+")):
                trips[0](f"write a file ({_named(path)})")
            elif not os.path.realpath(os.fsdecode(path)).startswith(readable):
                trips[0](f"read a file that is not its own ({_named(path)})")
        elif event in forbidden:
            trips[0](forbidden[event])

    sys.addaudithook(hook)


def _named(path: Any) -> str:
    return os.path.basename(os.fsdecode(path))[:60]
