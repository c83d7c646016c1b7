# SPDX-License-Identifier: Apache-2.0
"""IREE's runtime with Tracy inside, where it is installed: recorded live, as it comes from the wheel, and compared with what its
own capture tool counts."""

import os
import re
import shutil
import socket
import threading
import unittest

import harness

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

    def test_counts_are_those_of_its_own_capture(self):
        """One session, passed through to the vendor's tool: what we read of it is what it counts."""
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        program = self.start(self.command, env={**TRACY, "TRACY_PORT": str(port), "TRACY_NO_EXIT": "1", "TRACY_NO_SAMPLING": "1"})
        relay = Relay(port)
        harness.wait_until(lambda: self.is_open(port), "the client listens")
        relay.start()
        capture = self.run_command(["iree-tracy-capture", "-f", "-o", self.path("t.tracy"), "-a", "127.0.0.1", "-p", str(relay.port)])
        self.assertEqual(program.wait(harness.TIMEOUT_S), 0)
        found = re.search(r"Zones: ([\d,]+)", re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", capture.stdout))
        self.assertTrue(found, capture)
        stream = max(relay.sessions, key=len)
        with open(self.path("stream.bin"), "wb") as file:
            file.write(stream)
        ours = self.opscope_json("import", "tracy", self.path("stream.bin"), "-o", self.path("r.opscope"), "--json")
        self.assertTrue(ours["whole"], ours)
        self.assertEqual(ours["zones"], int(found.group(1).replace(",", "")))
        self.assertEqual((ours["lost_zones"], ours["unnamed"]), (0, 0))

    def is_open(self, port):
        """By the kernel's list: a connection would be taken for a server."""
        with open("/proc/net/tcp", encoding="ascii") as v4, open("/proc/net/tcp6", encoding="ascii") as v6:
            lines = v4.readlines() + v6.readlines()
        return any(f":{port:04X} " in line.split()[1] + " " and line.split()[3] == "0A" for line in lines[1:] if ":" in line)


