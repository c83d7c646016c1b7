# SPDX-License-Identifier: Apache-2.0
"""What the adapters for runtimes of devices cost: ranges of NVTX, commands of OpenCL (on PoCL, where it is). Beside them is
what no recorder can be cheaper than: two looks at the clock for a range, OpenCL's own profiling for a command."""

from run import Row, Skip, median_and_least, median_ratio


class Turns:
    """Medians of a program's figures, alone and in other ways, in turns: the machine may change meanwhile."""

    def __init__(self, bench, ways):
        self.figures = {way: [] for way in ways}
        for _ in range(3 if bench.quick else 7):
            for way, command in ways.items():
                self.figures[way].append(bench.figures(command))

    def values(self, way, key):
        return [figures[key] for figures in self.figures[way]]

    def median(self, way, key):
        return median_and_least(self.values(way, key))[0]

    def ratio(self, way, to, key):
        return median_ratio(self.values(way, key), self.values(to, key))

    def difference(self, way, to, key):
        return median_and_least([a - b for a, b in zip(self.values(way, key), self.values(to, key))])[0]

    def least(self, way, key):
        return min(self.values(way, key))


def recorded(bench, program):
    """Nothing may be lost: that costs more than a record."""
    return [bench.opscope, "run", "-q", "--buffer-size", "512M", "-o", bench.path("devices.opscope"), program]


def nvtx(bench):
    program = bench.program("bench_nvtx")
    turns = Turns(bench, {"alone": [program], "recorded": recorded(bench, program)})
    clock = bench.figures([bench.program("bench_record"), "1"])["floor_1t_median"]
    for key, name in (("plain", "a string"), ("registered", "a registered string"), ("domain", "with a domain")):
        yield Row(f"NVTX push and pop, {name}", turns.median("recorded", key + "_median"), "ns",
                  turns.median("alone", key + "_median"), "no tool", best=turns.least("recorded", key + "_min"))
        yield Row(f"NVTX push and pop, {name}: over no tool", turns.difference("recorded", "alone", key + "_median"), "ns", clock,
                  "2 clock reads + 2 stores", 30, "<= 30 ns")


def opencl(bench):
    try:
        program = bench.program("bench_opencl")
        ways = {"alone": [program], "profiled": [program, "profiled"], "recorded": recorded(bench, program)}
        turns = Turns(bench, ways)
    except Skip as reason:
        yield Skip(f"OpenCL: {reason}")
        return
    for key, name in (("enqueue", "enqueue a kernel"), ("command", "a kernel, until it has ended")):
        median, value = key + "_median", turns.median("recorded", key + "_median")
        yield Row(f"OpenCL, {name} (PoCL)", value, "ns", turns.median("alone", median), "not recorded", limit_text="<= 1.15 x",
                  best=turns.least("recorded", key + "_min"), ratio=turns.ratio("recorded", "alone", median), ratio_limit=1.15)
        yield Row(f"OpenCL, {name}, over OpenCL's own profiling", value, "ns", turns.median("profiled", median),
                  f"profiled by the program; {turns.ratio('profiled', 'alone', median):.2f} x of not",
                  ratio=turns.ratio("recorded", "profiled", median))


def rows(bench):
    yield from nvtx(bench)
    yield from opencl(bench)
