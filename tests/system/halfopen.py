# SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
# halfopen.py SOCKET MODE TIMES: connections that never become a client.
import socket
import sys
import time

HELLO = b"\0SP\0\0\x30\0\0"

path, mode, times = sys.argv[1], sys.argv[2], int(sys.argv[3])
for _ in range(times):
    s = socket.socket(socket.AF_UNIX)
    s.connect(path)
    try:
        if mode == "read":
            s.recv(8)
        elif mode == "partial":
            s.send(HELLO[:3])
        elif mode == "garbage":
            s.send(b"GET / HTTP/1.0\r\n\r\n")
        elif mode == "wrong-protocol":
            s.send(b"\0SP\0\0\x10\0\0")
        elif mode == "huge":
            s.send(HELLO)
            s.recv(8)
            s.send(b"\1" + b"\xff" * 8)
            time.sleep(0.01)
        elif mode == "hello":
            s.send(HELLO)
    except OSError:
        pass  # the agent may hang up first
    s.close()
