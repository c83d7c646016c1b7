# SPDX-License-Identifier: Apache-2.0
"""What was linked has the protections of cmake/Hardening.cmake, and says nothing of where it was built."""

import glob
import os
import re
import subprocess
import unittest

import harness


def cache():
    """The settings of the build under test, by name."""
    path = os.path.join(harness.BUILD, "CMakeCache.txt")
    with open(path, encoding="utf-8") as file:
        return dict(re.findall(r"^(\w+):\w+=(.*)$", file.read(), re.M))


def readelf(option, path):
    return subprocess.run(["readelf", "-W", option, path], capture_output=True, text=True, check=True).stdout


def libraries():
    """Everything of ours that lives in other people's programs."""
    patterns = ("libopscope*.so", "python/opscope/*.so")
    found = [path for pattern in patterns for path in glob.glob(os.path.join(harness.BUILD, pattern))]
    return sorted({os.path.realpath(path) for path in found})


@unittest.skipIf(cache().get("OPSCOPE_SANITIZE") or cache().get("OPSCOPE_HARDEN") == "OFF", "this build has sanitizers, or is not hardened")
@harness.needs_command("readelf")
class Protections(harness.TestCase):
    def test_everything_is_read_only_before_it_runs(self):
        for path in [harness.OPSCOPE, *libraries()]:
            self.assertIn("GNU_RELRO", readelf("-l", path), path)
            self.assertRegex(readelf("-d", path), r"BIND_NOW|FLAGS_1.*NOW", path)
            stack = re.search(r"GNU_STACK.*?(R\S*)\s", readelf("-l", path))
            self.assertEqual(stack.group(1), "RW", path)
            self.assertNotIn("TEXTREL", readelf("-d", path), path)

    def test_the_program_is_loaded_anywhere(self):
        self.assertRegex(readelf("-d", harness.OPSCOPE), r"FLAGS_1.*PIE")

    def test_stacks_and_copies_are_checked(self):
        # An adapter without one array on its stack needs no check; the program and the recorder have many.
        for path in (harness.OPSCOPE, os.path.realpath(os.path.join(harness.BUILD, "libopscope.so"))):
            symbols = readelf("--dyn-syms", path)
            self.assertIn("__stack_chk_fail", symbols, path)
            self.assertRegex(symbols, r"UND __\w+_chk\b", path)

    def test_control_flow_is_guarded(self):
        if cache().get("OPSCOPE_HAS_fcf_protection_full") != "1":
            self.skipTest("the compiler knows no -fcf-protection on this machine")
        # The linker keeps the mark where every input has it. Debian 12's own start files do not, so the archives are
        # looked at: they hold our objects alone.
        archives = glob.glob(os.path.join(harness.BUILD, "libopscope*.a"))
        self.assertTrue(archives)
        for path in archives:
            for notes in readelf("-n", path).split("\nFile: ")[1:]:
                name = notes.split("\n", 1)[0]
                self.assertIn("IBT", notes, name)
                self.assertIn("SHSTK", notes, name)


class Places(harness.TestCase):
    def test_no_file_names_the_folder_it_was_built_in(self):
        folder = harness.SOURCE.encode()
        for path in [harness.OPSCOPE, *libraries(), *glob.glob(os.path.join(harness.BUILD, "libopscope*.a"))]:
            with open(path, "rb") as file:
                self.assertNotIn(folder, file.read(), path)


if __name__ == "__main__":
    unittest.main()
