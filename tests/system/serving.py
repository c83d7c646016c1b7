# SPDX-License-Identifier: Apache-2.0
"""A running `opscope view`, asked as a browser asks: requests, rows and the WebSocket. What the tests of the server share."""

import contextlib
import http.client
import json
import random
import re
import signal
import socket
import struct
import subprocess
import urllib.parse
import urllib.request

import harness
from views import ViewCase

MAGIC = 0x3152504F


def bearer(link):
    """The header with which a script asks: the token of the printed link."""
    return {"Authorization": "Bearer " + urllib.parse.parse_qs(urllib.parse.urlsplit(link).query)["token"][0]}


def fetch(link, path=""):
    """What the server of this link answers, as bytes."""
    request = urllib.request.Request(urllib.parse.urljoin(link, "/" + path), headers=bearer(link))
    with urllib.request.urlopen(request, timeout=harness.TIMEOUT_S) as answer:
        return answer.read()

OPEN, WAIT, GAP, SUMMARY = 1, 2, 4, 32


class Section:
    """Rows of one depth or lane, as tuples (start, end, share, name, zones, flags)."""

    def __init__(self, data, at):
        self.track, self.kind, self.depth, count = struct.unpack_from("<4I", data, at)
        at += 16
        columns = []
        for letter, size in (("d", 8), ("d", 8), ("f", 4), ("I", 4), ("I", 4)):
            columns.append(struct.unpack_from(f"<{count}{letter}", data, at))
            at += size * count
        columns.append(tuple(data[at:at + count]))
        self.rows = list(zip(*columns))
        self.end = at + (count + 7) // 8 * 8


def parse_rows(data):
    magic, count, since, until = struct.unpack_from("<IIdd", data, 0)
    assert magic == MAGIC, hex(magic)
    sections, at = [], 24
    for _ in range(count):
        sections.append(Section(data, at))
        at = sections[-1].end
    assert at == len(data), (at, len(data))
    return (since, until), sections


def noisy_zones(tracks, zones):
    """Lines of a trace whose times are hard to compress, so that most of its file is blocks of zones."""
    noise = random.Random(1)  # the same every time
    for track in range(tracks):
        yield ("track", f"t{track}", 1)
        for i in range(zones):
            start = 1000 * i + noise.randrange(400)
            yield ("zone", 0, start, start + noise.randrange(1, 500), f"z{noise.randrange(11)}")


class ServerCase(ViewCase):
    def serve(self, *arguments, extra=None, **options):
        """Starts the server, with `extra` in its environment; the link that it printed."""
        options = {"stdin": subprocess.DEVNULL, **options}
        self.server = subprocess.Popen([harness.OPSCOPE, "view", *map(str, arguments)],
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                       env=harness.environment(extra), start_new_session=True, **options)
        self.addCleanup(self.stop)
        self.link = self.server.stdout.readline().strip()
        if not self.link:
            self.fail(f"the server did not start: {self.server.stderr.read()}")
        return self.use(self.link)

    def use(self, link):
        """Asks the server of this link from now on."""
        parts = urllib.parse.urlsplit(link)
        self.link, self.address, self.headers = link, (parts.hostname, parts.port), bearer(link)
        return link

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        return self.path(name)

    def stop(self):
        """Ends the server as Ctrl+C does; it has to end well, and a sanitizer has nothing to say."""
        if self.server.returncode is not None:
            return
        self.server.send_signal(signal.SIGINT)
        try:
            _, errors = self.server.communicate(timeout=harness.TIMEOUT_S)
        except subprocess.TimeoutExpired:
            harness.kill_group(self.server)
            raise
        self.assertEqual((self.server.returncode, errors), (0, ""))

    def connect(self):
        connection = socket.create_connection(self.address, timeout=harness.TIMEOUT_S)
        self.addCleanup(connection.close)
        return connection

    def ask(self, path, method="GET", headers=None):
        """(status, headers, body) of one request."""
        client = http.client.HTTPConnection(*self.address, timeout=harness.TIMEOUT_S)
        with contextlib.closing(client):
            client.request(method, path, headers={**self.headers, **(headers or {})})
            answer = client.getresponse()
            return answer.status, answer.headers, answer.read()

    def get(self, path, status=200):
        found, _, body = self.ask(path)
        self.assertEqual(found, status, body[:500])
        return json.loads(body)

    def sections(self, query, trace=0):
        status, headers, body = self.ask(f"/api/t/{trace}/rows?{query}")
        self.assertEqual((status, headers["Content-Type"]), (200, "application/octet-stream"), body[:500])
        return parse_rows(body)[1]

    def send_raw(self, data):
        """The status line of the answer to these bytes, and all of the answer; the server has to close."""
        connection = self.connect()
        connection.sendall(self.signed(data))
        answer = self.read_all(connection)
        return answer.split(b"\r\n")[0].decode(), answer

    def signed(self, data):
        """The same requests, with the token."""
        line = f"HTTP/1.1\r\nAuthorization: {self.headers['Authorization']}\r\n".encode()
        return data.replace(b"HTTP/1.1\r\n", line)

    def read_all(self, connection):
        answer = b""
        with contextlib.suppress(ConnectionResetError):
            while piece := connection.recv(65536):
                answer += piece
        return answer

    def metric(self, name):
        text = self.ask("/metrics")[2].decode()
        return float(re.search(rf"^{re.escape(name)} (\S+)$", text, re.M).group(1))

    def small_trace(self, name="made.opscope"):
        return self.trace(("track", "main", 1), ("zone", 0, 1000, 2000, "outer", "a.c:1"),
                          ("zone", 1, 1100, 1300, "inner", "a.c:2"), ("zone", 1, 1500, 1600, "inner", "a.c:2"),
                          ("zone", 0, 3000, 3500, "sleep", "a.c:3"), ("open", 0, 4000, 5000, "unfinished", "a.c:4"),
                          ("signpost", 2500, "half"), ("message", 2600, "hello <b>"),
                          ("counter", 1200, 3, "queue"), ("counter", 2200, 7, "queue"),
                          ("alloc", 1300, 4096, 100, "-"), ("free", 2300, 4096, "-"), name=name)


class LiveCase(ServerCase):
    """With a WebSocket."""

    def handshake(self, headers=None, path="/api/live"):
        """The connection after the request, and the head of the answer."""
        connection = self.connect()
        lines = {"Host": f"{self.address[0]}:{self.address[1]}", "Upgrade": "websocket", "Connection": "keep-alive, Upgrade",
                 "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==", **self.headers}
        lines.update(headers or {})
        head = "".join(f"{name}: {value}\r\n" for name, value in lines.items() if value is not None)
        connection.sendall(f"GET {path} HTTP/1.1\r\n{head}\r\n".encode())
        answer = b""
        while b"\r\n\r\n" not in answer:
            piece = connection.recv(1)
            if not piece:
                break
            answer += piece
        return connection, answer.decode()

    def frame(self, opcode, data=b"", first=0x80, masked=True, length=None):
        size = len(data) if length is None else length
        head = bytes([first | opcode, (0x80 if masked else 0) | (size if size < 126 else 126)])
        if size >= 126:
            head += struct.pack(">H", size)
        mask = b"\x01\x02\x03\x04"
        body = bytes(byte ^ mask[i % 4] for i, byte in enumerate(data))
        return head + (mask if masked else b"") + body

    def read_exactly(self, connection, count):
        data = b""
        while len(data) < count:
            piece = connection.recv(count - len(data))
            self.assertTrue(piece, "the server closed")
            data += piece
        return data

    def receive(self, connection):
        """(opcode, data) of the next frame."""
        first, size = self.read_exactly(connection, 2)
        self.assertEqual(size & 0x80, 0)
        if size == 126:
            size = struct.unpack(">H", self.read_exactly(connection, 2))[0]
        return first & 15, self.read_exactly(connection, size)

    def state(self, connection):
        while True:
            opcode, data = self.receive(connection)
            if opcode == 1:
                return json.loads(data)
