# SPDX-License-Identifier: Apache-2.0
"""Programs that are run by a framework: so far pytest. Loaded when a process of a session first imports it.

The plugin (pytest_plugin.py) is loaded as if it stood in PYTEST_PLUGINS. It does not stand there: the variable would
go on to every child, and one without this package would end with an error. So the method of pytest that reads the
variable is wrapped, once, when its module is imported; `-p no:opscope` turns the plugin off as usual."""

import os
import sys

import _frozen_importlib_external as external

PLUGIN = "opscope.pytest_plugin"
FRAMES_OF_PYTEST = ("_pytest", "pytest", "pluggy", "xdist", "execnet", "iniconfig")


def folders_of(name):
    """Where a top-level package or module lies; nothing of it is imported."""
    spec = external.PathFinder.find_spec(name)
    return list(spec.submodule_search_locations or ()) if spec is not None else []


def library_folders():
    found = {os.path.dirname(os.__file__)}
    for entry in sys.path:
        if os.path.basename(entry.rstrip("/")) in ("site-packages", "dist-packages"):
            found.add(entry.rstrip("/"))
    return sorted(found)


def hide_frames(native, names=FRAMES_OF_PYTEST):
    """Of a framework's own, and of libraries that it calls for itself."""
    for folder in library_folders():
        native.add_folder(folder, native.LIBRARY)
    for name in names:
        for folder in folders_of(name):
            native.add_folder(folder, native.FRAMEWORK)


def load_plugin_with(module):
    """module is _pytest.config, just executed."""
    manager = getattr(module, "PytestPluginManager", None)
    consider = getattr(manager, "consider_env", None)
    if consider is None or getattr(consider, "loads_opscope", False):
        return

    def consider_env(self):
        consider(self)
        if self.get_plugin("pytestconfig") is None:
            return  # of no session: somebody tests the manager itself
        try:
            self.import_plugin(PLUGIN)
        except Exception as error:  # the tests must run, whatever is wrong with the profiler
            sys.stderr.write("opscope: tests have no zones of their own: %s\n" % (error,))

    consider_env.loads_opscope = True
    consider_env.__doc__ = consider.__doc__
    manager.consider_env = consider_env


class Finder:
    """First in sys.meta_path until pytest is there; finds nothing itself."""

    def __init__(self, native, shows_frames):
        self.native = native
        self.shows_frames = shows_frames

    def find_spec(self, name, path=None, target=None):
        if name == "_pytest.config":
            return self.find_config(name, path)
        return None

    def find_config(self, name, path):
        sys.meta_path.remove(self)
        start = sys.modules["opscope._start"]
        return start.when_executed(start.find_elsewhere(self, name, path), load_plugin_with)


def pytest_is_imported(native, shows_frames):
    """In the place of the finder that has noticed it."""
    if native is not None and shows_frames:
        # Hooks are generators inside generators of pluggy's: a zone must outlive these, so they cannot be shown.
        for folder in folders_of("pluggy"):
            native.hide(folder)
    elif native is not None:
        hide_frames(native)
    return Finder(native, shows_frames)
