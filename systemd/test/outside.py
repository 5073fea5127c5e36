"""outside.py THREAD: what the daemon reaches from its namespaces: the branch that git tells, and what a compaction was made by.

The model is a server of this process, whose port the configuration names: `outside.py --serve PORT`."""

import http.server
import json
import os
import socket
import sys
import time

SUMMARY = "The person wants the parser repaired, step by step; the steps so far are done and their tests pass. " * 4


class Model(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        chunk = {"choices": [{"index": 0, "delta": {"role": "assistant", "content": SUMMARY}, "finish_reason": "stop"}]}
        body = f"data: {json.dumps(chunk)}\n\ndata: [DONE]\n\n".encode()
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


if sys.argv[1] == "--serve":
    http.server.HTTPServer(("127.0.0.1", int(sys.argv[2])), Model).serve_forever()

connection = socket.socket(socket.AF_UNIX)
connection.settimeout(30)
connection.connect(os.environ["XDG_RUNTIME_DIR"] + "/longhaul/v1.sock")
lines = connection.makefile("rw")


def ask(method, **params):
    print(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}), file=lines, flush=True)
    answer = json.loads(next(lines))
    return answer["result"] if "result" in answer else sys.exit(f"{method}: {answer['error']}")


thread = sys.argv[1]
ask("thread/sync", thread_id=thread)
seen = []
for _ in range(50):
    # A decision does not wait for a look at the repository; a later one knows it.
    step = ask("policy/step", thread_id=thread, event={"kind": "turn_ended"}, context_window=20_000)
    seen = [reason["text"].split()[0] for reason in step["decision"]["reasons"] if reason["rule"] == "repository"]
    if seen:
        break
    time.sleep(0.1)
print(*seen or [warning["message"] for warning in ask("daemon/status")["warnings"]])
print(ask("compaction/run", thread_id=thread)["strategy_used"])
