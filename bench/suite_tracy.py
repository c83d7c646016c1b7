# SPDX-License-Identifier: Apache-2.0
"""Programs built with Tracy: how fast what they send is decoded and written, beside their own capture tool in the same run, and
what being recorded costs them. The stream is made here: nested zones of a few places, times at random, LZ4 as a client packs."""

import json
import os
import random
import re
import shutil
import socket
import struct
import subprocess
import sys
import threading
import time

from run import HERE, Row, Skip, median_and_least

sys.path.insert(0, os.path.join(HERE, "..", "tests", "system"))
import tracy_stream  # noqa: E402

TITLE = "Programs built with Tracy"
CAPTURE = "iree-tracy-capture"
TRACY = {"IREE_PY_RUNTIME": "tracy", "TRACY_NO_SAMPLING": "1"}
PLACES = [0x400000 + 64 * i for i in range(8)]
FILE_NAME = 0x500000
FRAME_BYTES = 60000
THREAD = 4321
MODEL = """func.func @main(%a: tensor<32x32xf32>, %b: tensor<32x32xf32>) -> tensor<32x32xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<32x32xf32>
  %filled = linalg.fill ins(%zero : f32) outs(%empty : tensor<32x32xf32>) -> tensor<32x32xf32>
  %c = linalg.matmul ins(%a, %b : tensor<32x32xf32>, tensor<32x32xf32>) outs(%filled : tensor<32x32xf32>) -> tensor<32x32xf32>
  return %c : tensor<32x32xf32>
}
"""


def length_bytes(length):
    return b"\xff" * (length // 255) + bytes([length % 255])


def sequence(literals, offset, match):
    """One of LZ4: literals, then a copy; match 0: the last, which has none."""
    high, low = min(len(literals), 15), min(match - 4, 15) if match else 0
    out = bytes([high << 4 | low]) + (length_bytes(len(literals) - 15) if high == 15 else b"") + literals
    if not match:
        return out
    return out + struct.pack("<H", offset) + (length_bytes(match - 19) if low == 15 else b"")


def pack(data):
    """A frame of one LZ4 block, as any quick packer would make it."""
    seen, out, at, done, end = {}, [], 0, 0, len(data) - 12
    while at < end:
        key = data[at : at + 4]
        before = seen.get(key)
        seen[key] = at
        if before is None:
            at += 1
            continue
        match = 4
        while at + match < len(data) - 5 and data[before + match] == data[at + match]:
            match += 1
        out.append(sequence(data[done:at], at - before, match))
        at += match
        done = at
    out.append(sequence(data[done:], 0, 0))
    block = b"".join(out)
    return tracy_stream.u32(len(block)) + block


class Stream:
    """Some frames of nested zones that can be sent again and again: their times are differences."""

    def __init__(self, version, frames=16):
        self.version, self.client = version, tracy_stream.Client(version)
        made = random.Random(1)
        zones = b"".join(self.client.begin(100, place) + self.client.end(10) for place in PLACES)  # so that all are asked for
        self.first = pack(self.client.thread(THREAD) + self.client.begin(10**9, PLACES[0]) + self.client.end(10) + zones)
        packed, self.zones, self.ticks = [], 0, 0
        for _ in range(frames):
            records = []
            size = 0
            while size < FRAME_BYTES:
                depth = made.randint(1, 4)
                times = [made.randint(20, 900) for _ in range(2 * depth)]
                group = b"".join(self.client.begin(time, PLACES[made.randint(0, 7)]) for time in times[:depth])
                group += b"".join(self.client.end(time) for time in times[depth:])
                records.append(group)
                self.ticks += sum(times)
                size += len(group)
                self.zones += depth
            packed.append(pack(b"".join(records)))
        self.frames = b"".join(packed)

    def answer(self, query):
        kind, address = struct.unpack_from("<BQ", query)
        if kind == 3:
            return self.client.location(address + 8, address + 16, FILE_NAME, 1 + (address - PLACES[0]) // 64)
        name = {1: "STRING_DATA", 2: "THREAD_NAME"}.get(kind)
        if not name:
            return self.client.record("ACK_SERVER_QUERY_NOOP")
        return self.client.answer(name, address, f"name {address:x}".encode())

    def write(self, path, rounds):
        with open(path, "wb") as file:
            file.write(tracy_stream.welcome(self.version) + self.first)
            queries = [struct.pack("<BQI", 2, THREAD, 0)] + [struct.pack("<BQI", 3, place, 0) for place in PLACES]
            queries += [struct.pack("<BQI", 1, address, 0) for place in PLACES for address in (place + 8, place + 16)]
            queries.append(struct.pack("<BQI", 1, FILE_NAME, 0))
            file.write(tracy_stream.frame(b"".join(self.answer(query) for query in queries)))
            for _ in range(rounds):
                file.write(self.frames)
            file.write(tracy_stream.frame(self.client.record("TERMINATE")))


class Server(threading.Thread):
    """The client of one session, as a program would have it: sends the stream, answers questions."""

    def __init__(self, stream, rounds):
        super().__init__(daemon=True)
        self.stream, self.rounds, self.lock = stream, rounds, threading.Lock()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.cpu_s = 0.0  # of sending, which is not part of the rate

    def send(self, connection, data):
        with self.lock:
            connection.sendall(data)

    def answer(self, connection):
        data = b""
        while more := connection.recv(4096):
            data += more
            while len(data) >= 13:
                query, data = data[:13], data[13:]
                if query[0] == 0:
                    connection.shutdown(socket.SHUT_RDWR)
                    return
                self.send(connection, tracy_stream.frame(self.stream.answer(query)))

    def run(self):
        while True:
            connection, _ = self.listener.accept()
            hello = connection.recv(12, socket.MSG_WAITALL)
            if hello == b"TracyPrf" + struct.pack("<I", self.stream.version):
                break
            connection.sendall(b"\2")
            connection.close()
        try:
            self.send(connection, tracy_stream.welcome(self.stream.version) + self.stream.first)
            answering = threading.Thread(target=self.answer, args=(connection,), daemon=True)
            answering.start()
            begin = time.thread_time()
            for _ in range(self.rounds):
                self.send(connection, self.stream.frames)
            self.cpu_s = time.thread_time() - begin
            self.send(connection, tracy_stream.frame(self.stream.client.record("TERMINATE")))
            answering.join()
        except OSError:
            pass  # the server has left
        connection.close()
        self.listener.close()


def check(bench, trace, stream, rounds):
    """That the trace has all zones, and their times: a stream whose times make no sense is quickly written."""
    info = json.loads(bench.run([bench.opscope, "info", "--json", trace]))
    found, wanted = (info["zones"], info["length_ns"]), (stream.zones * rounds + 9, stream.ticks * rounds + 8 * 110 + 10)
    if found != wanted:
        raise Skip(f"the trace has {found[0]} zones in {found[1]} ns, and not {wanted[0]} in {wanted[1]} ns")


def zones_per_second(bench, make_command, zones, times=3):
    """Median and best, in millions a second of the command's own CPU time."""
    slow, quick = median_and_least([bench.timed(make_command())[0] for _ in range(times)])
    return zones / slow / 1e6, zones / quick / 1e6


def decoding(bench):
    rounds = 40 if bench.quick else 400
    for version in (82, 72):
        stream = Stream(version)
        zones, path = stream.zones * rounds, bench.path("stream.bin")
        stream.write(path, rounds)
        command = [bench.opscope, "import", "tracy", path, "--protocol", str(version), "-o", bench.path("tracy.opscope")]
        rate, best = zones_per_second(bench, lambda command=command: command, zones)
        check(bench, command[-1], stream, rounds)
        size = os.path.getsize(path) / zones
        yield Row(f"import of {zones / 1e6:.0f} M zones, protocol {version} ({size:.1f} B a zone)", rate, "M zones/s", limit=15,
                  limit_text=">= 15 M zones/s", at_least=True, best=best)
        os.unlink(path)


def live_session(bench):
    """The same session, sent to opscope and to the vendor's tool."""
    stream, rounds = Stream(72), 20 if bench.quick else 200
    zones, servers = stream.zones * rounds, []

    def serve(command):
        server = Server(stream, rounds)
        servers.append(server)
        server.start()
        return [word.format(port=server.port) for word in command]

    ours = [bench.opscope, "attach", "--tracy", "127.0.0.1:{port}", "-o", bench.path("live.opscope")]
    theirs = [CAPTURE, "-f", "-o", bench.path("live.tracy"), "-a", "127.0.0.1", "-p", "{port}"]
    floor = {}
    if shutil.which(CAPTURE):
        floor = {"floor": zones_per_second(bench, lambda: serve(theirs), zones)[0], "floor_name": CAPTURE}
    rate, best = zones_per_second(bench, lambda: serve(ours), zones)
    check(bench, bench.path("live.opscope"), stream, rounds)
    sending = median_and_least([server.cpu_s for server in servers[-3:]])[0] / zones * 1e9
    yield Row(f"live session of {zones / 1e6:.0f} M zones, protocol 72 (besides, its client: {sending:.1f} ns a zone)", rate,
              "M zones/s", best=best, limit=15, limit_text=">= 15 M zones/s", at_least=True, **floor)
    if not floor:
        yield Skip(f"the same by the vendor's capture tool: {CAPTURE} is not installed")


def iteration_us(command, env):
    """What the program itself measures."""
    done = subprocess.run(command, env={**os.environ, **env}, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    found = re.search(rb"\{.*\}", done.stdout, re.S)
    if done.returncode != 0 or not found:
        raise Skip(f"{' '.join(command)} ended with {done.returncode}")
    (row,) = [row for row in json.loads(found.group())["benchmarks"] if row["run_type"] == "iteration"]
    return row["real_time"] * {"ns": 1e-3, "us": 1, "ms": 1e3}[row["time_unit"]]


def captured_us(bench, command):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    capture = subprocess.Popen([CAPTURE, "-f", "-o", bench.path("iree.tracy"), "-a", "127.0.0.1", "-p", str(port)],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        return iteration_us(command, {**TRACY, "TRACY_PORT": str(port), "TRACY_NO_EXIT": "1"})
    finally:
        capture.wait(60)


def profiled_program(bench):
    tools = ("iree-compile", "iree-benchmark-module", CAPTURE)
    missing = [tool for tool in tools if not shutil.which(tool)]
    if missing:
        yield Skip(f"time of a program that is recorded, beside the vendor's capture tool: {missing[0]} is not installed")
        return
    model, module = bench.path("m.mlir"), bench.path("m.vmfb")
    with open(model, "w", encoding="utf-8") as file:
        file.write(MODEL)
    subprocess.run(["iree-compile", "--iree-hal-target-backends=llvm-cpu", model, "-o", module], check=True, stderr=subprocess.DEVNULL)
    command = ["iree-benchmark-module", "--module=" + module, "--device=local-sync", "--function=main", "--input=32x32xf32=2",
               "--input=32x32xf32=3", f"--benchmark_min_time={2000 if bench.quick else 40000}x", "--benchmark_format=json"]
    recorded = [bench.opscope, "run", "-q", "--python-trace=off", "-o", bench.path("iree.opscope"), "--", *command]
    without = [bench.opscope, "run", "-q", "--no-tracy", "--python-trace=off", "-o", bench.path("no.opscope"), "--", *command]
    ours, theirs, alone = [], [], []
    for turn in range(3 if bench.quick else 31):  # in turns: what else the machine does falls on all; one is off by 10 % easily
        ours.append(iteration_us(recorded, TRACY))
        theirs.append(captured_us(bench, command))
        if turn % 4 == 0:
            alone.append(iteration_us(without, {"IREE_PY_RUNTIME": "default"}))
    median, best = median_and_least(ours)
    floor = median_and_least(theirs)[0]
    yield Row("an iteration of an IREE program under opscope run", median, "us", floor, f"under {CAPTURE}; without Tracy "
              f"{median_and_least(alone)[0]:.3g} us", 1.02 * floor, "<= 1.02 x", best=best)


def rows(bench):
    for part in (decoding, live_session, profiled_program):
        yield from part(bench)
