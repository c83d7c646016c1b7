# SPDX-License-Identifier: Apache-2.0
"""What `make install` gives: the library's outside, and programs of others that are built against it."""

import glob
import os
import re
import unittest

import harness

# The program of the README: zones in four threads, and two forks.
CLIENT = r"""
#include <opscope/opscope.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

static void *work(void *argument)
{
    for (int i = 0; i < 100; i++) {
        OPSCOPE_ZONE("work");
        OPSCOPE_COUNTER("step", i);
    }
    return argument;
}

static void threads(void)
{
    pthread_t thread[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&thread[i], NULL, work, NULL);
    for (int i = 0; i < 4; i++)
        pthread_join(thread[i], NULL);
}

int main(void)
{
    for (int i = 0; i < 2; i++) {
        if (fork() == 0) {
            threads();
            return 0;
        }
    }
    threads();
    while (wait(NULL) > 0)
        ;
    return 0;
}
"""

CLIENT_CXX = r"""
#include <opscope/opscope.hpp>

int main()
{
    for (int i = 0; i < 100; i++)
        opscope::Zone zone("work");
    return 0;
}
"""

CONSUMER = """
cmake_minimum_required(VERSION 3.20)
project(consumer C)
find_package(opscope REQUIRED)
add_executable(with_shared client.c)
target_link_libraries(with_shared opscope::opscope)
add_executable(with_static client.c)
target_link_libraries(with_static opscope::static)
"""

# A program of two languages that is marked up for Tracy, and three ways in which builds take Tracy in.
TRACY_CXX = """
#include <tracy/Tracy.hpp>
#include <mutex>

extern "C" void half(void);
static TracyLockable(std::mutex, lock);

int main()
{
    ZoneScopedN("work");
    half();
    std::lock_guard<LockableBase(std::mutex)> guard(lock);
    return 0;
}
"""
TRACY_C = """
#include <TracyC.h>

void half(void);
void half(void)
{
    TracyCLockCtx lock;
    TracyCZoneN(zone, "work", 1);
    TracyCLockAnnounce(lock);
    TracyCLockBeforeLock(lock);
    TracyCLockAfterLock(lock);
    TracyCLockAfterUnlock(lock);
    TracyCLockTerminate(lock);
    TracyCZoneEnd(zone);
    (void)sizeof lock;
}
"""
TRACY_CONSUMER = """
cmake_minimum_required(VERSION 3.20)
project(consumer C CXX)
{how}
add_executable(client client.cpp half.c)
target_link_libraries(client PUBLIC {target})
"""
TRACY_FETCHED = """
include(FetchContent)
FetchContent_Declare(tracy URL file:///nowhere/tracy.tar.gz)
FetchContent_MakeAvailable(tracy)
"""


class Library(harness.TestCase):
    """The shared recorder as others see it."""

    library = os.path.join(harness.BUILD, "libopscope.so")

    @harness.needs_command("readelf")
    def test_needs_libc_alone(self):
        done = self.run_command(["readelf", "-d", self.library])
        needed = re.findall(r"\(NEEDED\).*\[(.*)\]", done.stdout)
        self.assertTrue(needed, done)
        others = [name for name in needed if not re.match(r"(libc\.so|libpthread\.so|ld-linux|libc\.musl)", name)]
        self.assertEqual(others, [], done)

    @harness.needs_command("readelf")
    def test_soname(self):
        done = self.run_command(["readelf", "-d", self.library])
        self.assertEqual(re.findall(r"\(SONAME\).*\[(.*)\]", done.stdout), ["libopscope.so.0"])

    @harness.needs_command("nm")
    def test_exports_only_versioned_names_of_its_own(self):
        done = self.run_command(["nm", "-D", "--defined-only", self.library])
        names = [line.split()[-1] for line in done.stdout.splitlines() if " A " not in line]
        self.assertTrue(names, done)
        strangers = [name for name in names if not re.fullmatch(r"opscope_\w+@@OPSCOPE_\d+\.\d+", name)]
        self.assertEqual(strangers, [])

    @harness.needs_command("nm")
    def test_exports_what_the_header_declares(self):
        declared = set()
        for name in ("opscope.h", "zone.h"):
            with open(os.path.join(harness.SOURCE, "include", "opscope", name), encoding="utf-8") as file:
                declared |= set(re.findall(r"^OPSCOPE_API [^(;]*?\b(opscope_\w+)(?:[(;]|$)", file.read(), re.M))
        # What the Python extension stores into without a call, and how it knows that it may.
        with open(os.path.join(harness.SOURCE, "src", "record", "fast.h"), encoding="utf-8") as file:
            internal = set(re.findall(r"^OPSCOPE_API .*?\b(opscope_\w+_)\b", file.read(), re.M))
        done = self.run_command(["nm", "-D", "--defined-only", self.library])
        exported = set(re.findall(r"(opscope_\w+)@@", done.stdout))
        self.assertTrue(declared)
        self.assertTrue(internal)
        self.assertEqual(declared | internal, exported)


@harness.needs_command("cmake")
class Installation(harness.TestCase):
    """An installation below a prefix of the test's own."""

    def setUp(self):
        super().setUp()
        self.prefix = self.path("prefix")

    def install(self, *options, destdir="", compat=""):
        script = os.path.join(harness.SOURCE, "scripts", "install.sh")
        command = [script, *options, harness.BUILD, self.prefix]
        done = self.run_command(command, cwd=harness.SOURCE, env={"DESTDIR": destdir, "COMPAT": compat})
        self.assert_status(done)
        return done

    def installed(self, root):
        return sorted(
            os.path.relpath(os.path.join(folder, name), root) for folder, _, files in os.walk(root) for name in files
        )

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        return self.path(name)

    def environment(self):
        return {
            "PKG_CONFIG_PATH": os.path.join(self.prefix, "lib", "pkgconfig"),
            "LD_LIBRARY_PATH": os.path.join(self.prefix, "lib"),
        }

    def compile(self, compiler, source, out, static=False):
        """Compiles as a user would, with what pkg-config says."""
        mode = "--static " if static else ""
        extra = "-static " if static else ""
        line = f'{compiler} -Wall -Wextra -Werror {extra}"$0" -o "$1" $(pkg-config {mode}--cflags --libs opscope)'
        self.assert_status(self.run_command(["sh", "-c", line, source, out], env=self.environment()))

    def count_work(self, program, processes):
        """Profiles a program with the installed opscope; how many zones called "work" does the trace hold?"""
        opscope = os.path.join(self.prefix, "bin", "opscope")
        trace = self.path("t.opscope")
        if os.path.exists(trace):
            os.remove(trace)  # one that holds something is kept when the next holds nothing
        self.assert_status(self.run_command([opscope, "run", "-o", trace, "--", program], env=self.environment()))
        info = self.run_command([opscope, "info", "--json", trace])
        self.assert_status(info)
        self.assertEqual(len(info.json()["processes"]), processes, info)
        done = self.run_command([opscope, "zones", "--json", trace])
        self.assert_status(done)
        return sum(row["count"] for row in done.json()["rows"] if row["name"] == "work")

    def test_files(self):
        self.install()
        files = self.installed(self.prefix)
        for wanted in (
            "bin/opscope",
            "include/opscope/opscope.h",
            "include/opscope/opscope.hpp",
            "include/opscope/compat/tracy/Tracy.hpp",
            "include/opscope/compat/tracy/TracyC.h",
            "include/opscope/compat/tracy/TracyMetal.hmm",
            "lib/libopscope.so",
            "lib/libopscope.so.0",
            "lib/libopscope.a",
            "lib/pkgconfig/opscope.pc",
            "lib/cmake/opscope/opscopeConfig.cmake",
            "share/opscope/opscope.map",
            "share/man/man1/opscope.1",
            "share/man/man1/opscope-run.1",
            "share/bash-completion/completions/opscope",
            "share/zsh/site-functions/_opscope",
            "share/fish/vendor_completions.d/opscope.fish",
            "share/doc/opscope/LICENSE",
        ):
            self.assertIn(wanted, files)

    def test_destdir_and_uninstall(self):
        stage = self.path("stage")
        foreign = stage + self.prefix + "/bin/other"
        os.makedirs(os.path.dirname(foreign))
        with open(foreign, "w", encoding="ascii") as file:
            file.write("not ours\n")
        self.install(destdir=stage)
        self.assertFalse(os.path.exists(self.prefix))
        with open(stage + self.prefix + "/lib/pkgconfig/opscope.pc", encoding="utf-8") as file:
            self.assertIn(f"prefix={self.prefix}\n", file.read())
        self.install("--remove", destdir=stage)
        self.assertEqual(self.installed(stage), [os.path.relpath(foreign, stage)])
        left = [folder for folder in glob.glob(stage + self.prefix + "/**/opscope", recursive=True)]
        self.assertEqual(left, [])

    def test_names_of_other_tools(self):
        self.install()
        tools = ("tt-perf-report", "annotate_profiling.py", "tt_profile")
        links = [os.path.join(self.prefix, "bin", name) for name in tools]
        self.assertFalse(any(map(os.path.lexists, links)))
        with open(links[1], "w", encoding="ascii") as file:
            file.write("the tool itself\n")
        done = self.install(compat="1")
        self.assertIn("Left alone, another program: " + links[1], done.stdout + done.stderr)
        self.assertEqual(os.readlink(links[0]), "opscope")
        self.assertIn("Usage: opscope report", self.run_command([links[0], "--help"]).stdout)
        self.assertIn("Usage: opscope run", self.run_command([links[2], "--help"]).stdout)
        self.install("--remove")
        self.assertEqual([os.path.lexists(link) for link in links], [False, True, False])

    @harness.needs_command("pkg-config")
    @harness.needs_command("cc")
    def test_c_program_with_pkg_config(self):
        self.install()
        source = self.write("client.c", CLIENT)
        self.compile("cc -pthread", source, self.path("client"))
        self.assertEqual(self.count_work(self.path("client"), 3), 1200)

    @harness.needs_command("pkg-config")
    @harness.needs_command("cc")
    def test_the_program_of_the_readme(self):
        with open(os.path.join(harness.SOURCE, "README.md"), encoding="utf-8") as file:
            program = re.search(r"```c\n(.*?)```", file.read(), re.S).group(1)
        self.install()
        source = self.write("step.c", program)
        self.compile("cc -Wall -Wextra -Werror", source, self.path("step"))
        trace = self.record([self.path("step")], env=self.environment())
        rows = {row["name"]: row["count"] for row in self.opscope_json("zones", trace)["rows"]}
        self.assertEqual(rows, {"step": 3, "load batch": 30})

    @harness.needs_command("pkg-config")
    @harness.needs_command("cc")
    def test_static_c_program_with_pkg_config(self):
        self.install()
        source = self.write("client.c", CLIENT)
        self.compile("cc -pthread", source, self.path("client"), static=True)
        self.assertEqual(self.count_work(self.path("client"), 3), 1200)

    @harness.needs_command("pkg-config")
    @harness.needs_command("c++")
    def test_cxx_program_with_pkg_config(self):
        self.install()
        source = self.write("client.cpp", CLIENT_CXX)
        self.compile("c++ -std=c++17", source, self.path("client"))
        self.assertEqual(self.count_work(self.path("client"), 1), 100)

    @harness.needs_command("cc")
    def test_cmake_package(self):
        self.install()
        os.mkdir(self.path("consumer"))
        self.write("consumer/client.c", CLIENT)
        self.write("consumer/CMakeLists.txt", CONSUMER)
        build = self.path("consumer-build")
        for command in (
            ["cmake", "-S", self.path("consumer"), "-B", build, f"-DCMAKE_PREFIX_PATH={self.prefix}"],
            ["cmake", "--build", build],
        ):
            self.assert_status(self.run_command(command))
        for name in ("with_shared", "with_static"):
            with self.subTest(name):
                self.assertEqual(self.count_work(os.path.join(build, name), 3), 1200)

    def tracy_client(self, how, target, *variables):
        os.makedirs(self.path("consumer"), exist_ok=True)
        self.write("consumer/client.cpp", TRACY_CXX)
        self.write("consumer/half.c", TRACY_C)
        self.write("consumer/CMakeLists.txt", TRACY_CONSUMER.format(how=how, target=target))
        build = self.path(f"tracy-build{len(os.listdir(self.folder))}")
        for command in (
            ["cmake", "-S", self.path("consumer"), "-B", build, *variables],
            ["cmake", "--build", build],
        ):
            self.assert_status(self.run_command(command))
        return os.path.join(build, "client")

    @harness.needs_command("c++")
    def test_tracy_cmake_package(self):
        self.install()
        folder = os.path.join(self.prefix, "lib", "cmake", "opscope", "tracy")
        for how, target, variable in (
            ("find_package(Tracy 0.11 CONFIG REQUIRED)", "Tracy::TracyClient", f"-DTracy_DIR={folder}"),
            (TRACY_FETCHED, "TracyClient", f"-DFETCHCONTENT_SOURCE_DIR_TRACY={folder}"),
        ):
            with self.subTest(variable):
                client = self.tracy_client(how, target, variable)
                self.assertEqual(self.count_work(client, 1), 2)
        client = self.tracy_client("find_package(Tracy REQUIRED)", "Tracy::TracyClient", f"-DTracy_DIR={folder}",
                                   "-DTRACY_ENABLE=OFF")
        self.assertEqual(self.count_work(client, 1), 0)

    @harness.needs_command("c++")
    def test_tracy_is_not_found_unasked(self):
        """A build that looks for Tracy where opscope is installed, too, must not get opscope's."""
        self.install()
        os.makedirs(self.path("consumer"))
        self.write("consumer/CMakeLists.txt", "cmake_minimum_required(VERSION 3.20)\nproject(c NONE)\n"
                   "find_package(Tracy CONFIG)\nif(Tracy_FOUND)\nmessage(FATAL_ERROR found)\nendif()\n")
        done = self.run_command(["cmake", "-S", self.path("consumer"), "-B", self.path("b"),
                                 f"-DCMAKE_PREFIX_PATH={self.prefix}"])
        self.assert_status(done)

    @harness.needs_command("pkg-config")
    @harness.needs_command("c++")
    def test_tracy_with_pkg_config(self):
        self.install()
        source = self.write("client.cpp", TRACY_CXX.replace("half();", ""))
        line = 'c++ -Wall -Werror "$0" -o "$1" $(pkg-config --cflags --libs opscope-tracy)'
        self.assert_status(self.run_command(["sh", "-c", line, source, self.path("client")], env=self.environment()))
        self.assertEqual(self.count_work(self.path("client"), 1), 1)

    @harness.needs_command("man")
    def test_man_pages_are_clean(self):
        self.install()
        pages = glob.glob(os.path.join(self.prefix, "share", "man", "man1", "*.1"))
        self.assertGreater(len(pages), 3)
        for page in pages:
            with self.subTest(os.path.basename(page)):
                done = self.run_command(["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", page])
                self.assert_status(done)
                self.assertEqual(done.stderr, "")

    @harness.needs_command("bash")
    def test_bash_completion_loads(self):
        self.install()
        path = os.path.join(self.prefix, "share", "bash-completion", "completions", "opscope")
        done = self.run_command(["bash", "-euc", 'source "$0"; complete -p opscope', path])
        self.assert_status(done)


if __name__ == "__main__":
    unittest.main()
