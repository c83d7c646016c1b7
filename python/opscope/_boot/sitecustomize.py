# SPDX-License-Identifier: Apache-2.0
"""How `opscope run` gets into a Python that knows nothing of it: its folder stands first on PYTHONPATH, so that site
imports this module when the interpreter starts. It takes that folder off sys.path again, lets the sitecustomize that
it hides do its work, and starts the recorder. For the program everything is as without it, and sitecustomize is not
left in sys.modules where there is none.

Runs in every Python that finds it, whatever the version: nothing here may need a recent one."""

import os
import sys

_FOLDER = os.path.dirname(__file__)


def _is_of_opscope(folder):
    """The _boot folder of this package, or of another copy of it."""
    parent, name = os.path.split(folder)
    return name == "_boot" and os.path.isfile(os.path.join(parent, "_start.py"))


def _run_hidden():
    """The sitecustomize that would have been imported without ours. What comes back is how it ended: None, or the
    exception that site must see. One of another copy of this package is none: the first one starts."""
    own = sys.modules.pop("sitecustomize", None)
    try:
        import sitecustomize  # noqa: F401
    except Exception as error:  # as it is; site decides what becomes of it
        sys.modules["sitecustomize"] = own  # what an import in progress has to find
        return error
    sys.modules.setdefault("sitecustomize", own)  # one that takes itself out does so again when we have ended
    return None


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


for _entry in [_entry for _entry in sys.path if _entry == _FOLDER or _is_of_opscope(_entry)]:
    sys.path.remove(_entry)
    sys.path_importer_cache.pop(_entry, None)
_error = _run_hidden()
try:
    _start()
except Exception as error:  # the program must run, whatever is wrong with the profiler
    sys.stderr.write("opscope: Python calls are not recorded: %s\n" % (error,))
if _error is not None:
    raise _error  # "no sitecustomize" among them: site passes over it as over a module that is not there
