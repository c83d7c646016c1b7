# SPDX-License-Identifier: Apache-2.0
"""Ops of a Python file: `opscope overhead --ops my_ops.py`.

    import my_library

    def synchronize():            # optional: waits until the work of all calls so far is done
        my_library.wait()

    OPS = [                       # or a function ops(settings) that returns such a list
        {
            "name": "my.add",
            "call": my_library.add,
            "inputs": lambda: (my_library.ones(8), my_library.ones(8)),   # or a tuple; default: none
            # "kwargs": {"out": None}, "group": "binary", "synchronize": ..., "reason": "why it is left out"
        },
    ]

"inputs" is called once per measurement and is not timed. The synchronize of an op takes precedence over that of the
file. `settings` has shape (a tuple), dtype, layout and device as the user gave them, None where not.

The file is run as a module of its own name, with its folder first on sys.path."""

import importlib.util
import os
import sys

from opscope.overhead import Op, Unavailable, first_line, shape_text

KEYS = {"name", "call", "inputs", "kwargs", "group", "synchronize", "reason"}


def load_file(path):
    if not os.path.isfile(path):
        raise Unavailable("%s: no such file" % path)
    name = os.path.splitext(os.path.basename(path))[0]
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException as error:  # SystemExit, too: the file is a user's
        raise Unavailable("%s cannot be imported: %s" % (path, first_line(error))) from error
    return module


class Provider:
    def __init__(self, settings, path):
        self.settings, self.path = settings, path
        self.module = load_file(path)
        self.name = os.path.basename(path)
        self.version = str(getattr(self.module, "__version__", ""))
        shape = shape_text(settings.shape) if settings.shape else None
        said = (shape, settings.dtype, settings.layout, settings.device)
        self.description = ", ".join(text for text in said if text)

    def entries(self):
        listed = getattr(self.module, "OPS", None)
        if listed is None and callable(getattr(self.module, "ops", None)):
            try:
                listed = self.module.ops(self.settings)
            except Exception as error:
                raise Unavailable("%s: ops(settings) raised %s" % (self.path, first_line(error))) from error
        if listed is None:
            raise Unavailable('%s has neither OPS nor ops(settings) (docs/overhead.md, "Ops of your own")' % self.path)
        try:
            return list(listed)
        except TypeError:
            raise Unavailable("%s: OPS is not a list" % self.path) from None

    def ops(self):
        return [self.op(i, entry) for i, entry in enumerate(self.entries())]

    def op(self, number, entry):
        where = "%s: op %d" % (self.path, number)
        if not isinstance(entry, dict):
            raise Unavailable("%s is a %s, not a dict" % (where, type(entry).__name__))
        unknown = sorted(str(key) for key in set(entry) - KEYS)
        if unknown:
            raise Unavailable("%s has an unknown key %s; known are %s" % (where, unknown[0], ", ".join(sorted(KEYS))))
        name, call = entry.get("name"), entry.get("call")
        if not isinstance(name, str) or not name:
            raise Unavailable('%s has no "name"' % where)
        reason = entry.get("reason")
        if not callable(call) and not reason:
            raise Unavailable('%s (%s): its "call" cannot be called' % (where, name))
        synchronize = entry.get("synchronize", getattr(self.module, "synchronize", None))
        inputs, kwargs = entry.get("inputs", ()), entry.get("kwargs")

        def make():
            made = inputs() if callable(inputs) else inputs
            return call, tuple(made) if isinstance(made, (tuple, list)) else (made,), dict(kwargs or {}) or None

        return Op(name, str(entry.get("group", "")), make, synchronize, reason)
