# SPDX-License-Identifier: Apache-2.0
"""What the adapters for runtimes of devices cost: ranges of NVTX, commands of OpenCL (on PoCL, where it is)."""

from run import Row, Skip


def both(bench, program, key):
    """Medians of a figure, alone and recorded, in turns: the machine may change meanwhile. Nothing may be lost: that costs
    more than a record."""
    alone, recorded, least = [], [], []
    for _ in range(3 if bench.quick else 7):
        alone.append(bench.figures([program])[key + "_median"])
        figures = bench.figures([bench.opscope, "run", "-q", "--buffer-size", "512M", "-o", bench.path("devices.opscope"), program])
        recorded.append(figures[key + "_median"])
        least.append(figures[key + "_min"])
    middle = len(alone) // 2
    return sorted(alone)[middle], sorted(recorded)[middle], min(least)


def nvtx(bench):
    program = bench.program("bench_nvtx")
    for key, name, limit in (("plain", "a string", 30), ("registered", "a registered string", 30),
                             ("domain", "with a domain", None)):
        alone, recorded, best = both(bench, program, key)
        yield Row(f"NVTX push and pop, {name}", recorded, "ns", alone, "no tool", alone + limit if limit else None,
                  f"<= {limit} ns over no tool" if limit else "", best=best)


def opencl(bench):
    try:
        program = bench.program("bench_opencl")
        for key, name in (("enqueue", "enqueue a kernel"), ("command", "a kernel, until it has ended")):
            alone, recorded, best = both(bench, program, key)
            yield Row(f"OpenCL, {name} (PoCL)", recorded, "ns", alone, "not recorded", 1.15 * alone, "<= 1.15 x", best=best)
            profiled = bench.figures([program, "profiled"])[key + "_median"]
            yield Row(f"OpenCL, {name}, with OpenCL's own profiling", profiled, "ns", alone, "without")
    except Skip as reason:
        yield Skip(f"OpenCL: {reason}")


def rows(bench):
    yield from nvtx(bench)
    yield from opencl(bench)
