# SPDX-License-Identifier: Apache-2.0
"""Prints what a program can see of how it was started; must be the same with and without a profiler."""

import atexit
import os
import pickle
import sys

OURS = ("OPSCOPE_", "TT_METAL_", "TTNN_", "TRACY_", "NVTX_INJECTION", "CUDA_INJECTION", "OPENCL_LAYERS")


class Thing:
    pass


atexit.register(print, "atexit: first registered, last run")
atexit.register(lambda: print("atexit: last registered, first run"))
print("argv", sys.argv, "orig", getattr(sys, "orig_argv", None))
print("path", sys.path)
print("name", __name__, "file", globals().get("__file__"), "spec", __spec__ and __spec__.name, "package", __package__)
print("main", sorted(name for name in vars(sys.modules["__main__"])))
# Loading any extension loads encodings.ascii in development mode.
modules = (name for name in sys.modules if "opscope" not in name and name != "encodings.ascii")
print("modules", sorted(modules))
print("flags", sys.flags, sys._xoptions, sys.warnoptions, sys.dont_write_bytecode)
print("hooks", sys.getprofile(), sys.gettrace(), sys.getrecursionlimit(), sys.excepthook is sys.__excepthook__)
print("pickled", type(pickle.loads(pickle.dumps(Thing()))).__module__)
print("environment", sorted(name for name in os.environ if not name.startswith(OURS) and name != "PYTHONPATH"))
print("descriptors", sorted(int(name) for name in os.listdir("/proc/self/fd") if int(name) < 3))
