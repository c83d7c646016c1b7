# SPDX-License-Identifier: Apache-2.0
"""`from tracy import signpost, Profiler` for programs that are written for that module, where it is not installed."""

from opscope import Profiler, signpost

__all__ = ["Profiler", "signpost"]
