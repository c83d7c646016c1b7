#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the seeds of the fuzz targets for small formats into tests/fuzz/corpus/: machine files, lines of IREE's export,
messages of the sampler of GPUs, answers of a worker that measures ops."""

import json
import os
import struct

FIGURES = {
    "worker_cores": 64, "dram_gb_s": 288, "tflops_per_core_lofi": 4, "tflops_per_core_hifi2": 2, "tflops_per_core_hifi3": 1.5,
    "tflops_per_core_hifi4": 1, "vector_tflops_per_core": 0.25, "link_gb_s": 12.5,
}


def machine(**changes):
    sourced = {key: {"value": value, "unit": "x", "source": "made up"} for key, value in FIGURES.items()}
    text = {"name": "made-up", "title": "A machine", "aliases": ["other", "o-2"], "figures": sourced}
    return json.dumps({**text, **changes}).encode()


def lines(*records):
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


EVENT = {
    "record_type": "host_execution_event", "event_id": 1, "submission_id": 7, "op": "dispatch", "key": "f_0",
    "workgroup_count": [4, 2, 1], "start_host_time_ns": 1000, "end_host_time_ns": 1040, "valid": True, "tile_count": 8,
    "tile_duration_sum_ns": 90,
}
ALLOCATION = {"record_type": "memory_event", "event_type": "queue_alloca", "host_time_ns": 990, "allocation_id": 3, "length": 4096}
FAR = (1 << 64) - 1


def message(kind, device=0, start=0, end=0, union=b"", text=b"", length=None):
    length = len(text) if length is None else length
    return struct.pack("<IIQQ56sII", kind, device, start, end, union, length, 0) + text


SAMPLE = struct.pack("<7d", *range(7))
LIST = {
    "provider": "p", "version": "1", "pid": 1, "tid": 1, "loop_ns": 41.5, "description": "d",
    "ops": [{"name": "a.add", "group": "binary", "reason": None}, {"name": "calibration: x", "group": "", "reason": "none"}],
}
ANSWER = {
    "op": "a.add", "dispatch_ns": [50, 60.5], "total_ns": [70, 1e3], "windows": [[5, 9], [11, 12]], "error": None,
    "left_out": None, "is_memory": False, "is_early": True, "slow_ns": 0,
}

CORPORA = {
    "machine": {
        "plain": machine(),
        "numbers": machine(figures=FIGURES),
        "no-figures": machine(figures={}),
        "edges": machine(figures=dict(FIGURES, dram_gb_s=1e308, worker_cores=-0.0, few_cores=1e-308)),
        "names": machine(name="x" * 70, aliases=["y" * 70, "", 5]),
        "estimate": machine(estimate={"kind": "torq", "figures": {"engines": 2, "clock_mhz": {"value": 800, "source": "s"}}}),
        "many": machine(aliases=[str(i) for i in range(20)]),
        "deep": b'{"figures":' * 50 + b"1" + b"}" * 50,
    },
    "iree_lines": {
        "events": lines(EVENT, dict(EVENT, op="copy", payload_length=64), ALLOCATION, dict(ALLOCATION, event_type="queue_dealloca")),
        "backwards": lines(dict(EVENT, start_host_time_ns=2000), dict(EVENT, start_host_time_ns=FAR, end_host_time_ns=FAR)),
        "far": lines(dict(EVENT, start_host_time_ns=0, end_host_time_ns=FAR), dict(ALLOCATION, host_time_ns=FAR, length=FAR)),
        "kinds": lines(dict(EVENT, op=5, key=[]), {"record_type": "other"}, [], {}, dict(EVENT, workgroup_count=[1, -1, 1e30, 4])),
        "broken": lines(EVENT)[:-20] + b"\n\n{}\x00{\n",
        "dropped": lines({"record_type": "truncation", "dropped_record_count": 3}, EVENT),
    },
    "gpu_wire": {
        "samples": message(1, 0, 0, 0, struct.pack("<I", 127), b"GPU 0") + message(2) + message(3, 0, 5, 9, SAMPLE) * 3,
        "lost": message(4, 1, 5, 9, struct.pack("<Q", 8)) + message(4, 1, 9, 5, struct.pack("<Q", FAR)),
        "trouble": message(5, 0, text=b"it does not work") * 100,
        "devices": b"".join(message(1, i, union=b"\xff" * 4, text=b"G" * (i % 50)) + message(3, i, 1, 2, SAMPLE) for i in range(60, 70)),
        "device-again": message(1, 3, text=b"a") + message(3, 3, 1, 2) + message(1, 3, union=b"\xff" * 4, text=b"b") + message(3, 3, FAR, 0, SAMPLE),
        "text-beyond": message(1, 0, text=b"abc", length=1024),
        "text-too-long": message(5, 0, text=b"abc", length=1025) + message(2),
        "kinds": message(0) + message(FAR & 0xFFFFFFFF) + message(3, FAR & 0xFFFFFFFF),
        "cut": message(3, 0, 5, 9, SAMPLE)[:-7],
    },
    "overhead_worker": {
        "plain": b"\0" + lines(LIST, ANSWER, ANSWER),
        "traced": b"\1" + lines(LIST, ANSWER, dict(ANSWER, windows=[[9, 5]])),
        "errors": b"\0" + lines(LIST, dict(ANSWER, error="e"), dict(ANSWER, error="m", is_memory=True), dict(ANSWER, left_out="l")),
        "slow": b"\0" + lines(LIST, dict(ANSWER, slow_ns=FAR)),
        "twice": b"\0" + lines(dict(LIST, ops=LIST["ops"] * 2)),
        "nameless": b"\0" + lines(dict(LIST, ops=[{}, {"name": ""}, 5, None])),
        "no-list": b"\0" + lines({"error": "none", "is_missing": True}, ANSWER),
        "figures": b"\0" + lines(LIST, dict(ANSWER, dispatch_ns=["x"], total_ns={}), dict(ANSWER, dispatch_ns=[1e999, -5], total_ns=[0])),
    },
}


def main():
    corpus = os.path.join(os.path.dirname(os.path.abspath(__file__)), "corpus")
    for target, seeds in CORPORA.items():
        folder = os.path.join(corpus, target)
        os.makedirs(folder, exist_ok=True)
        for name, data in seeds.items():
            with open(os.path.join(folder, name), "wb") as file:
                file.write(data)
        print(f"{len(seeds)} seeds in {folder}")


if __name__ == "__main__":
    main()
