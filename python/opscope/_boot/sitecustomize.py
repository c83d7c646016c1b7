# SPDX-License-Identifier: Apache-2.0
"""How `opscope run` gets into a Python that knows nothing of it: its folder stands first on PYTHONPATH, so that site
imports this module when the interpreter starts. It takes that folder off sys.path again, lets the sitecustomize that
it hides do its work, and starts the recorder. For the program everything is as without it, and sitecustomize is not
left in sys.modules where there is none.

Runs in every Python that finds it, whatever the version: nothing here may need a recent one."""

import os
import sys

_FOLDER = os.path.dirname(__file__)


def _run_hidden():
    """The sitecustomize that would have been imported without ours; False when there is none."""
    own = sys.modules.pop("sitecustomize", None)
    try:
        import sitecustomize  # noqa: F401
    except ImportError as error:
        if getattr(error, "name", "sitecustomize") != "sitecustomize":
            raise
        return False
    finally:
        sys.modules.setdefault("sitecustomize", own)
    return True


def _start():
    package = os.path.dirname(_FOLDER)
    if "OPSCOPE_SESSION" not in os.environ or not os.environ.get("OPSCOPE_PYTHON_TRACE"):
        return
    if sys.version_info < (3, 9):
        if os.environ.get("OPSCOPE_PYTHON_RUN") == str(os.getppid()):  # not in each of its children
            raise RuntimeError("this is Python %d.%d, and 3.9 is needed" % sys.version_info[:2])
        return
    import _frozen_importlib
    import _frozen_importlib_external as external

    spec = external.spec_from_file_location("opscope._start", os.path.join(package, "_start.py"))
    module = _frozen_importlib.module_from_spec(spec)
    sys.modules["opscope._start"] = module
    spec.loader.exec_module(module)
    module.start(package)


sys.path[:] = [entry for entry in sys.path if entry != _FOLDER]
sys.path_importer_cache.pop(_FOLDER, None)
_hides_one = _run_hidden()
try:
    _start()
except Exception as error:  # the program must run, whatever is wrong with the profiler
    sys.stderr.write("opscope: Python calls are not recorded: %s\n" % (error,))
if not _hides_one:
    _none = ImportError("no sitecustomize but opscope's")
    _none.name = "sitecustomize"  # site passes over it as over a module that is not there
    raise _none
