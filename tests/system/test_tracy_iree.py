# SPDX-License-Identifier: Apache-2.0
"""IREE's runtime with Tracy inside, where it is installed: recorded live, as it comes from the wheel, and compared with what its
own capture tool counts."""

import csv
import os
import re
import shutil
import socket
import struct
import threading
import unittest

import harness
import tracy_stream

TOOLS = ("iree-compile", "iree-run-module", "iree-tracy-capture")
MODEL = """func.func @main(%a: tensor<64x64xf32>, %b: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<64x64xf32>
  %filled = linalg.fill ins(%zero : f32) outs(%empty : tensor<64x64xf32>) -> tensor<64x64xf32>
  %c = linalg.matmul ins(%a, %b : tensor<64x64xf32>, tensor<64x64xf32>) outs(%filled : tensor<64x64xf32>) -> tensor<64x64xf32>
  return %c : tensor<64x64xf32>
}
"""
MISSING = [tool for tool in TOOLS if not shutil.which(tool)]
TRACY = {"IREE_PY_RUNTIME": "tracy"}


class Relay(threading.Thread):
    """Between a capture tool and a client: everything that the client sends is kept."""

    def __init__(self, port):
        super().__init__(daemon=True)
        self.target = port
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.sessions = []

    def pass_on(self, source, sink, kept):
        try:
            while data := source.recv(65536):
                kept += data
                sink.sendall(data)
        except OSError:
            pass
        for end in (source, sink):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def run(self):
        while True:
            server, _ = self.listener.accept()
            client = socket.create_connection(("127.0.0.1", self.target))
            kept = bytearray()
            self.sessions.append(kept)
            threading.Thread(target=self.pass_on, args=(server, client, bytearray()), daemon=True).start()
            self.pass_on(client, server, kept)


class Decoded:
    """The same stream, read a second time by the description of the protocol alone: protocol 72, zones and the last time."""

    SHORTER = {"MESSAGE": 9, "MESSAGE_CALLSTACK": 9, "MESSAGE_COLOR": 12, "MESSAGE_COLOR_CALLSTACK": 12, "CONTEXT_SWITCH": 20,
               "THREAD_WAKEUP": 13}
    # where the time of a record is, and from which time it counts
    TIMES = {"PLOT_DATA_INT": (9, "thread"), "PLOT_DATA_FLOAT": (9, "thread"), "PLOT_DATA_DOUBLE": (9, "thread"), "MEM_ALLOC": (1, "serial"),
             "MEM_FREE": (1, "serial"), "SYS_TIME_REPORT": (1, None), "ZONE_BEGIN": (1, "thread"), "ZONE_END": (1, "thread"),
             "ZONE_BEGIN_ALLOC_SRCLOC": (1, "thread")}

    def __init__(self, stream):
        self.ns_per_tick, self.first = struct.unpack_from("<dq", stream, 1)
        self.zones, self.last_ns = [], 0  # (start, duration), in ns since the start of the program
        self.times, self.stacks, self.thread = {"thread": 0, "serial": 0}, {}, 0
        names = [name for name, since, is_fork in tracy_stream.RECORDS if since <= 72 and not is_fork]
        self.kinds = [(name, self.SHORTER.get(name, tracy_stream.SIZES[name]), tracy_stream.BODIES[name]) for name in names]
        at, decoded = 1179, bytearray()
        while at + 4 <= len(stream):
            (length,) = struct.unpack_from("<I", stream, at)
            begin = len(decoded)
            self.unpack(stream[at + 4 : at + 4 + length], decoded)
            self.walk(bytes(decoded[begin:]))
            at += 4 + length

    @staticmethod
    def length(block, at, length):
        while length >= 15 and block[at] == 255:
            length, at = length + 255, at + 1
        return (length + block[at], at + 1) if length >= 15 else (length, at)

    def unpack(self, block, out):
        at = 0
        while at < len(block):
            token = block[at]
            literals, at = self.length(block, at + 1, token >> 4)
            out += block[at : at + literals]
            at += literals
            if at >= len(block):
                return
            offset = block[at] | block[at + 1] << 8
            match, at = self.length(block, at + 2, token & 15)
            for _ in range(match + 4):
                out.append(out[-offset])

    def walk(self, data):
        at = 0
        while at < len(data):
            name, size, body = self.kinds[data[at]]
            self.take(name, data, at)
            at += size
            if body != "NONE":
                prefix = 4 if body == "TEXT32" else 2
                at += prefix + int.from_bytes(data[at : at + prefix], "little")

    def take(self, name, data, at):
        if name == "THREAD_CONTEXT":
            (self.thread,) = struct.unpack_from("<I", data, at + 1)
            self.times["thread"] = 0
        if name not in self.TIMES:
            return
        place, base = self.TIMES[name]
        (ticks,) = struct.unpack_from("<q", data, at + place)
        if base:
            ticks += self.times[base]
            self.times[base] = ticks
        ns = int((ticks - self.first) * self.ns_per_tick)
        self.last_ns = max(self.last_ns, ns)
        stack = self.stacks.setdefault(self.thread, [])
        if name.startswith("ZONE_BEGIN"):
            stack.append(ns)
        elif name == "ZONE_END":
            start = stack.pop()
            self.zones.append((start, ns - start))


@unittest.skipIf(MISSING, f"{MISSING and MISSING[0]} is not installed")
class Iree(harness.TestCase):
    def setUp(self):
        super().setUp()
        with open(self.path("m.mlir"), "w", encoding="utf-8") as file:
            file.write(MODEL)
        self.assert_status(self.run_command(["iree-compile", "--iree-hal-target-backends=llvm-cpu", "m.mlir", "-o", "m.vmfb"],
                                            cwd=self.folder))
        self.command = ["iree-run-module", "--module=" + self.path("m.vmfb"), "--device=local-task", "--function=main",
                        "--input=64x64xf32=2", "--input=64x64xf32=3"]

    def native_zones(self, trace):
        """Zones of the runtime by name; calls of Python are left out."""
        rows = self.opscope_json("zones", trace, "--all", "--json")["rows"]
        return {row["name"]: row["count"] for row in rows if (row["file"] or "").endswith((".c", ".h", ".cc"))}

    def test_run(self):
        bare = self.run_command(self.command, env=TRACY)
        self.assert_status(bare)
        trace = self.path("t.opscope")
        done = self.opscope("run", "-o", trace, "--", *self.command, env=TRACY)
        self.assert_status(done)
        self.assertEqual(done.stdout, bare.stdout)
        zones = self.native_zones(trace)
        self.assertEqual(zones["iree_tooling_run_module_with_data"], 1)
        self.assertIn("0 lost", done.stderr + " 0 lost")
        threads = {track["name"] for track in self.opscope_json("info", trace, "--json")["tracks"] if track["zones"]}
        self.assertIn("iree-worker-0", threads)

    def test_with_its_own_capture_tool(self):
        """Its file beside our trace, of the same session; two programs have two."""
        trace, tools = self.path("t.opscope"), os.path.dirname(shutil.which("iree-tracy-capture"))
        command = " ".join(self.command)
        done = self.opscope("run", "-o", trace, "--tracy-tools", tools, "--", "sh", "-c", f"{command} > out; {command} > out; exit 6", env=TRACY)
        self.assert_status(done, 6)
        self.assertNotIn("capture tool", done.stderr)
        self.assertEqual(self.native_zones(trace)["iree_tooling_run_module_with_data"], 2)
        self.assertGreater(os.path.getsize(self.path("t.tracy")), 1000)
        self.assertGreater(os.path.getsize(self.path("t.2.tracy")), 1000)

    def test_status_and_three_at_once(self):
        wrong = " ".join(part.replace("=main", "=none") for part in self.command)
        command = " ".join(self.command)
        trace = self.path("t.opscope")
        done = self.opscope("run", "-o", trace, "--", "sh", "-c", f"({command} & {command} & wait) > out; {wrong}", env=TRACY)
        self.assert_status(done, 1)
        self.assertEqual(self.native_zones(trace)["iree_tooling_run_module_with_data"], 3)

    def test_python(self):
        """Calls of Python, and the runtime's zones, are in one trace of one process."""
        with open(self.path("p.py"), "w", encoding="utf-8") as file:
            file.write("import iree.runtime as rt\n\n\ndef load():\n"
                       "    config = rt.Config('local-sync')\n"
                       f"    return rt.VmModule.mmap(config.vm_instance, {self.path('m.vmfb')!r})\n\n\nload()\n")
        trace = self.path("t.opscope")
        done = self.opscope("run", "-o", trace, "--", "python3", self.path("p.py"), env=TRACY)
        self.assert_status(done)
        rows = self.opscope_json("zones", trace, "--all", "--json")["rows"]
        self.assertTrue(any(row["name"] == "load" for row in rows), "no call of Python")
        self.assertTrue(self.native_zones(trace), "no zone of the runtime")
        processes = [process for process in self.opscope_json("info", trace, "--json")["processes"] if process["zones"]]
        self.assertEqual(len(processes), 1)

    def test_counts_and_times_are_those_of_its_own_capture(self):
        """One session, passed through to the vendor's tool: what we read of it is what it counts. It says the time of the last event;
        a second reading has that, too, and every zone as we have it."""
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        program = self.start(self.command, env={**TRACY, "TRACY_PORT": str(port), "TRACY_NO_EXIT": "1", "TRACY_NO_SAMPLING": "1"})
        relay = Relay(port)
        harness.wait_until(lambda: self.is_open(port), "the client listens")
        relay.start()
        capture = self.run_command(["iree-tracy-capture", "-f", "-o", self.path("t.tracy"), "-a", "127.0.0.1", "-p", str(relay.port)])
        self.assertEqual(program.wait(harness.TIMEOUT_S), 0)
        said = re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", capture.stdout)
        found = re.search(r"Zones: ([\d,]+)", said)
        self.assertTrue(found, capture)
        stream = max(relay.sessions, key=len)
        with open(self.path("stream.bin"), "wb") as file:
            file.write(stream)
        ours = self.opscope_json("import", "tracy", self.path("stream.bin"), "-o", self.path("r.opscope"), "--json")
        self.assertTrue(ours["whole"], ours)
        self.assertEqual(ours["zones"], int(found.group(1).replace(",", "")))
        self.assertEqual((ours["lost_zones"], ours["unnamed"]), (0, 0))
        decoded = Decoded(bytes(stream))
        span = re.search(r"Time span: ([\d,.]+) (us|ms|s)\b", said)
        self.assertTrue(span, said)
        unit = {"us": 1e3, "ms": 1e6, "s": 1e9}[span.group(2)]
        self.assertAlmostEqual(decoded.last_ns / unit, float(span.group(1).replace(",", "")), delta=0.0101)
        out = self.path("zones.csv")
        self.assert_status(self.opscope("export", "--format", "csv", self.path("r.opscope"), "-o", out))
        with open(out, encoding="utf-8", newline="") as file:
            zones = sorted((int(row["start_ns"]), int(row["duration_ns"])) for row in csv.DictReader(file))
        first = min(decoded.zones)[0] - zones[0][0]
        self.assertEqual([(start + first, duration) for start, duration in zones], sorted(decoded.zones))

    def is_open(self, port):
        """By the kernel's list: a connection would be taken for a server."""
        with open("/proc/net/tcp", encoding="ascii") as v4, open("/proc/net/tcp6", encoding="ascii") as v6:
            lines = v4.readlines() + v6.readlines()
        return any(f":{port:04X} " in line.split()[1] + " " and line.split()[3] == "0A" for line in lines[1:] if ":" in line)


if __name__ == "__main__":
    unittest.main()
