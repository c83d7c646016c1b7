# SPDX-License-Identifier: Apache-2.0
"""Devices in a recording that a program starts itself: the variables by which CUDA's driver, NVTX's headers and OpenCL's
loader find opscope's adapters, as `opscope run --devices` sets them (src/cli/run/devices.c). They are read when such a
runtime is first used, in this process and in its children. A driver of CUDA that is in use already has read its own: we
start the adapter ourselves."""

import os
import sys

# name, variable, library, what is recorded by it, separator of a list
ADAPTERS = (
    ("cuda", "CUDA_INJECTION64_PATH", "libopscope_cuda.so", "CUDA kernels", ""),
    ("nvtx", "NVTX_INJECTION64_PATH", "libopscope_nvtx.so", "NVTX ranges", ""),
    ("opencl", "OPENCL_LAYERS", "libopscope_opencl.so", "OpenCL commands", os.pathsep),
)
NOT_INITIALIZED = 3  # CUDA_ERROR_NOT_INITIALIZED


def wanted(names):
    """The adapters of a list such as "cuda,opencl"; ValueError for a name that is not known."""
    known = [adapter[0] for adapter in ADAPTERS]
    found = set()
    for name in names.split(","):
        name = name.replace("opencl-preload", "none")  # it is too late for that
        if name not in known + ["auto", "none"]:
            raise ValueError("devices: %r is not known; these are: auto, %s, none" % (name, ", ".join(known)))
        if name != "none":
            found |= set(known) if name == "auto" else {name, "nvtx"}
    return [adapter for adapter in ADAPTERS if adapter[0] in found]


def variables(adapters):
    """{variable: value} of those that are there, and whose variable no other tool has."""
    try:
        from ._torch import mapped
    except ImportError:  # a Python without ctypes
        return {}
    recorder = mapped("libopscope.so")
    found = {}
    for _, variable, library, what, separator in adapters:
        path = os.path.join(os.path.dirname(recorder), library) if recorder else ""
        before = os.environ.get(variable, "")
        if not os.path.exists(path) or path in before.split(separator or None):
            continue
        if before and not separator:
            sys.stderr.write("opscope: %s is set already (%s): %s are not recorded\n" % (variable, before, what))
        elif not (separator and separator in path):
            found[variable] = before + separator + path if before else path
    return found


def attach(found):
    """Where CUDA is in use already. After the process has joined the session. Never breaks the program."""
    adapter = found.get("CUDA_INJECTION64_PATH")
    if not adapter:
        return
    import ctypes

    from ._torch import mapped

    driver = mapped("libcuda.so")
    if not driver:
        return
    try:
        context = ctypes.c_void_p()
        if ctypes.CDLL(driver, mode=os.RTLD_NOLOAD | os.RTLD_NOW).cuCtxGetCurrent(ctypes.byref(context)) != NOT_INITIALIZED:
            ctypes.CDLL(adapter).InitializeInjection()
    except (OSError, AttributeError) as error:
        sys.stderr.write("opscope: CUDA kernels are not recorded: %s\n" % error)
