"""folder.py SOCKET: asks for threads as an agent that states its folder; prints whose word for the folder counted."""

import json
import os
import socket
import sys


def ask(*requests):
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(10)
    connection.connect(sys.argv[1])
    lines = connection.makefile("rw")
    for method, params in requests:
        print(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}), file=lines, flush=True)
        answer = json.loads(next(lines))
    return answer


hello = {"client": {"name": "test", "version": "1"}, "folder": os.getcwd()}
stated = ask(("initialize", hello), ("thread/list", {}))
if "result" not in stated:
    if stated["error"]["data"]["kind"] != "forbidden":
        sys.exit(f"an agent that states its folder is refused: {stated}")
    print("nobody")
else:
    print("system" if "result" in ask(("thread/list", {})) else "agent")
