# SPDX-License-Identifier: Apache-2.0
"""Starts recording in a Python process of a session. Imported before the program, so it imports next to nothing.

OPSCOPE_PYTHON_TRACE says what to record: words with commas between them. "calls" records each call and "off" only what
the program marks up; all other words are rows of OPTIONS. A comma in a value is %2C, a percent sign %25."""

import os
import sys

import _frozen_importlib
import _frozen_importlib_external as external
import _imp

# What can be recorded of a Python program: the one table of the options of `python3 -m opscope` (--WORD) and of
# `opscope run` (--python-WORD, whose table scripts/python_options.py makes of this one), the arguments of
# opscope.record() and the words of OPSCOPE_PYTHON_TRACE. A row: the word; its one-letter form; the value that it takes
# ("": none, "N": a number from 1 on, "LIST": may be given many times; anything else: a text), the flag of the extension
# that it sets; what it does.
OPTIONS = (
    ("lines", "l", "", "LINES", "Each line as well."),
    ("partial", "p", "", "", "Only while the program has an opscope.Profiler enabled."),
    ("c-calls", "", "", "C_CALLS", "Calls of C functions as well."),
    ("gc", "", "", "GC", "A zone for each garbage collection, with what it found."),
    ("no-async", "", "", "", "Keep asyncio and trio tasks and greenlets on their threads' tracks. Otherwise each has "
     "a track of its own."),
    ("import-frames", "", "", "IMPORT_FRAMES", "The frames of the import system, instead of one zone per import."),
    ("framework", "", "", "", "The frames of pytest itself as well."),
    ("mine", "", "", "", "Only code below the working folder, without what is installed there (site-packages)."),
    ("include", "", "LIST", "", "Only code of these files, folders (src/) or modules (torch.nn); * matches anything. "
     "May be given many times."),
    ("exclude", "", "LIST", "", "Leave out code of these. May be given many times."),
    ("max-depth", "", "N", "", "No more than N zones inside one another."),
    ("start-signpost", "", "NAME", "", "Record Python calls from the program's signpost NAME on."),
    ("stop-signpost", "", "NAME", "", "And until that one. Outside, the hook is not installed and costs nothing."),
    ("no-torch", "", "", "", "Leave the ops of PyTorch out. Otherwise each is recorded, with its tensors."),
    ("no-ttnn", "", "", "", "Leave what tt-metal's real-time profiler tells of its devices out. Otherwise each program is "
     "recorded as it runs."),
    ("torch-modules", "", "", "", "Record which module each op of PyTorch is in. Not with torch.compile."),
    ("profile", "", "", "PROFILE", ""),  # for tests: up to 3.11, the profile function instead of frame evaluation
)  # fmt: skip

# What the package's API needs to know.
native = None
flags = 0
is_partial = False
start_signpost = stop_signpost = None  # their names


def words():
    return [word for word in os.environ.get("OPSCOPE_PYTHON_TRACE", "").split(",") if word]


def word_of(word, value=None):
    """One word of OPSCOPE_PYTHON_TRACE: --include src/ is include=src/."""
    return word if value is None else "%s=%s" % (word, value.replace("%", "%25").replace(",", "%2C"))


def values(wanted, key):
    """[P, ...] of key=P."""
    found = [word[len(key) + 1 :] for word in wanted if word.startswith(key + "=")]
    return [value.replace("%2C", ",").replace("%25", "%") for value in found]


class Finder:
    """`import opscope` works in the program without sys.path being touched; so does `import tracy` for programs that
    are written for it. Comes last, so that modules that are really there go first."""

    def __init__(self, package):
        self.package = package

    def find_spec(self, name, path=None, target=None):
        if name == "opscope":
            return external.spec_from_file_location(
                name, os.path.join(self.package, "__init__.py"), submodule_search_locations=[self.package]
            )
        if name == "tracy":
            return external.spec_from_file_location(name, os.path.join(self.package, "_tracy.py"))
        return None


def when_executed(spec, then):
    """then(module) is called as soon as the module of that spec has been executed."""
    execute = getattr(getattr(spec, "loader", None), "exec_module", None)

    def exec_module(module):
        if spec.loader.__dict__.get("exec_module") is exec_module:
            del spec.loader.exec_module  # the loader is as it was
        execute(module)
        then(module)

    try:
        if execute is not None:
            spec.loader.exec_module = exec_module
    except AttributeError:
        pass
    return spec


def find_elsewhere(finder, name, path):
    """What the other finders find."""
    for other in sys.meta_path:
        spec = other.find_spec(name, path) if other is not finder and hasattr(other, "find_spec") else None
        if spec is not None:
            return spec
    return None


class GreenletFinder:
    """First in sys.meta_path: gives the extension the module greenlet as soon as that is there."""

    def find_spec(self, name, path=None, target=None):
        if name == "greenlet" and self in sys.meta_path:
            sys.meta_path.remove(self)
            return when_executed(find_elsewhere(self, name, path), native.watch_greenlets)
        return None


def watch_greenlets():
    if "greenlet" in sys.modules:
        native.watch_greenlets(sys.modules["greenlet"])
    elif not any(isinstance(finder, GreenletFinder) for finder in sys.meta_path):
        finder = GreenletFinder()
        finder.find_spec = native.find_spec_for(("greenlet",), finder.find_spec)
        sys.meta_path.insert(0, finder)


class ModuleFinder:
    """First in sys.meta_path: has what a module runs on devices observed as soon as that is imported."""

    def __init__(self, package, name, observer):
        self.package, self.name, self.observer = package, name, observer

    def find_spec(self, name, path=None, target=None):
        if name == self.name and self in sys.meta_path:
            sys.meta_path.remove(self)
            return when_executed(find_elsewhere(self, name, path), lambda module: self.observe(module))
        return None

    def observe(self, module, say=None):
        load_module("_torch", self.package)  # the others use what it knows of libraries
        load_module(self.observer, self.package).observe(module, words(), say or note)


def load_module(name, package):
    """A module of the package, without the package: that would be imported in the program's name."""
    whole = "opscope." + name
    if whole not in sys.modules:
        spec = external.spec_from_file_location(whole, os.path.join(package, name + ".py"))
        module = _frozen_importlib.module_from_spec(spec)
        spec.loader.exec_module(module)
        sys.modules[whole] = module
    return sys.modules[whole]


# A module, who observes it, and the word that leaves it out.
OBSERVED = (("torch", "_torch", "no-torch"), ("ttnn", "_realtime", "no-ttnn"))


def watch_modules(package, wanted, say=None):
    known = [finder.name for finder in sys.meta_path if isinstance(finder, ModuleFinder)]
    for name, observer, without in OBSERVED:
        finder = ModuleFinder(package, name, observer)
        if without in wanted or name in known:
            continue
        if name in sys.modules:
            finder.observe(sys.modules[name], say)
            continue
        if native is not None:
            finder.find_spec = native.find_spec_for((name,), finder.find_spec)
        sys.meta_path.insert(0, finder)


class FrameworkFinder:
    """First in sys.meta_path, finds nothing: it waits for pytest, whose plugin is in this package."""

    def __init__(self, package):
        self.package = package

    def find_spec(self, name, path=None, target=None):
        if (name == "pytest" or name == "_pytest") and self in sys.meta_path:
            path = os.path.join(self.package, "_frameworks.py")
            spec = external.spec_from_file_location("opscope._frameworks", path)
            module = _frozen_importlib.module_from_spec(spec)
            spec.loader.exec_module(module)
            sys.meta_path[sys.meta_path.index(self)] = module.pytest_is_imported(native, "framework" in words())
        return None


def load_native(package):
    """The extension that fits this interpreter, or None."""
    if "opscope._native" in sys.modules:
        sys.modules["opscope._native"].hide(package)  # the folder by another name: through a link, or an installed copy
        return sys.modules["opscope._native"]
    for suffix in _imp.extension_suffixes():
        path = os.path.join(package, "_native" + suffix)
        if os.path.exists(path):
            loader = external.ExtensionFileLoader("opscope._native", path)
            spec = external.spec_from_file_location("opscope._native", path, loader=loader)
            module = _frozen_importlib.module_from_spec(spec)
            loader.exec_module(module)
            module.hide(package)
            sys.modules["opscope._native"] = module
            return module
    return None


def is_own_command():
    """python3 -m opscope: only starts another process."""
    arguments = getattr(sys, "orig_argv", None)
    if arguments is None:  # 3.9
        with open("/proc/self/cmdline", "rb") as file:
            arguments = [os.fsdecode(word) for word in file.read().split(b"\0")]
    return module_of(arguments[1:]) == "opscope"


def module_of(arguments):
    """The value of -m among the interpreter's own options, which end at a script or at -c; else None."""
    rest = list(arguments)
    while rest and rest[0].startswith("-") and rest[0] != "-":
        word = rest.pop(0)
        if word.startswith("--"):
            del rest[: word == "--check-hash-based-pycs"]
            continue
        for i in range(1, len(word)):
            if word[i] == "c":
                return None
            if word[i] in "mXW":
                value = word[i + 1 :] or (rest.pop(0) if rest else None)
                if word[i] == "m":
                    return value
                break
    return None


def note(text):
    """To the user, once: from the process that `opscope run` started, not from its children."""
    if os.environ.get("OPSCOPE_PYTHON_RUN") == str(os.getppid()):
        sys.stderr.write("opscope: " + text + "\n")


def why_no_native():
    version = "%d.%d" % sys.version_info[:2]
    if "t" in getattr(sys, "abiflags", ""):
        return "this Python %s is free-threaded, and opscope has extensions only for builds with the GIL" % version
    return "there is no extension for %s %s (opscope doctor lists those that were built)" % (sys.implementation.name, version)


def configure(wanted):
    """Sets the extension up by the words; afterwards `flags` is what its start() takes."""
    global flags, is_partial, start_signpost, stop_signpost
    flags = 0 if "no-async" in wanted else native.TASKS
    for word, _, _, flag, _ in OPTIONS:
        if flag and word in wanted:
            flags |= getattr(native, flag)
    if "mine" in wanted:
        native.only_mine()
    for key in ("include", "exclude"):
        for pattern in values(wanted, key):
            native.add_filter(pattern, key == "include")
    for depth in values(wanted, "max-depth"):
        native.limit_depth(int(depth))
    if flags & native.TASKS:
        watch_greenlets()
    is_partial = "partial" in wanted
    start_signpost = (values(wanted, "start-signpost") or [None])[-1]
    stop_signpost = (values(wanted, "stop-signpost") or [None])[-1]


def start(package):
    global native
    wanted = words()
    if not wanted or is_own_command():
        return
    last, first = Finder(package), FrameworkFinder(package)
    sys.meta_path.append(last)
    sys.meta_path.insert(0, first)
    if "off" in wanted:
        watch_modules(package, wanted)
        return
    try:
        native = load_native(package)
    except ImportError as error:
        if error.name != "sub-interpreter":
            raise
        if str(error):  # the first of them
            note(str(error))
        return
    if native is None:
        note("Python calls are not recorded: " + why_no_native())
        watch_modules(package, wanted)
        return
    # No frames of ours in the program's own tracing (coverage, pdb): only the names in question get to the Python code.
    last.find_spec = native.find_spec_for(("opscope", "tracy"), last.find_spec)
    first.find_spec = native.find_spec_for(("pytest", "_pytest"), first.find_spec)
    configure(wanted)
    watch_modules(package, wanted)
    if not is_partial and start_signpost is None:
        native.start(flags)
