# SPDX-License-Identifier: Apache-2.0
"""A program with a Tracy client, as far as a server can tell: it listens, shakes hands, sends frames, answers questions.

    python3 tracy_client.py [--version N] [--zones N] [--exit STATUS] [--fault WHAT]

As the real one it follows the addresses that it is asked about: one that it never sent ends it with SIGSEGV. With
TRACY_NO_EXIT=1 it waits for a server before it ends, without that it does not. It takes one session.
"""

import argparse
import ctypes
import os
import signal
import socket
import struct
import sys
import time

import tracy_stream

LOCATION, NAME, FUNCTION, FILE, LITERAL = 0x401000, 0x501000, 0x502000, 0x503000, 0x504000
STRINGS = {NAME: b"work", FUNCTION: b"run", FILE: b"made.c", LITERAL: b"a message"}


class Session:
    """What happens after the handshake."""

    def __init__(self, connection, options):
        self.connection = connection
        self.options = options
        self.client = tracy_stream.Client(options.version)
        self.queries = b""

    def send(self, records):
        self.connection.sendall(tracy_stream.frame(records))

    def answer(self, query):
        """False: the server says good-bye."""
        kind, address = struct.unpack_from("<BQ", query)
        if kind == 0:
            return False
        if kind == 1 and address in STRINGS:
            self.send(self.client.answer("STRING_DATA", address, STRINGS[address]))
        elif kind == 2 and address == os.getpid():
            self.send(self.client.answer("THREAD_NAME", address, b"main"))
        elif kind == 3 and address == LOCATION:
            self.send(self.client.location(NAME, FUNCTION, FILE, 12))
        else:
            print(f"asked about {address:#x} with {kind}", file=sys.stderr, flush=True)
            signal.signal(signal.SIGSEGV, signal.SIG_DFL)
            os.kill(os.getpid(), signal.SIGSEGV)
        return True

    def serve(self):
        """Answers until the server says good-bye or leaves."""
        while True:
            data = self.connection.recv(4096)
            self.queries += data
            while len(self.queries) >= 13:
                query, self.queries = self.queries[:13], self.queries[13:]
                if not self.answer(query):
                    return
            if not data:
                return

    def play(self):
        client, now = self.client, now_ns()
        welcome = tracy_stream.welcome(self.options.version, pid=os.getpid(), first_tick=now, program=b"fake client")
        self.connection.sendall(welcome)
        records = client.thread(os.getpid()) + client.record("ZONE_BEGIN_ALLOC_SRCLOC", tracy_stream.u64(now + 1000))
        for _ in range(self.options.zones):
            records += client.begin(100, LOCATION) + client.end(50)
        tag = LITERAL << 8 if self.options.version >= 79 else LITERAL
        records += client.record("MESSAGE_LITERAL", tracy_stream.u64(now + 2000), tracy_stream.u64(tag))
        payload = struct.pack("<II", 0, 5) + b"main\0main.c\0whole"
        self.send(client.record("SOURCE_LOCATION_PAYLOAD", tracy_stream.u64(0), tracy_stream.u16(len(payload)), payload) + records)
        fault = self.options.fault
        if fault == "die":
            self.connection.recv(13)  # so that the server has what was sent
            os.kill(os.getpid(), signal.SIGKILL)
        if fault == "garbage":  # addresses that are none, then no record at all
            self.send(client.begin(1, 0xDEADBEEFDEADBEEF) + client.begin(1, LOCATION + 8) + b"\xfa")
            self.serve()
            return
        if fault == "wait":
            print("waiting", flush=True)
            sys.stdin.read()
        self.send(client.end(500))
        self.send(client.record("TERMINATE"))
        self.serve()


def now_ns():
    """Its ticks are nanoseconds of this clock, as those of a client that does not read the CPU's counter."""
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)


def listen():
    family = socket.AF_INET6 if os.environ.get("TRACY_ONLY_LOCALHOST") == "1" else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.bind(("::1" if family == socket.AF_INET6 else "127.0.0.1", 0))
    listener.listen(4)
    return listener


def handshake(listener, options):
    """A session with a server of our version; the others get their answer."""
    while True:
        connection, _ = listener.accept()
        hello = b""
        while len(hello) < 12:
            data = connection.recv(12 - len(hello))
            if not data:
                break
            hello += data
        if options.fault == "silent":
            connection.recv(1)  # until the server gives up
        elif options.fault == "refuse":
            connection.sendall(b"\3")
        elif hello == b"TracyPrf" + struct.pack("<I", options.version):
            return connection
        elif hello[:8] == b"TracyPrf":
            connection.sendall(b"\2")
        connection.close()
        if options.fault in ("silent", "refuse"):
            return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--version", type=int, default=72)
    parser.add_argument("--zones", type=int, default=10)
    parser.add_argument("--exit", type=int, default=0)
    parser.add_argument("--fault", default="")
    options = parser.parse_args()
    ctypes.CDLL(None).prctl(15, b"Tracy Profiler", 0, 0, 0)  # before it listens, as the thread of the real one
    listener = listen()
    print("port", listener.getsockname()[1], "pid", os.getpid(), flush=True)
    if os.environ.get("TRACY_NO_EXIT") == "1":
        connection = handshake(listener, options)
        if connection and options.version > 82:
            connection.sendall(b"\1")
            connection.recv(1)
        elif connection:
            try:
                Session(connection, options).play()
            except ConnectionError:
                pass  # the server has left: then nobody is waited for
    sys.exit(options.exit)


if __name__ == "__main__":
    main()
