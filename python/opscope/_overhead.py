# SPDX-License-Identifier: Apache-2.0
"""The worker of `opscope overhead` for ops that Python calls: python3 -m opscope._overhead --fds R,W --ops torch ...

Reads questions and writes answers, one JSON object per line, over the two descriptors (src/measure/worker.h). The
calls are made by a loop in the extension; this file is what surrounds it."""

import argparse
import gc
import json
import os
import statistics
import sys
import threading
import time
import warnings

from opscope import _start
from opscope import overhead

BURST = 20
GAP_NS = 20_000  # around a recorded burst: more than two clocks differ by
SETTLE_S = 0.005  # threads that spin before they sleep give up
WATCH_S = 0.005  # then the process should be idle
LONGEST_WATCH_S = 0.2  # on a shared CPU: several turns of every process that wants it
IDLE_TRIES = 200  # a second on an idle machine
EARLY_NS, EARLY_SHARE = 1000, 0.25  # waiting so much per call, absolutely and relative to dispatching


def load_native():
    native = _start.load_native(os.path.dirname(os.path.abspath(__file__)))
    if native is None or not hasattr(native, "time_calls"):
        raise overhead.Unavailable(
            "opscope has no extension for %s %d.%d (%s); opscope doctor lists those that were built"
            % (sys.implementation.name, sys.version_info[0], sys.version_info[1], sys.executable)
        )
    return native


def small_function(a, b=1):
    total = a
    for i in (1, 2, 3, 4):
        total += i * b
    return {"total": total}


def calibration_ops(native):
    """What every run measures along with its ops, to know the machine. Must never change."""
    calls = {
        "integer": (native.calibrate_integer, ()),
        "memory": (native.calibrate_memory, ()),
        "throughput": (native.calibrate_throughput, ()),
        "allocate": (native.calibrate_allocate, ()),
        "python": (small_function, (1, 2)),
        "builtin": (sorted, ((3, 1, 2, 5, 4, 9, 7, 8),)),
    }
    return [
        overhead.Op("calibration." + name, "calibration", lambda call=call, args=args: (call, args, None))
        for name, (call, args) in calls.items()
    ]


def limit_memory(limit):
    """Address space, counted from now: what the imported packages reserved is not the op's doing."""
    if not limit:
        return
    import resource

    with open("/proc/self/statm", encoding="ascii") as file:
        taken = int(file.read().split()[0]) * resource.getpagesize()
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    wanted = taken + limit
    if hard == resource.RLIM_INFINITY or wanted < hard:
        resource.setrlimit(resource.RLIMIT_AS, (wanted, hard))


def is_memory_error(error):
    if isinstance(error, MemoryError):
        return True
    text = str(error)
    return "can't allocate memory" in text or "out of memory" in text or "Out of Memory" in text


def pause():
    end = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW) + GAP_NS
    while time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW) < end:
        pass


def watch_others(seconds):
    """Lets other threads run until the process has used this much CPU time, or until every thread must have had its
    turn. Never sleeps: an idle CPU lowers its clock, and the next calls would be slower. Returns the CPU time that the
    other threads of this process used."""
    end = time.monotonic() + LONGEST_WATCH_S
    everything, own = time.process_time(), time.thread_time()
    while time.process_time() - everything < seconds and time.monotonic() < end:
        time.sleep(0)
    return (time.process_time() - everything) - (time.thread_time() - own)


def is_working():
    """Are other threads of the process at work?"""
    return watch_others(WATCH_S) > WATCH_S / 10


def wait_until_idle():
    """Work left over from an earlier op must not disturb this one or be attributed to it. False if it does not end."""
    return any(not is_working() for _ in range(IDLE_TRIES))


def goes_on_working():
    """Does the process still work after synchronize has returned?"""
    watch_others(SETTLE_S)
    return is_working()


def has_to_wait(waits, dispatches, calls):
    """Does synchronizing take significant time, because the calls returned before their work was done?"""
    # The lower median: one disturbed burst must not decide.
    wait, dispatch = statistics.median_low(waits) / calls, statistics.median_low(dispatches)
    return wait > EARLY_NS and wait > EARLY_SHARE * dispatch


class Worker:
    def __init__(self, native, provider):
        self.native, self.provider = native, provider
        self.ops = {}
        for op in provider.ops() + calibration_ops(native):
            if op.name in self.ops:
                raise overhead.Unavailable("%s has two ops of the name %s" % (provider.name, op.name))
            self.ops[op.name] = op

    def loop_ns(self):
        """Cost of an empty call in the same loop: the fastest of many bursts, since noise only adds time."""
        times = (self.native.time_calls(self.native.nothing, (1, 2), None, BURST, None) for _ in range(200))
        return min(called - start for start, called, *_ in times) / BURST

    def list(self, _):
        return {
            "provider": self.provider.name,
            "version": self.provider.version,
            "description": self.provider.description,
            "interpreter": "%s, Python %d.%d.%d" % ((sys.executable,) + sys.version_info[:3]),
            "pid": os.getpid(),
            "tid": threading.get_native_id(),
            "loop_ns": self.loop_ns(),
            "ops": [{"name": op.name, "group": op.group, "reason": op.reason} for op in self.ops.values()],
        }

    def burst(self, made, calls, synchronize):
        call, args, kwargs = made
        return self.native.time_calls(call, args, kwargs, calls, synchronize)

    def measure(self, question):
        answer = {"op": question["op"], "dispatch_ns": [], "total_ns": [], "windows": [], "error": None}
        answer.update(left_out=None, is_memory=False, is_early=False, slow_ns=0)
        op = self.ops[question["op"]]
        try:
            self.measure_op(op, question, answer)
        except overhead.CannotCall as error:
            answer["left_out"] = str(error)
        except BaseException as error:  # SystemExit and KeyboardInterrupt of an op, too
            answer["error"] = overhead.first_line(error)
            answer["is_memory"] = is_memory_error(error)
        return answer

    def measure_op(self, op, question, answer):
        calls, traced = question["calls"], question["trace"]
        made = op.make()
        was_idle = question["first"] and wait_until_idle()
        if question["warmup"]:
            answer["slow_ns"] = self.find_slow(made, op, question)
            if answer["slow_ns"]:
                return
        if was_idle:
            answer["is_early"] = goes_on_working()
        if question["first"]:
            gc.collect()
        waits = []
        self.signpost("start", op, traced)
        for _ in range(question["repeats"]):
            # A trace cannot exclude the time of other processes, so it is not subtracted when tracing.
            start, _, end, dispatch, total = self.burst(made, calls, op.synchronize)
            waits.append(total - dispatch)
            answer["total_ns"].append((end - start if traced else total) / calls)
            if traced:
                pause()
            start, called, _, dispatch, _ = self.burst(made, calls, op.synchronize)
            answer["dispatch_ns"].append((called - start if traced else dispatch) / calls)
            if traced:
                pause()
                answer["windows"].append((start, called))
        self.signpost("end", op, traced)
        if op.synchronize is not None and has_to_wait(waits, answer["dispatch_ns"], calls):
            answer["is_early"] = True

    def find_slow(self, made, op, question):
        """Warms up. An op whose bursts would exceed the time limit is not measured: returns the duration of one call of
        it, otherwise 0. The first calls may be slower than later ones, so one more is timed."""
        calls = question["calls"] * 2 * question["repeats"]
        limit = question["limit_ns"]
        total = self.burst(made, question["warmup"], op.synchronize)[4]
        if not limit or total / question["warmup"] * calls <= limit:
            return 0
        total = self.burst(made, 1, op.synchronize)[4]
        return total if total * calls > limit else 0

    def signpost(self, what, op, traced):
        if traced:
            self.native.signpost("%s %s" % (what, op.name), None)

    def serve(self, questions, answers):
        for line in questions:
            question = json.loads(line)
            if question["do"] == "quit":
                return
            answer = self.list(question) if question["do"] == "list" else self.measure(question)
            answers.write(json.dumps(answer) + "\n")
            answers.flush()


def arguments():
    parser = argparse.ArgumentParser(prog="opscope._overhead")
    parser.add_argument("--fds", required=True)
    parser.add_argument("--ops", required=True)
    parser.add_argument("--shape")
    parser.add_argument("--dtype")
    parser.add_argument("--layout")
    parser.add_argument("--device")
    parser.add_argument("--memory-limit", type=int, default=0)
    return parser.parse_args()


def main():
    options = arguments()
    read_fd, write_fd = (int(number) for number in options.fds.split(","))
    os.set_inheritable(read_fd, False)
    os.set_inheritable(write_fd, False)
    shape = tuple(int(size) for size in options.shape.split(",")) if options.shape else None
    questions = os.fdopen(read_fd, "r", encoding="utf-8")
    answers = os.fdopen(write_fd, "w", encoding="utf-8")
    warnings.simplefilter("ignore")  # deprecated functions are ops, too
    try:
        overhead.check_package(options.ops)
        native = load_native()
        settings = overhead.Settings(shape, options.dtype, options.layout, options.device, native.is_recording())
        worker = Worker(native, overhead.load(options.ops, settings))
        limit_memory(options.memory_limit)
    except overhead.Unavailable as error:
        questions.readline()
        answers.write(json.dumps({"error": str(error), "is_missing": error.is_missing}) + "\n")
        answers.flush()
        return
    gc.collect()
    gc.freeze()  # objects of the imported packages are not the op's garbage
    gc.disable()
    worker.serve(questions, answers)
    sys.stdout.flush()
    os._exit(0)  # an op's threads and exit handlers must not hold us up


if __name__ == "__main__":
    main()
