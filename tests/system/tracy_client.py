# SPDX-License-Identifier: Apache-2.0
"""A program with a Tracy client, as far as a server can tell: it listens, shakes hands, sends frames, answers questions.

    python3 tracy_client.py [--version N] [--zones N] [--threads N] [--processes N] [--exit STATUS] [--gate FILE] [--fault WHAT]

As the real one it follows the addresses that it is asked about: one that it never sent ends it with SIGSEGV. With
TRACY_NO_EXIT=1 it waits for a server before it ends, without that it does not. It takes one session.
"""

import argparse
import ctypes
import fcntl
import os
import signal
import socket
import struct
import subprocess
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
        elif kind == 2 and 0 <= address - os.getpid() < self.options.threads:
            name = "main" if address == os.getpid() else f"thread {address - os.getpid()}"
            self.send(self.client.answer("THREAD_NAME", address, name.encode()))
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
        for thread in range(1, self.options.threads):
            records += client.thread(os.getpid() + thread) + client.begin(now + 100, LOCATION) + client.end(50)
        if self.options.threads > 1:
            records += client.thread(os.getpid()) + client.begin(now + 60000, LOCATION) + client.end(50)
        tag = LITERAL << 8 if self.options.version >= 79 else LITERAL
        records += client.record("MESSAGE_LITERAL", tracy_stream.u64(now + 2000), tracy_stream.u64(tag))
        payload = struct.pack("<II", 0, 5) + b"main\0main.c\0whole"
        self.send(client.record("SOURCE_LOCATION_PAYLOAD", tracy_stream.u64(0), tracy_stream.u16(len(payload)), payload) + records)
        fault = self.options.fault
        if fault == "die":
            self.connection.recv(13)  # so that the server has what was sent
            os.kill(os.getpid(), signal.SIGKILL)
        if fault == "die-with-child":  # which has the connection, too
            self.connection.recv(13)
            if os.fork() == 0:
                os.setsid()
                wait_for(self.options.gate)
                os._exit(0)
            os.kill(os.getpid(), signal.SIGKILL)
        if fault == "fork":  # the child has no client, but all that its parent has open
            ends = os.pipe()
            if os.fork() == 0:
                os.close(ends[1])
                os.read(ends[0], 1)  # until the parent has ended
                os._exit(0)
            os.close(ends[0])
        if fault == "half":
            self.connection.sendall(tracy_stream.frame(client.end(10))[:3])
            print("waiting", flush=True)
            os.kill(os.getpid(), signal.SIGSTOP)
            return
        if fault == "garbage":  # addresses that are none, then no record at all
            self.send(client.begin(1, 0xDEADBEEFDEADBEEF) + client.begin(1, LOCATION + 8) + b"\xfa")
            self.serve()
            return
        if fault == "late":
            self.queries += self.connection.recv(13)  # the server has what was sent
            since = now_ns()
            while now_ns() - since < 6_000_000_000:
                time.sleep(0.1)
        if fault == "wait":
            print("waiting", flush=True)
            sys.stdin.read()
        self.send(client.end(500))
        self.send(client.record("TERMINATE"))
        self.serve()


def now_ns():
    """Its ticks are nanoseconds of this clock, as those of a client that does not read the CPU's counter."""
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)


def wait_for(path):
    """Until the file is there, or its folder is not there any more: then the test is over."""
    while not os.path.exists(path) and os.path.exists(os.path.dirname(path)):
        time.sleep(0.01)


def leave_network():
    """A network of its own, where only loopback is."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(0x40000000) != 0 and libc.unshare(0x50000000) != 0:  # CLONE_NEWNET, with CLONE_NEWUSER
        sys.exit(77)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        fcntl.ioctl(control, 0x8914, struct.pack("16sH14x", b"lo", 1))  # SIOCSIFFLAGS: up


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
            wait_for(options.gate)
        elif options.fault == "refuse":
            connection.sendall(b"\3")
        elif hello == b"TracyPrf" + struct.pack("<I", options.version):
            return connection
        elif hello[:8] == b"TracyPrf":
            connection.sendall(b"\2")
        connection.close()
        if options.fault in ("silent", "refuse"):
            return None


def take_sessions(listener, options):
    """As at the end of a program whose client waits for a server."""
    connection = handshake(listener, options)
    if connection and options.version > 82:
        connection.sendall(b"\1")
        connection.recv(1)
    elif connection:
        try:
            Session(connection, options).play()
        except ConnectionError:
            pass  # the server has left: then nobody is waited for
        connection.close()
    if options.fault == "again":
        options.fault = "refuse"
        handshake(listener, options)


def client(options):
    if options.fault == "network":
        leave_network()
    ctypes.CDLL(None).prctl(15, b"Tracy Profiler", 0, 0, 0)
    listener = listen()
    print("port", listener.getsockname()[1], "pid", os.getpid(), flush=True)
    child = None
    if options.fault == "inherit":  # its child has a client, and the socket of this one
        own = [option for option in sys.argv if option not in ("--fault", "inherit")]
        child = subprocess.Popen([sys.executable, "-S", *own], pass_fds=[listener.fileno()])
    if options.fault == "stop":
        os.kill(os.getpid(), signal.SIGSTOP)
    if os.environ.get("TRACY_NO_EXIT") == "1":
        take_sessions(listener, options)
    if child:
        child.wait()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--version", type=int, default=72)
    parser.add_argument("--zones", type=int, default=10)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--processes", type=int, default=0, help="clients in so many children, and none here")
    parser.add_argument("--exit", type=int, default=0)
    parser.add_argument("--gate", default="", help="a file that is waited for before anything else")
    parser.add_argument("--fault", default="")
    options = parser.parse_args()
    if options.gate and options.fault not in ("silent", "die-with-child"):
        print("at the gate", os.getpid(), flush=True)
        wait_for(options.gate)
    for _ in range(options.processes):
        if os.fork() == 0:
            client(options)
            os._exit(0)
    for _ in range(options.processes):
        _, status = os.wait()
        if status:
            sys.exit(99)
    if not options.processes:
        client(options)
    sys.exit(options.exit)


if __name__ == "__main__":
    main()
