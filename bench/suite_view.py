# SPDX-License-Identifier: Apache-2.0
"""The server of `opscope view` on 50 million zones: how soon it answers, how long a step of a pan or a zoom takes, what it
holds in memory; how soon a browser shows them, and how smoothly it pans. And how soon a page can draw what a running program has
just recorded."""

import http.client
import json
import os
import random
import shutil
import socket
import struct
import subprocess
import sys
import time
import unittest
import urllib.parse

from run import Row, Skip, median_and_least

TRACKS = 30  # that a screen shows
PIXELS = 1500
MEMORY_MIB = 512
PAINT_S = 1  # from the start of the navigation until zones are on the stage
FRAMES = 50  # a second, while panning, in Chromium without a GPU
LIVE_MS = 200  # from the end of a zone in the program until its row is with the page


def bearer(link):
    """The header that every request needs."""
    return {"Authorization": "Bearer " + urllib.parse.parse_qs(link.query)["token"][0]}


class Server:
    """Started on a trace; measures how long that took."""

    def __init__(self, bench, path):
        begin = time.monotonic()
        self.process = subprocess.Popen([bench.opscope, "view", path], stdout=subprocess.PIPE, text=True)
        link = urllib.parse.urlsplit(self.process.stdout.readline().strip())
        self.client = http.client.HTTPConnection(link.hostname, link.port)
        self.headers = bearer(link)
        self.link = link.geturl()
        self.get("/api/traces")
        self.ready_s = time.monotonic() - begin

    def get(self, path):
        self.client.request("GET", path, headers=self.headers)
        answer = self.client.getresponse()
        body = answer.read()
        if answer.status != 200:
            raise RuntimeError(f"{path}: {answer.status} {body[:200]}")
        return body

    def timed_ms(self, path):
        begin = time.monotonic()
        self.get(path)
        return (time.monotonic() - begin) * 1e3

    def cpu_ms(self, path):
        """CPU time of the thread that draws: on a machine with other work the wall clock says little."""
        begin = self.used_ms()
        self.get(path)
        return self.used_ms() - begin

    def used_ms(self):
        with open(f"/proc/{self.process.pid}/schedstat", encoding="ascii") as file:
            return int(file.read().split()[0]) / 1e6

    def memory_mib(self):
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as file:
            for line in file:
                if line.startswith("VmHWM"):
                    return int(line.split()[1]) / 1024
        return 0

    def stop(self):
        self.client.close()
        self.process.terminate()
        self.process.wait()


def steps(length, depths):
    """Requests of somebody who zooms in at a third of the trace, and moves at every third zoom."""
    spec = ",".join(f"{track}:{depths}" for track in range(TRACKS))
    width, step = length, 0
    while width > 10 * PIXELS:
        since = int(min(length / 3, length - width))
        for moved in range(4 if step % 3 == 0 else 1):
            start = since + int(moved * width / 10)
            yield f"/api/t/0/rows?from={start}&to={start + int(width)}&px={PIXELS}&tracks={spec}"
        width /= 1.2
        step += 1


class Follower:
    """`opscope run --view` of a program that records a zone per line of its input, and a page that follows it."""

    def __init__(self, bench, path):
        self.process = subprocess.Popen([bench.opscope, "run", "-q", "--view", "-o", path, "--", bench.program("bench_live")],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        link = self.process.stderr.readline().decode().split("live page: ")[1].strip()
        address = urllib.parse.urlsplit(link)
        self.client = http.client.HTTPConnection(address.hostname, address.port)
        self.headers = bearer(address)
        self.socket = socket.create_connection((address.hostname, address.port))
        self.socket.sendall(f"GET /api/live HTTP/1.1\r\nHost: {address.netloc}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                            f"Authorization: {self.headers['Authorization']}\r\n"
                            "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n".encode())
        self.input = self.socket.makefile("rb")
        while self.input.readline().strip():
            pass

    def get(self, path):
        self.client.request("GET", path, headers=self.headers)
        return self.client.getresponse().read()

    def news(self):
        while True:
            first, size = self.input.read(2)
            if size == 126:
                size = struct.unpack(">H", self.input.read(2))[0]
            data = self.input.read(size)
            if first & 15 == 1:
                return json.loads(data)

    def zone(self, number):
        """Records the zone of this number; ms until the page heard of it, and until it had the row to draw."""
        self.process.stdin.write(b"on\n")
        self.process.stdin.flush()
        recorded = int(self.process.stdout.readline())
        while (state := self.news())["zones"] < number:
            pass
        heard = time.monotonic_ns()
        answer = self.get(f"/api/t/0/rows?from={max(0, state['end_ns'] - 1000000)}&to={state['end_ns'] + 1}&px=1000&tracks=0:0")
        sections, = struct.unpack_from("<I", answer, 4)
        if not sections or not struct.unpack_from("<I", answer, 36)[0]:
            raise RuntimeError("the zone is not in the answer")
        return (heard - recorded) / 1e6, (time.monotonic_ns() - recorded) / 1e6

    def stop(self):
        self.process.stdin.close()
        while b"Ctrl+C" not in self.process.stderr.readline():
            pass
        self.process.terminate()
        self.process.wait()


def live_rows(bench):
    follower = Follower(bench, bench.path("live.opscope"))
    count = 20 if bench.quick else 100
    try:
        follower.zone(1)
        measured = []
        for number in range(2, count + 2):
            time.sleep(random.uniform(0.1, 0.3))  # at no fixed place between two looks of collector, writer and server
            measured.append(follower.zone(number))
    finally:
        follower.stop()
    heard, least = median_and_least([pair[0] for pair in measured])
    yield Row(f"live: from the end of a zone until the page hears of it, median of {count}", heard, "ms", best=least)
    drawn, least = median_and_least([pair[1] for pair in measured])
    yield Row("live: until its row is there to draw", drawn, "ms", limit=LIVE_MS, limit_text=f"<= {LIVE_MS} ms", best=least)
    worst = sorted(pair[1] for pair in measured)[count * 95 // 100]
    yield Row("live: the same, 95th percentile", worst, "ms")


def browser(bench):
    """The folder of puppeteer-core and Chromium, as the tests have them; raises Skip where there is none."""
    here = os.path.dirname(os.path.abspath(__file__))
    os.environ.setdefault("OPSCOPE_TEST_BUILD", bench.build)
    sys.path.append(os.path.join(here, os.pardir, "tests", "system"))
    import harness  # pylint: disable=import-outside-toplevel
    chromium = shutil.which("chromium")
    if not chromium:
        raise Skip("the page in a browser: chromium is not installed")
    try:
        return harness.npm_package("puppeteer-core", harness.PUPPETEER_VERSION), chromium
    except unittest.SkipTest as reason:
        raise Skip(f"the page in a browser: {reason}") from reason


def page_rows(bench, server, what, length):
    """A new browser each time, the best of three paints: the machine may have had other work."""
    try:
        puppeteer, chromium = browser(bench)
        if b"app.js" not in server.get("/"):
            raise Skip("the page in a browser: this build has no page (npm)")
    except Skip as reason:
        yield reason
        return
    driver = os.path.join(os.path.dirname(os.path.abspath(__file__)), "page_speed.mjs")
    seen = []
    for _ in range(3):
        done = subprocess.run(["node", driver, puppeteer, chromium, server.link, str(length)], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            yield Skip(f"{what}, the page in a browser: {(done.stderr.strip().splitlines() or ['no word'])[-1]}")
            return
        seen.append(json.loads(done.stdout))
    paint, least = median_and_least([one["paint_ms"] / 1e3 for one in seen])
    yield Row(f"{what}: zones on the screen of a new browser", paint, "s", limit=PAINT_S, limit_text=f"<= {PAINT_S} s", best=least)
    frames = sorted(one["frames_per_s"] for one in seen)
    yield Row(f"{what}: frames while panning, no GPU", frames[len(frames) // 2], "/s", limit=FRAMES, limit_text=f">= {FRAMES} /s", at_least=True,
              best=frames[-1])
    slow, least = median_and_least([one["slow_frame_ms"] for one in seen])
    yield Row(f"{what}: time between two of them, 95th percentile", slow, "ms", best=least)


def rows(bench):
    yield from live_rows(bench)
    millions = 5 if bench.quick else 50
    for name, depths in (("random", "0"), ("nested", "0-3")):
        path = bench.path(f"{name}.opscope")
        env = dict(os.environ, BENCH_TRACE_SET=name, BENCH_TRACE_KEEP="1")
        bench.run([bench.program("bench_trace"), path, str(millions)], env=env)
        server = Server(bench, path)
        try:
            what = f"{millions} M zones, {name}"
            yield Row(f"{what}: server ready", server.ready_s, "s", limit=1, limit_text="<= 1 s")
            first_ms = server.timed_ms("/api/t/0/trace") + server.timed_ms("/api/t/0/names")
            yield Row(f"{what}: tracks and names, the first time", first_ms, "ms")
            length = server_length(server)
            measured = sorted(server.cpu_ms(path) for path in steps(length, depths))
            yield Row(f"{what}: rows of {TRACKS} tracks, {PIXELS} pixels, CPU, median", measured[len(measured) // 2], "ms",
                      limit=16, limit_text="<= 16 ms", best=measured[0])
            yield Row(f"{what}: the same, 99th percentile", measured[len(measured) * 99 // 100], "ms", limit=50,
                      limit_text="<= 50 ms", floor_name=f"of {len(measured)} requests")
            yield from page_rows(bench, server, what, length)
            yield Row(f"{what}: statistics of all zones", server.timed_ms("/api/t/0/zones?top=50"), "ms")
            yield Row(f"{what}: flame graph of all zones", server.timed_ms("/api/t/0/flame"), "ms")
            yield Row(f"{what}: memory", server.memory_mib(), "MiB", limit=MEMORY_MIB, limit_text=f"<= {MEMORY_MIB} MiB")
        finally:
            server.stop()
            os.unlink(path)


def server_length(server):
    return json.loads(server.get("/api/traces"))["traces"][0]["duration_ns"]
