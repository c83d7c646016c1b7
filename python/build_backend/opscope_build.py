# SPDX-License-Identifier: Apache-2.0
"""The build back end (PEP 517) of the Python package: standard library alone, no setuptools.

`pip install ./python` builds the program, the recorder and the extension for the running interpreter with CMake and
packs them into one wheel: opscope/*.py, opscope/_native*.so, opscope/libopscope*.so, opscope/bin/opscope. Needs what
the build needs: a C compiler, cmake, zstd's headers and the interpreter's own.

`pip install -e ./python` builds in the source tree (build-editable-TAG) and installs a path to that folder's package,
whose modules are links to the sources: they can be edited, the C parts are built again by another `pip install -e`.

OPSCOPE_WHEEL_BUILD names a build folder to take the parts from instead of building them. The names of other tools, under
which the program takes their arguments, are installed where they are asked for: pip install --config-settings compat=1."""

import base64
import glob
import hashlib
import os
import re
import subprocess
import sys
import sysconfig
import tempfile
import zipfile

PYTHON_FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SOURCE = os.path.dirname(PYTHON_FOLDER)
PACKAGE = os.path.join(PYTHON_FOLDER, "opscope")
STAMP = (2020, 1, 1, 0, 0, 0)  # fixed: the same parts give the same wheel


def version():
    with open(os.path.join(SOURCE, "CMakeLists.txt"), encoding="utf-8") as file:
        return re.search(r"project\(opscope VERSION ([0-9.]+)", file.read()).group(1)


def other_tools():
    """Names of other tools under which the program takes their arguments."""
    with open(os.path.join(SOURCE, "src", "cli", "command", "names.def"), encoding="utf-8") as file:
        return re.findall(r'^TOOL\("([^"]*)"', file.read(), re.M)


def tag():
    name = "cp%d%d" % sys.version_info[:2]
    abi = sysconfig.get_config_var("SOABI").split("-")[1]
    return "%s-cp%s-%s" % (name, abi, re.sub("[^0-9A-Za-z]", "_", sysconfig.get_platform()))


def extension_name():
    return "_native" + sysconfig.get_config_var("EXT_SUFFIX")


def run(command):
    sys.stderr.write("opscope: %s\n" % " ".join(command))
    try:
        subprocess.run(command, check=True)
    except FileNotFoundError:
        raise SystemExit("opscope: %s is needed to build the package" % command[0])


def build(folder):
    """Only what the wheel holds."""
    if "t" in sys.abiflags:
        raise SystemExit("opscope: %s is free-threaded, and the extension needs a Python with the GIL" % sys.executable)
    jobs = str(os.cpu_count() or 2)
    run(["cmake", "-S", SOURCE, "-B", folder, "-DCMAKE_BUILD_TYPE=Release", "-DOPSCOPE_PYTHONS=" + sys.executable])
    extension = "opscope_python" + re.sub("[^0-9A-Za-z]", "_", sysconfig.get_config_var("EXT_SUFFIX"))
    run(["cmake", "--build", folder, "-j", jobs, "--target", "opscope", "opscope_adapters", extension])


def parts(folder):
    """(path in the wheel, file, is it a program)"""
    found = []
    for parent, folders, files in os.walk(PACKAGE):
        folders[:] = sorted(name for name in folders if name != "__pycache__")
        for name in sorted(files):
            path = os.path.join(parent, name)
            if name.endswith(".py") or name == "py.typed":
                found.append((os.path.join("opscope", os.path.relpath(path, PACKAGE)), path, False))
    native = os.path.join(folder, "python", "opscope", extension_name())
    if not os.path.exists(native):
        raise SystemExit("opscope: %s was not built: are the headers of this Python installed?" % native)
    found.append(("opscope/" + extension_name(), native, True))
    found.append(("opscope/libopscope.so.0", os.path.realpath(os.path.join(folder, "libopscope.so.0")), True))
    for path in sorted(glob.glob(os.path.join(glob.escape(folder), "libopscope_*.so"))):
        found.append(("opscope/" + os.path.basename(path), path, True))
    found.append(("opscope/bin/opscope", os.path.join(folder, "opscope"), True))
    return found + observer_parts(os.path.join(folder, "python"))


def observer_parts(folder):
    """What the observer of PyTorch's ops is compiled from, as the build laid it beside the package."""
    found = []
    for parent, _, names in os.walk(os.path.join(folder, "opscope", "observer")):
        paths = [os.path.join(parent, name) for name in sorted(names)]
        found += [(os.path.relpath(path, folder), path, False) for path in paths]
    if not found:
        raise SystemExit("opscope: %s has no sources of the observer of PyTorch's ops" % folder)
    return found


def is_set(config_settings, name):
    return str((config_settings or {}).get(name, "")).lower() in ("1", "true", "yes", "on")


def metadata():
    text = "Metadata-Version: 2.1\nName: opscope\nVersion: %s\n" % version()
    text += "Summary: Profiler for accelerator workloads: Python calls, ops, devices, in one trace\n"
    return text + "License: Apache-2.0\nRequires-Python: >=3.9\n"


def info_files(with_other_names=False):
    wheel = "Wheel-Version: 1.0\nGenerator: opscope\nRoot-Is-Purelib: false\nTag: %s\n" % tag()
    entries = "[console_scripts]\n" + "".join("%s = opscope._program:main\n" % name for name in ["opscope"] + (other_tools() if with_other_names else []))
    # Under the name by which a run loads it, so that pytest does not load it twice.
    entries += "\n[pytest11]\nopscope.pytest_plugin = opscope.pytest_plugin\n"
    return [("METADATA", metadata()), ("WHEEL", wheel), ("entry_points.txt", entries)]


class Wheel:
    def __init__(self, path):
        self.zip = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED)
        self.record = []

    def add(self, name, data, is_program=False):
        entry = zipfile.ZipInfo(name, STAMP)
        entry.compress_type = zipfile.ZIP_DEFLATED
        entry.external_attr = (0o100755 if is_program else 0o100644) << 16
        self.zip.writestr(entry, data)
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        self.record.append("%s,sha256=%s,%d" % (name, digest, len(data)))

    def close(self, info):
        name = info + "/RECORD"
        self.record.append(name + ",,")
        self.zip.writestr(zipfile.ZipInfo(name, STAMP), "\n".join(self.record) + "\n")
        self.zip.close()


def pack(folder, wheel_directory, config_settings, is_editable=False):
    info = "opscope-%s.dist-info" % version()
    name = "opscope-%s-%s.whl" % (version(), tag())
    wheel = Wheel(os.path.join(wheel_directory, name))
    found = parts(folder)
    if is_editable:
        wheel.add("opscope.pth", (os.path.join(folder, "python") + "\n").encode())
        found = []
    for path, source, is_program in found:
        with open(source, "rb") as file:
            wheel.add(path, file.read(), is_program)
    for path, text in info_files(is_set(config_settings, "compat")):
        wheel.add(info + "/" + path, text.encode())
    wheel.close(info)
    return name


# --- what pip calls ---


def get_requires_for_build_wheel(config_settings=None):
    return []


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    name = "opscope-%s.dist-info" % version()
    os.makedirs(os.path.join(metadata_directory, name))
    for path, text in info_files(is_set(config_settings, "compat")):
        with open(os.path.join(metadata_directory, name, path), "w", encoding="utf-8") as file:
            file.write(text)
    return name


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    ready = os.environ.get("OPSCOPE_WHEEL_BUILD")
    if ready:
        return pack(ready, wheel_directory, config_settings)
    with tempfile.TemporaryDirectory(prefix="opscope-wheel-") as folder:
        build(folder)
        return pack(folder, wheel_directory, config_settings)


get_requires_for_build_editable = get_requires_for_build_wheel
prepare_metadata_for_build_editable = prepare_metadata_for_build_wheel


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    folder = os.path.abspath(os.environ.get("OPSCOPE_WHEEL_BUILD") or os.path.join(SOURCE, "build-editable-" + tag()))
    if not os.environ.get("OPSCOPE_WHEEL_BUILD"):
        build(folder)
    return pack(folder, wheel_directory, config_settings, is_editable=True)


def build_sdist(sdist_directory, config_settings=None):
    raise SystemExit("opscope: there is no source package: build from the repository")
