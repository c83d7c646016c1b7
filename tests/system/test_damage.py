# SPDX-License-Identifier: Apache-2.0
"""Traces that were cut, flipped, blown up or are none at all: a clear message and status 2, or the right numbers;
never a crash, a hang or wrong numbers without a word. --salvage reads the blocks that are whole."""

import os
import random
import struct
import unittest

import facts
import harness

COMMANDS = ("info", "summary", "zones", "tree", "messages", "ops")


class Damage(harness.TestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        maker = harness.TestCase()
        maker.setUp()
        cls.addClassCleanup(maker.doCleanups)
        path = maker.path("t.opscope")
        steps = ["message=first", "noisy=60000", "threads=4,20000", "others=500", "fork=3,1000", "open=outer", "raise=9"]
        done = harness.opscope("run", "--on-full=wait", "-o", path, "--", harness.program("script"), *steps)
        assert done.status == -9, done
        cls.trace = facts.Trace(path)
        with open(path, "rb") as file:
            cls.data = file.read()
        cls.zones = cls.trace.zones
        assert cls.zones == 60000 + 80000 + 3000, cls.zones

    def write(self, data):
        path = self.path("damaged.opscope")
        with open(path, "wb") as file:
            file.write(data)
        return path

    def read(self, data, *options, command="zones"):
        """Runs a command on these bytes. It may refuse (2, with a message that names the file) or succeed."""
        path = self.write(data)
        done = self.opscope(command, path, *options, "--json")
        self.assertIn(done.status, (0, 2), done)
        if done.status == 2:
            self.assertEqual(done.stdout, "", done)
            self.assertIn(path, done.stderr)
            self.assertLess(len(done.stderr.splitlines()), 4, done)
            return None
        return done.json()

    def refused(self, data, *options):
        path = self.write(data)
        for command in COMMANDS:
            done = self.opscope(command, path, *options)
            self.assertEqual((done.status, done.stdout), (2, ""), done)
            self.assertIn(path, done.stderr)
        return done.stderr

    def test_truncated(self):
        """A cut file is refused, or (like one that is still growing) read up to its last checkpoint, and says so."""
        size = len(self.data)
        for length in [size - 1, size - 63, size - 64, size - 65, size - 4000, size * 3 // 4, size // 2, size // 4, 5000]:
            shown = self.read(self.data[:length])
            if shown is not None:
                self.assertFalse(shown["is_complete"], length)
                self.assertLessEqual(shown["zones"], self.zones)
                self.assertTrue(any("unfinished" in note for note in shown["notes"]), shown["notes"])
            salvaged = self.read(self.data[:length], "--salvage")
            self.assertIsNotNone(salvaged, length)
            self.assertTrue(salvaged["is_salvaged"])
            self.assertLessEqual(salvaged["zones"], self.zones)
            if length > size // 2:
                self.assertGreater(salvaged["zones"], self.zones // 4, length)

    def test_salvage_finds_every_whole_block(self):
        """The index at the end is lost, the blocks are not."""
        cut = self.read(self.data[: len(self.data) - 64], "--salvage")
        self.assertEqual(cut["zones"], self.zones)
        whole = self.read(self.data, "--salvage")
        self.assertEqual(whole["zones"], self.zones)
        self.assertEqual([zone["name"] for zone in whole["open_zones"]], ["outer"])

    def test_salvage_of_a_tail(self):
        """The beginning is gone: blocks are found after it, wherever they start."""
        for start in (1, 777, len(self.data) // 3, len(self.data) // 2):
            shown = self.read(self.data[start:], "--salvage")
            if shown is not None:
                self.assertLessEqual(shown["zones"], self.zones)

    def test_bit_flips(self):
        """One bit anywhere: noticed, or harmless; never other numbers without a word."""
        noise = random.Random(2)
        positions = list(range(0, 512, 7)) + [len(self.data) - 1 - i for i in range(0, 200, 7)]
        positions += [noise.randrange(len(self.data)) for _ in range(60 * harness.REPEAT)]
        noticed = 0
        for position in positions:
            data = bytearray(self.data)
            data[position] ^= 1 << noise.randrange(8)
            shown = self.read(bytes(data))
            if shown is None or shown["notes"] != self.reference_notes():
                noticed += 1
            else:
                self.assertEqual(shown["zones"], self.zones, position)
            salvaged = self.read(bytes(data), "--salvage")
            if salvaged is not None:
                self.assertLessEqual(salvaged["zones"], self.zones)
                self.assertGreater(salvaged["zones"], self.zones // 2, position)
        self.assertGreater(noticed, len(positions) // 2)

    def reference_notes(self):
        if not hasattr(type(self), "notes"):
            type(self).notes = self.read(self.data)["notes"]
        return type(self).notes

    def test_holes(self):
        """Parts overwritten with zeros or noise, as a crashed machine leaves them."""
        noise = random.Random(3)
        size = len(self.data)
        for filler in (bytes(4096), noise.randbytes(4096)):
            for position in (0, 4096, size // 3, size // 2, size - 4096):
                data = self.data[:position] + filler + self.data[position + 4096 :]
                for command in COMMANDS:
                    self.read(data, command=command)
                    shown = self.read(data, "--salvage", command=command)
                    if command == "zones" and shown is not None:
                        self.assertLessEqual(shown["zones"], self.zones)

    def test_numbers_that_are_far_too_large(self):
        """Counts and sizes blown up wherever a small one stands in the first and the last blocks."""
        starts = list(range(0, 4096, 4)) + list(range(len(self.data) // 4 * 4 - 2048, len(self.data) - 8, 4))
        noise = random.Random(4)
        for position in noise.sample(starts, 120):
            data = bytearray(self.data)
            value = noise.choice((0xFFFFFFFF, 0x7FFFFFFF, 0x80000000, 0x10000000))
            struct.pack_into("<I", data, position, value)
            self.read(bytes(data))
            self.read(bytes(data), "--salvage")

    def test_more_behind_the_end(self):
        for tail in (b"x", bytes(100), self.data[:500], random.Random(5).randbytes(70000)):
            shown = self.read(self.data + tail)
            if shown is not None:
                self.assertIn(shown["zones"], (self.zones,))
            salvaged = self.read(self.data + tail, "--salvage")
            self.assertEqual(salvaged["zones"], self.zones)

    def test_a_file_of_many_gigabytes_with_nothing_in_it(self):
        path = self.write(self.data[:4096])
        for size, options in ((64 << 30, []), (256 << 20, ["--salvage"])):
            os.truncate(path, size)
            done = self.opscope("info", path, *options, "--json")
            self.assertIn(done.status, (0, 2), done)

    def test_what_is_no_trace(self):
        for data in (b"", b"\0", b"hello\n" * 100, bytes(100000), b"{}", self.data[:8], self.data[8:]):
            message = self.refused(data)
            self.assertRegex(message, r"not a trace|not an? opscope trace|too short|cut short|empty|damaged|no trace")

    def test_names_that_cannot_be_opened(self):
        for path in (self.path("missing.opscope"), self.folder, "/dev/null"):
            for command in COMMANDS:
                done = self.opscope(command, path)
                self.assertEqual((done.status, done.stdout), (2, ""), done)
                self.assertIn(path, done.stderr)

    def test_a_trace_from_a_newer_version(self):
        data = bytearray(self.data)
        struct.pack_into("<I", data, 12, 999)  # the oldest version that can read it
        message = self.refused(bytes(data))
        self.assertRegex(message, "newer|version|damaged")

    def test_exports_of_damaged_traces(self):
        noise = random.Random(6)
        for _ in range(10):
            data = bytearray(self.data)
            for _ in range(5):
                data[noise.randrange(len(data))] ^= 1 << noise.randrange(8)
            path = self.write(bytes(data))
            for name in ("chrome", "perfetto", "speedscope"):
                done = self.opscope("export", path, "--salvage", "--format", name, "-o", self.path("out"))
                self.assertIn(done.status, (0, 2), done)


if __name__ == "__main__":
    unittest.main()
