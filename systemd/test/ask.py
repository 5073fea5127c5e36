"""ask.py METHOD [FIELD…]: asks the daemon (LONGHAUL_SOCKET names another socket) and prints one field of the answer; exit code 1 when there is none."""

import json
import os
import socket
import sys

method, *fields = sys.argv[1:]
connection = socket.socket(socket.AF_UNIX)
connection.settimeout(10)
connection.connect(os.environ.get("LONGHAUL_SOCKET") or os.environ["XDG_RUNTIME_DIR"] + "/longhaul/v1.sock")
connection.sendall(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method}).encode() + b"\n")
answer = json.loads(connection.makefile().readline())["result"]
for field in fields:
    answer = answer[field]
print(answer)
