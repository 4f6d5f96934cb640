"""A server that listens on a port and has ranks, for the tests of proofs; started on the node as a plain program.

Arguments: the port (0: none), then a word for each rank: `same` has the server's environment, `NAME=VALUE` has that
as well, `without-NAME` lacks it, `dark` has none that could be read.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys


def environment(word: str) -> dict[str, str]:
    """What the rank with this word is given."""
    if word == "dark":
        return {}
    name, equals, value = word.partition("=")
    found = {**os.environ, name: value} if equals else dict(os.environ)
    found.pop(word.replace("without-", "", 1), None)
    return found


def main() -> None:
    """Be the server until it is told to end."""
    port, words = int(sys.argv[1]), sys.argv[2:]
    door = socket.socket()
    if port:
        door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        door.bind(("127.0.0.1", port))
        door.listen()
    for number, word in enumerate(words):
        title = f"sglang::scheduler_TP{number}"
        subprocess.Popen([title, "600"], executable="/bin/sleep", env=environment(word))
    print("listening", flush=True)
    while True:
        signal.pause()


main()
