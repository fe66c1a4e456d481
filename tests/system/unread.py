# SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
# unread.py SOCKET MAP_ID: asks for 500 pages and never reads an answer.
import socket
import struct
import sys
import time

path, map_id = sys.argv[1], int(sys.argv[2])


def varint(n):
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


ref = b"\x08" + varint(map_id)
body = b"\x0a" + varint(len(ref)) + ref  # DumpRequest { map { id } }
s = socket.socket(socket.AF_UNIX)
s.connect(path)
s.send(b"\0SP\0\0\x30\0\0")  # req0
s.recv(8)
try:
    for i in range(1, 501):
        frame = b"bf\x01\x01" + struct.pack("<IHHIQ", len(body), 4, 0, 0, i) + body
        message = struct.pack(">I", 0x80000000 | i) + frame
        s.send(b"\1" + struct.pack(">Q", len(message)) + message)
except OSError:
    pass  # the agent has had enough of it
time.sleep(60)
