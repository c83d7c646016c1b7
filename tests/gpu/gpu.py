# SPDX-License-Identifier: Apache-2.0
"""What the tests on a GPU share: the tools, recording a program, reading the trace. Standard library alone; torch where a
test says so. OPSCOPE_TEST_BUILD names the build folder."""

import glob
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.abspath(os.environ.get("OPSCOPE_TEST_BUILD", os.path.join(ROOT, "build")))
OPSCOPE = os.path.join(BUILD, "opscope")


def has_gpu():
    return bool(glob.glob("/dev/nvidia[0-9]*"))


def toolkit():
    """The folder of a CUDA toolkit: an installed one, or the wheels of this Python."""
    homes = [os.environ.get("CUDA_HOME"), "/usr/local/cuda"]
    for site in {sysconfig.get_path("purelib"), sysconfig.get_path("platlib"), *sys.path}:
        homes += glob.glob(os.path.join(site, "nvidia", "cu1*")) if site else []
    for home in homes:
        if home and os.path.exists(os.path.join(home, "bin", "nvcc")):
            return home
    return None


def has_torch():
    try:
        import torch

        return torch.cuda.is_available()
    except ImportError:
        return False


def say(text):
    print("    " + text, flush=True)


class TestCase(unittest.TestCase):
    maxDiff = 2000

    @classmethod
    def setUpClass(cls):
        if not has_gpu():
            raise unittest.SkipTest("no GPU on this machine")
        cls.folder = tempfile.mkdtemp(prefix="opscope-gpu-")
        cls.home = toolkit()

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder, ignore_errors=True)

    def compile(self, source, name, *options):
        if not self.home:
            self.skipTest("nvcc not found: set CUDA_HOME, or pip install nvidia-cuda-nvcc")
        program = os.path.join(self.folder, name)
        if not os.path.exists(program):
            command = [os.path.join(self.home, "bin", "nvcc"), "-O2", "-arch=native", "-cudart", "static", *options]
            command += ["-I", os.path.join(ROOT, "include"), "-I", os.path.join(self.home, "include")]
            command += ["-L", os.path.join(self.home, "lib"), "-o", program, os.path.join(ROOT, source)]
            done = subprocess.run(command, capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return program

    def environment(self, **more):
        env = dict(os.environ, **more)
        env.setdefault("CUDA_HOME", self.home or "")
        return env

    def trace_path(self, name):
        return os.path.join(self.folder, name + ".opscope")

    def start(self, name, *command, options=(), **env):
        return subprocess.Popen(
            [OPSCOPE, "run", "-o", self.trace_path(name), *options, "--", *command],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=self.environment(**env),
        )

    def record(self, name, *command, status=0, options=(), timeout=300, **env):
        run = self.start(name, *command, options=options, **env)
        out, err = run.communicate(timeout=timeout)
        if status is not None:
            self.assertEqual(run.returncode, status, out + err)
        self.addCleanup(self.forget, name)
        return Recorded(self, self.trace_path(name), out, err)

    def forget(self, name):
        for path in glob.glob(os.path.join(glob.escape(self.folder), name + ".*")):
            os.unlink(path)


class Recorded:
    """A trace, and what the program and opscope said."""

    def __init__(self, test, path, out="", err=""):
        self.test, self.path, self.out, self.err = test, path, out, err
        self.events_read = None

    def command(self, *words):
        done = subprocess.run([OPSCOPE, *words], capture_output=True, text=True)
        self.test.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def said(self):
        """The program's line of JSON."""
        lines = [line for line in self.out.splitlines() if line.startswith("{")]
        self.test.assertTrue(lines, self.out + self.err)
        return json.loads(lines[-1])

    def info(self):
        return json.loads(self.command("info", "--json", self.path))

    def events(self):
        if self.events_read is None:
            out = self.path + ".json"
            self.command("export", "--format", "chrome", "-o", out, self.path)
            with open(out) as file:
                self.events_read = json.load(file)["traceEvents"]
            os.unlink(out)
        return self.events_read

    def runs(self, name=None):
        """Kernels, copies and sets: dicts with name, start and end (us), track, args."""
        tracks = {(e["pid"], e["tid"]): e["args"]["name"] for e in self.events() if e["name"] == "thread_name"}
        found = []
        for e in self.events():
            if e.get("cat") == "run" and (name is None or name in e["name"]):
                track = tracks.get((e["pid"], e["tid"]), "")
                found.append(
                    {
                        "name": e["name"],
                        "start": e["ts"],
                        "end": e["ts"] + e["dur"],
                        "ns": e["args"].get("ticks", 0),
                        "track": track[: -len(" runs")] if track.endswith(" runs") else track,
                        "call": e["args"].get("call", 0),
                        "args": e["args"],
                    }
                )
        return found

    def ops(self):
        return {e["args"]["call"]: e for e in self.events() if e.get("cat") == "op"}

    def zones(self, name):
        return [e for e in self.events() if e.get("cat") == "zone" and e["name"] == name]

    def losses(self):
        """Records lost, by reason."""
        return {row["reason"]: row.get("records", 0) for row in self.info().get("losses", [])}


def main():
    unittest.main(verbosity=2)
