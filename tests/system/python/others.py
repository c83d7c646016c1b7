# SPDX-License-Identifier: Apache-2.0
"""Hooks of the program's own keep working."""

import cProfile
import pstats
import sys


def work():
    return sum(range(10))


events = []
sys.setprofile(lambda frame, event, argument: events.append((event, frame.f_code.co_name)))
work()
sys.setprofile(None)
print("profile", ("call", "work") in events, ("return", "work") in events)
lines = []


def tracer(frame, event, argument):
    lines.append((event, frame.f_code.co_name))
    return tracer


sys.settrace(tracer)
work()
sys.settrace(None)
print("trace", ("call", "work") in lines, ("line", "work") in lines)
profile = cProfile.Profile()
profile.runcall(work)
print("cProfile", [value[0] for key, value in pstats.Stats(profile).stats.items() if key[2] == "work"])
for i in range(20000):  # code objects that come and go
    namespace = {}
    exec(compile("def made(): pass\nmade()", "made-%d" % (i % 50), "exec"), namespace)
