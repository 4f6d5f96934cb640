"""A server that is hard to get rid of, for the tests of supervision; started on the node as a plain program.

It says who it is in the JSON file REPORT (argv, env, cwd, umask), starts the children that are asked for, writes the
pids of all to REPORT.pids, and lives until a file named REPORT.end appears, whose text is its exit code, or `kill N`.
A `deaf` child ignores SIGTERM, `twice` is forked twice and has lost its parent, `telling` says when it is asked to end,
`in the kernel` waits there (state D: its own child took its memory by vfork and keeps it). With `quits` the server
itself ignores SIGTERM and ends with all its children on SIGQUIT, as SGLang does; with `stays` it ignores SIGTERM.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
import time


def child(name: str, prepare: str, pids: dict[str, int]) -> None:
    """Fork one child; its pid comes back through a pipe, because it may not be a child for long."""
    reader, writer = os.pipe()
    if os.fork() == 0:
        if prepare == "twice" and os.fork() != 0:
            os._exit(0)
        if prepare == "own group":
            os.setpgid(0, 0)
        if prepare == "deaf":
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if prepare == "telling":
            signal.signal(signal.SIGTERM, lambda *_: os.write(1, b"worker was told to end\n"))
        os.write(writer, str(os.getpid()).encode())
        os.close(writer)
        if prepare == "in the kernel":
            ctypes.CDLL(None).vfork()
        while True:
            time.sleep(60)
    os.close(writer)
    pids[name] = int(os.read(reader, 32))
    os.close(reader)


def main() -> None:
    """Be the server."""
    report, wanted = sys.argv[1], sys.argv[2].split(",") if sys.argv[2] else []
    mask = os.umask(0)
    os.umask(mask)
    pids = {"main": os.getpid()}
    if {"quits", "stays"} & set(wanted):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if "quits" in wanted:

        def quit_all(*_: object) -> None:
            print("crash dump written", flush=True)
            for pid in pids.values():
                if pid != os.getpid():
                    os.kill(pid, signal.SIGKILL)
            os._exit(3)

        signal.signal(signal.SIGQUIT, quit_all)
    for name in wanted:
        if name not in ("quits", "stays"):
            child(name, name, pids)
    if "telling" in wanted:  # as SGLang does: it ends its workers itself

        def end(*_: object) -> None:
            os.kill(pids["telling"], signal.SIGKILL)
            os._exit(0)

        signal.signal(signal.SIGTERM, end)
    said = {"argv": sys.argv, "env": dict(os.environ), "cwd": os.getcwd(), "umask": mask}
    for name, document in ((report, said), (f"{report}.pids", pids)):
        with open(f"{name}.new", "w", encoding="utf-8", errors="surrogateescape") as file:
            json.dump(document, file)
        os.rename(f"{name}.new", name)
    print("to stdout", flush=True)
    print("to stderr", file=sys.stderr, flush=True)
    while not os.path.exists(f"{report}.end"):
        time.sleep(0.02)
    with open(f"{report}.end", encoding="utf-8") as file:
        words = file.read().split()
    if words[0] == "kill":
        os.kill(os.getpid(), int(words[1]))
    os._exit(int(words[0]))


main()
