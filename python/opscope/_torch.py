# SPDX-License-Identifier: Apache-2.0
"""The ops of PyTorch: loads the observer (src/record/torch.cpp) into a process of a session that has imported torch.

The observer uses torch's C++ interface, so it is built for each build of torch, once: by `opscope setup torch`, or when
it is first needed, where there is a compiler. It is kept in ~/.cache/opscope/torch; Debian's torch has one that was
built with opscope. Without a compiler torch's own NVTX ranges are recorded, as zones, where torch has CUDA.

    python3 -m opscope._torch          what `opscope setup torch` runs
"""

import ctypes
import os
import sys

PACKAGE = os.path.dirname(os.path.abspath(__file__))
SOURCES = os.path.join(PACKAGE, "observer")  # torch.cpp, opscope/*.h
PREBUILT = os.path.join(PACKAGE, "torch-prebuilt.txt")  # "LIBRARY\tlibtorch_cpu that it is for"
STANDARDS = ("c++17", "c++20")  # the oldest that torch's headers can be read with
HINT = "install g++, then run opscope setup torch"

observer = None  # the library, once it is loaded
names_of_modules = {}


class CannotBuild(Exception):
    """The text says why, and what to do."""


def mapped(name):
    """The file of a library of this process by the beginning of its name; None."""
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as file:
        for line in file:
            path = line.rstrip("\n").split(" ", 5)[-1].strip()
            if os.path.basename(path).startswith(name) and os.path.exists(path):
                return os.path.realpath(path)
    return None


def recorder_library():
    """The recorder that this process has, or would have."""
    found = mapped("libopscope.so")
    if found:
        return found
    places = [PACKAGE, os.path.join(PACKAGE, "..", "..")]
    root = os.path.join(PACKAGE, "..", "..", "..", "..")
    lib = os.path.join(root, "lib")
    places += [lib, os.path.join(root, "lib64")] + [os.path.join(lib, name) for name in sorted(os.listdir(lib))] if os.path.isdir(lib) else []
    for place in places:
        path = os.path.join(place, "libopscope.so.0")
        if os.path.exists(path):
            return os.path.realpath(path)
    raise CannotBuild("libopscope.so.0 is not found beside the package: install opscope again")


# --- building ---


def read_source(name):
    path = os.path.join(SOURCES, name)
    try:
        return read(path)
    except OSError as error:
        raise CannotBuild("%s: %s: install opscope again" % (path, error.strerror)) from error


def read(path):
    with open(path, "rb") as file:
        return file.read()


def include_folders(package):
    """Of torch's headers: its own, or Debian's libtorch-dev."""
    for folder in (os.path.join(package, "include"), "/usr/include"):
        if os.path.exists(os.path.join(folder, "ATen", "record_function.h")):
            return [folder]
    raise CannotBuild(
        "torch's C++ headers are neither in %s nor in /usr/include: install libtorch-dev, or torch from PyPI" % package
    )


def compiler():
    import shutil

    wanted = os.environ.get("CXX", "").split()
    if wanted and shutil.which(wanted[0]):
        return wanted
    for name in ("c++", "g++", "clang++"):
        if shutil.which(name):
            return [name]
    raise CannotBuild("there is no C++ compiler: " + HINT)


def cxx11_abi(torch):
    return int(getattr(torch._C, "_GLIBCXX_USE_CXX11_ABI", True))


def cache_folder(torch):
    """By all that the library depends on: torch's build and our source. Not the Python: it does not use Python's API."""
    import hashlib

    root = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    digest = hashlib.sha256()
    for name in ("torch.cpp", os.path.join("opscope", "opscope.h"), os.path.join("opscope", "zone.h")):
        digest.update(read_source(name))
    git = getattr(torch.version, "git_version", None) or ""
    digest.update(("%s %s %d %s" % (torch.__version__, git, cxx11_abi(torch), os.uname().machine)).encode())
    return os.path.join(root, "opscope", "torch", "%s-%s" % (torch.__version__, digest.hexdigest()[:16]))


def libraries_of(torch, package):
    """What the observer is linked with: those that torch has loaded."""
    found = [mapped("libtorch_cpu.so"), mapped("libc10.so")]
    if None in found:
        raise CannotBuild("torch %s has no libtorch_cpu.so in this process" % torch.__version__)
    return found


def command_of(torch, package, standard, output):
    command = compiler() + ["-std=" + standard, "-O2", "-fPIC", "-shared", "-DNDEBUG", "-w", "-fvisibility=hidden"]
    command += ["-ftls-model=initial-exec", "-D_GLIBCXX_USE_CXX11_ABI=%d" % cxx11_abi(torch), "-I" + SOURCES]
    for folder in include_folders(package):
        command += ["-isystem", folder]
    command += [os.path.join(SOURCES, "torch.cpp"), "-o", output, recorder_library()]
    return command + libraries_of(torch, package)


def compile_into(torch, package, folder):
    import subprocess

    output = os.path.join(folder, "libopscope_torch.so.%d" % os.getpid())
    env = {name: value for name, value in os.environ.items() if not name.startswith("OPSCOPE_")}
    env.pop("LD_PRELOAD", None)
    for standard in STANDARDS:
        command = command_of(torch, package, standard, output)
        try:
            made = subprocess.run(command, env=env, stdin=subprocess.DEVNULL, capture_output=True, check=False)
        except OSError as error:
            raise CannotBuild("%s: %s" % (command[0], error.strerror)) from error
        if made.returncode == 0:
            path = os.path.join(folder, "libopscope_torch.so")
            os.rename(output, path)
            return path
    with open(os.path.join(folder, "build.log"), "wb") as file:
        file.write(" ".join(command).encode() + b"\n" + made.stderr)
    raise CannotBuild("%s could not compile it: %s has what it said" % (command[0], file.name))


def build(torch, say):
    """The path of the observer for this torch, built if it is not there; CannotBuild. One process builds, the others
    wait for it."""
    import fcntl
    import time

    package = os.path.dirname(os.path.abspath(torch.__file__))
    folder = cache_folder(torch)
    path = os.path.join(folder, "libopscope_torch.so")
    if os.path.exists(path):
        return path
    try:
        os.makedirs(folder, exist_ok=True)
        lock = os.open(os.path.join(folder, "lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise CannotBuild("%s: %s (XDG_CACHE_HOME names another folder)" % (folder, error.strerror)) from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if os.path.exists(path):
            return path
        compiler()
        include_folders(package)
        say("building the observer of PyTorch's ops for torch %s: once, some 10 to 30 s ..." % torch.__version__)
        begin = time.monotonic()
        compile_into(torch, package, folder)
        say("built in %.1f s: %s" % (time.monotonic() - begin, path))
        return path
    finally:
        os.close(lock)


def prebuilt():
    """The observer that was built with opscope, where it is for the torch of this process; None."""
    library = mapped("libtorch_cpu.so")
    try:
        with open(PREBUILT, encoding="utf-8") as file:
            for line in file:
                name, _, wanted = line.rstrip("\n").partition("\t")
                path = os.path.join(PACKAGE, name)
                if library and os.path.realpath(wanted) == library and os.path.exists(path):
                    return path
    except OSError:
        pass
    return None


def find(torch, say):
    return prebuilt() or build(torch, say)


# --- in the program ---


def load(torch, say):
    """Loads the observer and starts it; CannotBuild."""
    global observer
    if observer is None:
        path = find(torch, say)
        ctypes.CDLL(recorder_library())  # by name from here on
        try:
            observer = ctypes.CDLL(path)
        except OSError as error:
            raise CannotBuild("%s: %s" % (path, error)) from error
        observer.opscope_torch_module.restype = ctypes.c_void_p
        observer.opscope_torch_module.argtypes = [ctypes.c_void_p]
    observer.opscope_torch_start()


def watch_modules(torch):
    """Says of each op which module it is in: by a path, from the outermost module that was called."""
    import weakref

    module_type = torch.nn.Module
    original = module_type.__call__
    if getattr(original, "is_watched", False):
        return
    paths, enter = weakref.WeakKeyDictionary(), observer.opscope_torch_module

    def path_of(module):
        path = paths.get(module)
        if path is None:
            root = type(module).__name__
            for name, inner in module.named_modules():
                text = (root + "." + name if name else root).encode()
                kept = names_of_modules.setdefault(text, ctypes.create_string_buffer(text))
                paths.setdefault(inner, ctypes.addressof(kept))
            path = paths[module]
        return path

    def __call__(self, *args, **kwargs):
        before = enter(path_of(self))
        try:
            return original(self, *args, **kwargs)
        finally:
            enter(before)

    __call__.is_watched = True
    module_type.__call__ = __call__


def emit_nvtx(torch):
    """Torch's own ranges, which the adapter for NVTX takes as zones: True if it has them. As
    torch.autograd.profiler.emit_nvtx, but without waiting for the GPU, which would begin to use it here."""
    if not torch.version.cuda or "NVTX_INJECTION64_PATH" not in os.environ:
        return False
    profiler = torch.autograd.profiler
    try:
        config = profiler.ProfilerConfig(
            profiler.ProfilerState.NVTX, False, False, False, False, False, torch._C._profiler._ExperimentalConfig()
        )
        torch.autograd._enable_profiler(config, set())
    except Exception:
        return False
    return True


def observe(torch, words, note):
    """torch has just been imported, or recording begins in a process that has it. Never breaks the program."""
    try:
        load(torch, note)
        if "torch-modules" in words:
            watch_modules(torch)
    except CannotBuild as error:
        if emit_nvtx(torch):
            note("the ops of PyTorch are recorded as NVTX zones, by name alone: %s" % error)
        else:
            note("the ops of PyTorch are not recorded: %s" % error)
    except Exception as error:  # whatever a torch of the future does
        note("the ops of PyTorch are not recorded: %s: %s" % (type(error).__name__, error))


def stop():
    if observer is not None:
        observer.opscope_torch_stop()


# --- opscope setup torch ---


def main():
    def say(text):
        sys.stderr.write("opscope: " + text + "\n")

    try:
        import torch
    except ImportError as error:
        say("%s has no torch that works: %s; --python names another interpreter" % (sys.executable, error))
        return 1
    try:
        path = find(torch, say)
    except CannotBuild as error:
        say("the ops of PyTorch cannot be observed: %s" % error)
        return 1
    print("torch %s: %s" % (torch.__version__, path))
    return 0


if __name__ == "__main__":
    sys.exit(main())
