# SPDX-License-Identifier: Apache-2.0
"""scripts/setup.sh, which comes before the build.

It is run with a PATH of the test's own, in which only the named tools exist and apt-get, apt-cache and
sudo are small recorders: no package is touched.
"""

import os
import shutil
import stat
import unittest

import harness

SETUP = os.path.join(harness.SOURCE, "scripts", "setup.sh")
# apt-get "installs" a package by making a command of its name.
FAKE_APT_GET = """#!/bin/sh
echo "$@" >> "$LOG"
[ "$1" = install ] || exit 0
for word; do
    case $word in
    -* | install | *::*) ;;
    *) [ "$word" = "$BROKEN" ] && exit 100; printf '#!/bin/sh\\n' > "$BIN/$word"; chmod +x "$BIN/$word" ;;
    esac
done
"""
FAKE_APT_CACHE = """#!/bin/sh
[ -z "$NO_LISTS" ] && echo "Package: $3"
"""
FAKE_SUDO = """#!/bin/sh
[ "$1" = -n ] && shift
exec "$@"
"""


class Setup(harness.TestCase):
    def setUp(self):
        super().setUp()
        self.bin = self.path("bin")
        self.log = self.path("apt.log")
        os.mkdir(self.bin)
        for tool in ("bash", "sh", "env", "dirname", "cat", "id", "rm", "chmod"):
            os.symlink(shutil.which(tool), os.path.join(self.bin, tool))
        self.script("apt-get", FAKE_APT_GET)
        self.script("apt-cache", FAKE_APT_CACHE)
        self.script("sudo", FAKE_SUDO)

    def script(self, name, text="#!/bin/sh\n"):
        path = os.path.join(self.bin, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)

    def setup(self, *sets, **env):
        env.update(PATH=self.bin, LOG=self.log, BIN=self.bin, BUILD=self.path("build"))
        env.setdefault("OPSCOPE_NO_INSTALL", "")
        return self.run_command([SETUP, *sets], env=env)

    def apt_calls(self):
        if not os.path.exists(self.log):
            return []
        with open(self.log, encoding="utf-8") as file:
            return file.read().splitlines()

    def test_nothing_missing_calls_nothing(self):
        for tool in ("clang-format", "shellcheck", "python3"):
            self.script(tool)
        done = self.setup("lint")
        self.assert_status(done)
        self.assertEqual(done.stdout + done.stderr, "")
        self.assertEqual(self.apt_calls(), [])

    def test_installs_just_what_is_missing(self):
        self.script("clang-format")
        self.script("python3")
        done = self.setup("lint")
        self.assert_status(done)
        self.assertIn("shellcheck", done.stdout)
        calls = self.apt_calls()
        self.assertEqual(len(calls), 1, calls)
        self.assertTrue(calls[0].startswith("install "), calls)
        self.assertIn(" shellcheck", calls[0])
        self.assertNotIn("clang-format", calls[0])

    def test_updates_the_lists_only_when_they_are_empty(self):
        self.script("python3")
        self.assert_status(self.setup("lint", NO_LISTS="1"))
        self.assertEqual([call.split()[0] for call in self.apt_calls()], ["update", "install"])

    def test_one_package_that_cannot_be_had_costs_only_itself(self):
        self.script("python3")
        done = self.setup("lint", BROKEN="shellcheck")
        self.assert_status(done)
        self.assertTrue(os.path.exists(os.path.join(self.bin, "clang-format")))
        self.assertIn("could not install shellcheck", done.stdout)
        self.assertIn("skipped", done.stdout)

    def test_no_install(self):
        self.script("python3")
        done = self.setup("lint", OPSCOPE_NO_INSTALL="1")
        self.assert_status(done)
        self.assertIn("shellcheck", done.stdout)
        self.assertIn("OPSCOPE_NO_INSTALL", done.stdout)
        self.assertEqual(self.apt_calls(), [])

    def test_missing_required_package_ends_the_call(self):
        done = self.setup("build", OPSCOPE_NO_INSTALL="1")
        self.assert_status(done, 1)
        self.assertIn("apt-get install gcc", done.stdout)
        self.assertEqual(self.apt_calls(), [])

    def test_no_apt(self):
        os.remove(os.path.join(self.bin, "apt-get"))
        done = self.setup("build")
        self.assert_status(done, 1)
        self.assertIn("no apt-get", done.stdout)

    def test_installation_drops_the_cmake_cache(self):
        os.mkdir(self.path("build"))
        cache = self.path("build", "CMakeCache.txt")
        with open(cache, "w", encoding="ascii"):
            pass
        self.script("python3")
        self.assert_status(self.setup("lint"))
        self.assertFalse(os.path.exists(cache))


if __name__ == "__main__":
    unittest.main()
