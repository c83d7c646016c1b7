# SPDX-License-Identifier: Apache-2.0
"""The server of `opscope view` on 50 million zones: how soon it answers, how long a step of a pan or a zoom takes, what it
holds in memory."""

import http.client
import json
import os
import subprocess
import time
import urllib.parse

from run import Row

TRACKS = 30  # that a screen shows
PIXELS = 1500
MEMORY_MIB = 512


class Server:
    """Started on a trace; measures how long that took."""

    def __init__(self, bench, path):
        begin = time.monotonic()
        self.process = subprocess.Popen([bench.opscope, "view", path], stdout=subprocess.PIPE, text=True)
        link = urllib.parse.urlsplit(self.process.stdout.readline().strip())
        self.client = http.client.HTTPConnection(link.hostname, link.port)
        self.get("/api/traces")
        self.ready_s = time.monotonic() - begin

    def get(self, path):
        self.client.request("GET", path)
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


def rows(bench):
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
            yield Row(f"{what}: statistics of all zones", server.timed_ms("/api/t/0/zones?top=50"), "ms")
            yield Row(f"{what}: flame graph of all zones", server.timed_ms("/api/t/0/flame"), "ms")
            yield Row(f"{what}: memory", server.memory_mib(), "MiB", limit=MEMORY_MIB, limit_text=f"<= {MEMORY_MIB} MiB")
        finally:
            server.stop()
            os.unlink(path)


def server_length(server):
    return json.loads(server.get("/api/traces"))["traces"][0]["duration_ns"]
