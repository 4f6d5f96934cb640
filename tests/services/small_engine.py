"""A server that is up at once and answers as an engine does, for the tests of verbs; run on the node as a program.

--port N, --model-path NAME; --tag is anything, and `bad` refuses to start; --stubborn lets the first SIGTERM pass;
--hang never answers a completion; --api-key KEY is wanted by every route; --mute says that it is ready once somebody
else listens on its port.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def value(flag: str, default: str = "") -> str:
    """What follows a flag."""
    return sys.argv[sys.argv.index(flag) + 1] if flag in sys.argv else default


def say(line: str) -> None:
    print(line, flush=True)


class Engine(BaseHTTPRequestHandler):
    """The few routes that a proof asks for."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        if self.is_locked():
            return
        if self.path == "/v1/models":
            self.answer({"data": [{"id": value("--model-path")}]})
        elif self.path == "/v1/loads":
            running = int(os.environ.get("RUNNING", "0"))
            self.answer({"loads": [{"num_running_reqs": running, "num_waiting_reqs": 0}]})
        else:
            self.answer({"detail": "Not Found"}, 404)

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", "0")))
        if self.is_locked():
            return
        while "--hang" in sys.argv:
            time.sleep(60)
        message = {"role": "assistant", "content": "17 times 3 is 51."}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        self.answer({"choices": [choice], "usage": {"completion_tokens": 9}})

    def is_locked(self) -> bool:
        """The key is missing, or another one; that is answered."""
        key = value("--api-key")
        if not key or self.headers.get("Authorization") == f"Bearer {key}":
            return False
        self.answer({"error": "Unauthorized"}, 401)
        return True

    def answer(self, document: object, status: int = 200) -> None:
        body = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None: ...


def main() -> None:
    """Be the server."""
    if value("--tag") == "bad":
        sys.exit("launch_server.py: error: argument --tag: invalid choice: 'bad'")

    def end(*_: object) -> None:
        if "--stubborn" in sys.argv:
            sys.argv.remove("--stubborn")
            say("asked to end, and went on")
        else:
            os._exit(0)

    signal.signal(signal.SIGTERM, end)
    port = int(value("--port"))
    while "--mute" in sys.argv:
        with socket.socket() as door:
            if door.connect_ex(("127.0.0.1", port)) == 0:
                say("The server is fired up and ready to roll!")
                signal.pause()
        time.sleep(0.02)
    server = ThreadingHTTPServer(("127.0.0.1", port), Engine)
    say("The server is fired up and ready to roll!")
    server.serve_forever()


main()
