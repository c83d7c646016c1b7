# SPDX-License-Identifier: Apache-2.0
"""The spine: what recording costs, how fast it is collected, how large and how quick to read a trace is."""

import json
import os

from run import Row, Skip


def zone_cost(bench):
    """Zone pairs with and without a session, beside two clock reads and two 16-byte stores in a loop."""
    for threads in (1, 2):
        f = bench.figures([bench.opscope, "run", "-q", "-o", bench.path("z.opscope"), bench.program("bench_record"), str(threads)])
        floor = f[f"floor_{threads}t_median"]
        yield Row(f"zone pair, {threads} thread{'s' * (threads > 1)}", f[f"zone_{threads}t_median"], "ns", floor,
                  "2 clock reads + 2 stores", limit_text="<= 1.10 x", best=f[f"zone_{threads}t_min"],
                  ratio=f[f"ratio_{threads}t_median"], ratio_limit=1.10)
    f = bench.figures([bench.program("bench_record"), "1"])
    yield Row("zone pair, no session", f["zone_without_session_1t_median"], "ns", limit=1, limit_text="<= 1 ns",
              best=f["zone_without_session_1t_min"])


def start_up(bench):
    program = bench.program("bench_startup")
    out = bench.path("s.opscope")
    command = [bench.opscope, "run", "-q", "-o", out, program]
    first, best = bench.repeated(lambda: bench.figures(command)["first_zone"] / 1000, 20)
    yield Row("start-up: joining a session", first, "ms", limit=0.2, limit_text="<= 0.2 ms", best=best)
    rounds = "50" if bench.quick else "300"
    f = bench.figures([bench.program("bench_spawn"), rounds, "true", "--", bench.opscope, "run", "-q", "-o", out, "true"])
    yield Row("opscope run true, over true", f["command_2_median"] - f["command_1_median"], "ms", limit=5,
              limit_text="<= 5 ms", floor_name=f"true alone: {f['command_1_median']:.2f} ms")


def in_turns(bench, record):
    """The turn of median rate beside what is possible: two clock reads alone may take longer than the 33 ns that 30 M zones/s
    leave for a zone, and a machine is slower for seconds."""
    turns = []
    for _ in range(1 if bench.quick else 3):
        floor = bench.figures([bench.program("bench_record"), "1"])["floor_1t_median"]
        possible = min(30, 1000 / (1.10 * floor))
        figures = record()
        turns.append((figures["rate"] / possible, possible, figures))
    turns.sort(key=lambda turn: turn[0])
    _, possible, figures = turns[len(turns) // 2]
    figures["lost"] = max(turn[2]["lost"] for turn in turns)
    return possible, f"{possible:.3g} M zones/s" + (" (1.10 x the floor)" if possible < 30 else ""), figures


def end_to_end(bench):
    millions, out = 6 if bench.quick else 60, bench.path("paced.opscope")

    def paced():
        f = bench.figures([bench.opscope, "run", "-q", "-o", out, bench.program("bench_rate"), str(millions), "30"])
        return dict(f, lost=lost_zones(bench, out))

    possible, text, f = in_turns(bench, paced)
    yield Row("paced producer: rate reached", f["rate"], "M zones/s", limit=0.98 * possible, at_least=True, limit_text=text)
    yield Row("paced producer: zones lost", f["lost"], "zones", limit=0, limit_text="0", floor_name=f"of {int(f['zones']):,}")
    most, full = 10 if bench.quick else 100, bench.path("full.opscope")

    def back_to_back():
        command = [bench.opscope, "run", "-q", "--on-full=wait", "-o", full, bench.program("bench_rate"), str(most)]
        f, rss = figures_and_rss(bench, command)
        return dict(f, lost=lost_zones(bench, full), rss=rss)

    possible, text, f = in_turns(bench, back_to_back)
    yield Row("back to back, --on-full=wait: rate", f["rate"], "M zones/s", limit=possible, limit_text=f">= {text}", at_least=True)
    yield Row("back to back, --on-full=wait: lost", f["lost"], "zones", limit=0, limit_text="0",
              floor_name=f"of {int(f['zones']):,}")
    yield Row(f"collector memory at {most} M zones", f["rss"], "MiB", limit=256, limit_text="<= 256 MiB")
    yield Row(f"program's growth at {most} M zones", f["growth"], "MiB", limit=32, limit_text="<= 32 MiB")


def lost_zones(bench, trace):
    return json.loads(bench.run([bench.opscope, "info", "--json", trace]))["lost_zones"]


def figures_and_rss(bench, command):
    """The program's own lines (on stdout), and the peak memory of opscope itself."""
    import subprocess

    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    text = process.stdout.read().decode()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise Skip(f"{' '.join(command)} ended with {process.returncode}")
    figures = {line.split()[0]: float(line.split()[1]) for line in text.splitlines() if len(line.split()) >= 2}
    return figures, usage.ru_maxrss / 1024


def collector(bench):
    for kind, rounds, limit in (("uniform", 50, 0.5), ("random", 5, 4.0)):
        out = bench.path(f"{kind}.opscope")
        count = max(1, rounds // (10 if bench.quick else 1))
        f = bench.figures([bench.program("bench_collect"), out, kind, str(count)])
        if kind == "uniform":
            yield Row("collector, prepared session", f["collected"], "M zones/s", limit=40, limit_text=">= 40 M zones/s",
                      at_least=True)
        # Where the clock jitters, the times alone may have more entropy than the budget leaves for a zone: show it.
        floor = {"floor": f["entropy_of_times"], "floor_name": "entropy of the times"} if kind == "uniform" else {}
        yield Row(f"trace size, {kind}", f["bytes_per_zone"], "B/zone", limit=limit, limit_text=f"<= {limit} B", **floor)


def source_lines(bench):
    """What the lines around 1,000 places, in 20 files, add to a trace, and to the time of the run."""
    script, places, took, size = bench.program("../tests/programs/script"), [], {}, {}
    for number in range(20):
        file = bench.path(f"source{number}.cpp")
        with open(file, "w", encoding="utf-8") as out:
            out.writelines(f"    sum_{i % 89} += weight[{i * number % 97}] * transformed({i}, bias_{i * 7 % 101});\n" for i in range(1000))
        places += [f"place={file}:{line}" for line in range(10, 1000, 20)]
    for option in ("--source", "--no-source"):
        out = bench.path(f"lines{option}.opscope")
        command = [bench.opscope, "run", "-q", "-o", out, *(["--no-source"] if option == "--no-source" else []), script, *places]
        took[option], _ = bench.repeated(lambda: bench.timed(command)[1] * 1000, 5)
        size[option] = os.path.getsize(out) / 1000
    yield Row("source lines of 1,000 places: trace", size["--source"] - size["--no-source"], "KB", limit=200, limit_text="<= 200 KB")
    yield Row("source lines of 1,000 places: run", took["--source"], "ms", took["--no-source"], "without them")


def reading(bench):
    """On the 50 M-zone uniform trace that the collector wrote."""
    trace = bench.path("uniform.opscope")
    for name, limit in (("zones", 2.0), ("summary", 2.0), ("info", 0.05)):
        median, best = bench.repeated(lambda: bench.timed([bench.opscope, name, trace])[1] * 1000, 5)
        yield Row(f"opscope {name}, 50 M zones", median, "ms", limit=limit * 1000, limit_text=f"<= {limit * 1000:.0f} ms",
                  best=best)


def windows(bench):
    f = bench.figures([bench.program("bench_trace"), bench.path("lod.opscope"), "5" if bench.quick else "50"])
    worst = max((value for name, value in f.items() if name.startswith("window")), default=None)
    if worst is None:
        raise Skip("bench_trace printed no windows")
    yield Row("window of 2,000 px x 64 tracks, any zoom", worst, "ms", limit=16, limit_text="<= 16 ms")


def tracy_zones(bench):
    """Zones of Tracy's macros, compiled with opscope's headers, beside opscope's own in the same run."""
    f = bench.figures([bench.opscope, "run", "-q", "-o", bench.path("y.opscope"), bench.program("bench_tracy")])
    native = f["native_median"]
    for name, kind in (("ZoneScopedN", "cxx"), ("TracyCZoneN", "c")):
        yield Row(f"zone pair, {name} of the Tracy headers", f[f"{kind}_median"], "ns", native, "OPSCOPE_ZONE", 1.05 * native,
                  "<= 1.05 x", best=f[f"{kind}_min"])


def rows(bench):
    for part in (zone_cost, start_up, end_to_end, collector, source_lines, reading, windows, tracy_zones):
        yield from part(bench)
