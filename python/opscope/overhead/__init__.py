# SPDX-License-Identifier: Apache-2.0
"""The ops that `opscope overhead` measures, by provider: torch, numpy, ttnn, or a Python file of yours.

A provider is an object with

    name         "torch"
    version      "1.13.1"
    description  what the inputs are: "1x4x8x8, float32, cpu"
    ops()        a list of Op

A file of yours needs none of this: see overhead/module.py, or docs/overhead.md."""

import importlib.util
import sys

PACKAGES = ("torch", "numpy", "ttnn")


class Unavailable(Exception):
    """The provider cannot work here; the text says why. `is_missing`: this interpreter lacks the package, another may
    have it."""

    def __init__(self, text, is_missing=False):
        super().__init__(text)
        self.is_missing = is_missing


class CannotCall(Exception):
    """An op cannot be called with the inputs that can be made for it; the text says why."""


class Settings:
    """What the user asked for; None where nothing was given."""

    def __init__(self, shape=None, dtype=None, layout=None, device=None, is_traced=False):
        self.shape, self.dtype, self.layout, self.device = shape, dtype, layout, device
        self.is_traced = is_traced


class Op:
    """One op. make() gives (callable, args, kwargs) and is not timed; it may raise CannotCall. `reason`, where there
    is one, says why the op is left out."""

    __slots__ = ("name", "group", "make", "synchronize", "reason")

    def __init__(self, name, group="", make=None, synchronize=None, reason=None):
        self.name, self.group, self.make = name, group, make
        self.synchronize, self.reason = synchronize, reason


def shape_text(shape):
    return "x".join(str(size) for size in shape)


def first_line(error):
    """What an exception says, in one line."""
    text = str(error).strip()
    line = text.splitlines()[0].strip() if text else ""
    kind = type(error).__name__
    return ("%s: %s" % (kind, line) if line else kind)[:300]


def check_package(ops):
    """Says so early when this interpreter lacks the package: then nothing else about it matters."""
    if ops in PACKAGES and importlib.util.find_spec(ops) is None:
        raise Unavailable("%s has no %s" % (sys.executable, ops), is_missing=True)


def import_package(name):
    """The package whose ops are measured."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise Unavailable("%s cannot be imported: %s" % (name, first_line(error))) from error


def load(ops, settings):
    """The provider of that name, or of that file."""
    if ops in PACKAGES:
        return importlib.import_module("opscope.overhead." + ops).Provider(settings)
    if ops.endswith(".py"):
        from opscope.overhead import module

        return module.Provider(settings, ops)
    raise Unavailable("there is no provider %s: torch, numpy, ttnn, a .py file, a .so file or command:PROGRAM" % ops)
