# SPDX-License-Identifier: Apache-2.0
"""Stands in for Tracy's capture tool, with its arguments and as far as a client can tell: it connects, asks, takes everything, ends
the session, writes a file. CAPTURE_FAULT says what it does wrong:

    version    speaks another protocol          absent     ends before it connects
    never      never connects                   die        ends in the middle of the session
    status     writes its file and fails        empty      writes nothing
"""

import os
import socket
import struct
import sys
import time

import tracy_client
import tracy_stream

VERSION = 72


def word_after(option):
    return sys.argv[sys.argv.index(option) + 1]


def receive(connection, length):
    data = b""
    while len(data) < length:
        more = connection.recv(length - len(data))
        if not more:
            raise EOFError
        data += more
    return data


def question(kind, address):
    return struct.pack("<BQI", kind, address, 0)


def main():
    fault = os.environ.get("CAPTURE_FAULT", "")
    with open(os.environ["CAPTURE_PID_FILE"], "w", encoding="ascii") as file:
        file.write(str(os.getpid()))
    if fault == "absent":
        sys.exit(3)
    while fault == "never":
        time.sleep(1)
    version = VERSION + 2 if fault == "version" else VERSION
    connection = socket.create_connection((word_after("-a"), int(word_after("-p"))))
    connection.sendall(b"TracyPrf" + struct.pack("<I", version))
    kept = receive(connection, len(tracy_stream.welcome(version)))
    end = tracy_stream.Client(version).record("TERMINATE")
    asked = False
    while True:
        (length,) = struct.unpack("<I", receive(connection, 4))
        frame = receive(connection, length)
        kept += frame
        if fault == "die":
            sys.exit(1)
        if not asked:  # in the order of a server: the location, then what it names
            asked = True
            questions = [question(3, tracy_client.LOCATION)] + [question(1, address) for address in tracy_client.STRINGS]
            connection.sendall(b"".join(questions))
        if frame[-len(end):] == end and len(frame) == len(end) + 1:
            break
    answers = 0
    while answers < 1 + len(tracy_client.STRINGS):
        (length,) = struct.unpack("<I", receive(connection, 4))
        kept += receive(connection, length)
        answers += 1
    connection.sendall(question(0, 0))
    connection.close()
    if fault != "empty":
        with open(word_after("-o"), "wb") as file:
            file.write(kept)
    sys.exit(5 if fault == "status" else 0)


if __name__ == "__main__":
    main()
