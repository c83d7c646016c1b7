#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the inputs of this folder, and what tt-perf-report 1.4.1 writes of them.

    make.py inputs FOLDER                     the inputs alone: opscope's tests make them, too
    make.py goldens TT_PERF_REPORT FOLDER     what that program (of release 1.4.1, CPython 3.12 or later, whose sum() is
                                              compensated) prints and writes of each: tables and CSV files, no advice

The rows are made up: each shows one rule in which 1.4.1 differs from 1.2.4, or one cell that it takes as missing.
"""

import os
import random
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
import ops_csv  # noqa: E402

ALL = ["--ignore-signposts"]
# input -> name of a command line -> its words after the input
COMMANDS = {
    "matmuls": {
        "plain": [],
        "all": ALL,
        "experts": [*ALL, "--active-experts", "3"],
        "p100": [*ALL, "--arch", "p100"],
        "by_category": [*ALL, "--group-by", "category"],
        "no_host": [*ALL, "--no-host-ops", "--id-range", "3-14"],
    },
    "times": {"all": ALL, "by_op": [*ALL, "--group-by", "op", "--min-percentage", "0"]},
    "sub_devices": {"all": ALL},
    "devices": {"all": ALL, "apart": [*ALL, "--no-merge-devices"], "in_order": [*ALL, "--tracing-mode"]},
}
DRAM, L1 = "DEV_0_DRAM_INTERLEAVED", "DEV_0_L1_WIDTH_SHARDED"


def matmul(name, number, duration, shapes, fidelity="HiFi4", attributes="", memory=DRAM, **cells):
    (m, k, n), batch, batch1 = shapes
    row = ops_csv.device_op(name, number, duration, **{"MATH FIDELITY": fidelity, "ATTRIBUTES": attributes})
    row.update(ops_csv.tensor_cells("INPUT_0", (batch, 1, m, k), memory=memory))
    row.update(ops_csv.tensor_cells("INPUT_1", (batch1, 1, k, n), "BFLOAT8_B"))
    row.update(ops_csv.tensor_cells("OUTPUT_0", (batch, 1, m, n), memory=memory))
    row.update(cells)
    return row


def conv(number, duration, window, **cells):
    attributes = f"{{'w': 'S(window_hw=({window}); stride_hw=(1;1))'; 'act_block_h_ntiles=4'}}" if window else "{}"
    row = ops_csv.device_op("Conv2dDeviceOperation", number, duration, **{"MATH FIDELITY": "HiFi3", "ATTRIBUTES": attributes})
    row.update(ops_csv.tensor_cells("INPUT_0", (1, 1, 3136, 64), memory=L1))
    row.update(ops_csv.tensor_cells("INPUT_1", (1, 1, 576, 64), "BFLOAT8_B"))
    row.update(ops_csv.tensor_cells("OUTPUT_0", (1, 1, 3136, 128), memory=L1))
    row.update(cells)
    return row


def signpost(name, number):
    return {"OP CODE": name, "OP TYPE": "signpost", "HOST START TS": str(1000000 + 1000 * number)}


def matmuls():
    sharded = "{'program_config': 'MatmulMultiCoreReuseMultiCastDRAMShardedProgramConfig(in0_block_w=4;per_core_M=1)'}"
    blocks = "{'program_config': 'MatmulMultiCoreReuseProgramConfig(in0_block_w=2;out_subblock_h=1;out_subblock_w=4)'}"
    square = ((1024, 2048, 4096), 1, 1)
    return [
        signpost("start", 0),
        matmul("MatmulDeviceOperation", 1, 250000, square, "HiFi3", blocks),
        matmul("MatmulDeviceOperation", 2, 40000, ((32, 4096, 14336), 1, 1), "LoFi", sharded),
        matmul("MatmulDeviceOperation", 3, 9000, ((32, 64, 32), 8, 8), "HiFi2", memory=L1),
        matmul("MatmulDeviceOperation", 4, 90000, square, **{"INPUT_1_X_PAD[LOGICAL]": "0[0]"}),
        matmul("MatmulDeviceOperation", 5, 90000, square, **{"INPUT_0_Y_PAD[LOGICAL]": "wide"}),
        matmul("MatmulDeviceOperation", 6, 90000, square, **{"OUTPUT_0_W_PAD[LOGICAL]": "5000000000[1]"}),
        matmul("MatmulDeviceOperation", 7, 60000, square, **{"CORE COUNT": ""}),
        matmul("MatmulDeviceOperation", 8, 60000, square, **{"CORE COUNT": "0"}),
        matmul("MatmulDeviceOperation", 9, 60000, square, **{"CORE COUNT": "12.5"}),
        matmul("SparseMatmulDeviceOperation", 10, 70000, ((32, 2880, 5760), 4, 32), attributes="{'nnz': 'std::nullopt'}"),
        matmul("SparseMatmulDeviceOperation", 11, 70000, ((32, 2880, 5760), 4, 32), attributes="{'nnz': '7'}"),
        matmul("SparseMatmulDeviceOperation", 12, 70000, ((32, 2880, 5760), 64, 32),
               attributes="{'is_input_a_sparse': 'true'; 'is_input_b_sparse': 'false'; 'nnz': std::nullopt}"),
        matmul("SparseMatmulDeviceOperation", 13, 70000, ((32, 2880, 5760), 4, 32),
               attributes="{'is_input_a_sparse': 'true'; 'is_input_b_sparse': 'true'; \"nnz\" : 12}"),
        conv(14, 30000, "3;3"),
        conv(15, 30000, ""),
        conv(16, 30000, "3;x"),
        conv(17, 30000, "1;1", **{"CORE COUNT": "16"}),
        signpost("=end", 18),
        matmul("(torch) Matmul", 19, 1000, ((32, 64, 32), 1, 1)),
        ops_csv.good_rows()[ops_csv.FALLBACK],
    ]  # fmt: skip


def times():
    """Durations and gaps that cannot be, beside ones that can."""
    binary = ops_csv.good_rows()[ops_csv.LAST]
    rows = []
    for number, (duration, gap) in enumerate((
        ("3000", "700"), ("", "900"), ("4000", "2500000"), ("-5", "10"), ("5000", "-20"), ("6000", "-5000000"),
        ("7000", "100"), ("0", "300"), ("inf", "300"), ("8000", "inf"), ("9000000", "-1500000"), ("9000", "x"), ("9500", "12000"),
    )):  # fmt: skip
        row = dict(binary, **{"DEVICE KERNEL DURATION [ns]": duration, "OP TO OP LATENCY [ns]": gap})
        row["HOST START TS"] = str(1000000 + 1000 * number)
        rows.append(row)
    rows.insert(3, matmul("MatmulDeviceOperation", 50, 0, ((64, 64, 64), 1, 1)))
    rows.insert(5, matmul("MatmulDeviceOperation", 51, 100, ((64, 64, 64), 1, 1), **{"DEVICE KERNEL DURATION [ns]": ""}))
    return rows


def sub_devices():
    """A grid that is divided among sub-devices, with budgets and ids of every kind."""
    columns = [*ops_csv.COLUMNS, "SUB DEVICE ID"]
    ids = ("0", "1", "", "1.0", "1.5", "=cmd", "a\x1b[31mred\x07", "x" * 50, "-3", " 2 ")
    budgets = ("12", "52", "64", "0", "-4", "7.5", "nan", "2000000", "", "many")
    rows = []
    for number, (name, budget) in enumerate(zip(ids, budgets)):
        row = matmul("MatmulDeviceOperation", number, 20000 + 3000 * number, ((512, 512, 512), 1, 1), "HiFi2")
        row.update({"SUB DEVICE ID": name, "AVAILABLE WORKER CORE COUNT": budget, "CORE COUNT": str(4 + 6 * number)})
        rows.append(row)
    rows.append(dict(ops_csv.good_rows()[ops_csv.NORM], **{"OP CODE": "@Sum\x07DeviceOperation and more"}))
    rows.append(dict(ops_csv.good_rows()[ops_csv.NORM], **{"OP CODE": "AllGatherAsyncDeviceOperation"}))
    rows.append(dict(ops_csv.good_rows()[ops_csv.NORM], **{"OP CODE": "BroadcastDeviceOperation"}))
    return rows, columns


def devices():
    """Four devices, whose host times interleave; one that no number names."""
    draw = random.Random(7)
    rows = []
    for step in range(12):
        name = ("MatmulDeviceOperation", "AllReduceAsyncDeviceOperation", "BinaryNgDeviceOperation")[step % 3]
        for device in draw.sample(range(4), 4):
            row = matmul(name, 4 * step + device, draw.randrange(1000, 90000), ((256, 256, 256), 1, 1), "HiFi2")
            row.update({"DEVICE ID": str(device), "HOST START TS": str(2000000 - 5000 * step + draw.randrange(1000) * 4 + device)})
            if draw.random() < 0.15:
                row["DEVICE KERNEL DURATION [ns]"] = draw.choice(("", "-1"))
            rows.append(row)
    rows[10]["DEVICE ID"] = "1.5"
    return rows


def inputs():
    yield "matmuls", matmuls(), None
    yield "times", times(), None
    yield "sub_devices", *sub_devices()
    yield "devices", devices(), None


def write_inputs(folder):
    for name, rows, columns in inputs():
        with open(os.path.join(folder, name + ".csv"), "w", encoding="utf-8", newline="") as file:
            file.write(ops_csv.text_of(rows, columns))


def write_goldens(program, folder):
    with tempfile.TemporaryDirectory() as work:
        write_inputs(work)
        for name, _, _ in inputs():
            for command, words in COMMANDS[name].items():
                make_golden([program, f"{name}.csv", *words], os.path.join(folder, f"{name}-{command}"), work)


def make_golden(words, base, work):
    shown = subprocess.run([*words, "--no-color", "--no-advice"], cwd=work, capture_output=True, text=True, check=False)
    subprocess.run([*words, "--no-color", "--no-advice", "--csv", "t.csv"], cwd=work, capture_output=True, check=False)
    if shown.returncode:
        print(f"{base}: {shown.stderr.splitlines()[-1:]}")
        return
    table = re.search(r"^ID .*?^-+\n.*?^-+\n.*?\n", shown.stdout, re.M | re.S)
    stacked = re.search(r"====\n\n(.*)", shown.stdout[table.end() :], re.S)
    with open(base + ".txt", "w", encoding="utf-8") as file:
        file.write(table.group() + "\n" + (stacked.group(1).strip() + "\n" if stacked else ""))
    for ending in (".csv", "_stacked.csv"):
        if os.path.exists(os.path.join(work, "t" + ending)):
            os.replace(os.path.join(work, "t" + ending), base + ending)


if __name__ == "__main__":
    if len(sys.argv) == 3 and sys.argv[1] == "inputs":
        write_inputs(sys.argv[2])
    elif len(sys.argv) == 4 and sys.argv[1] == "goldens":
        write_goldens(os.path.abspath(sys.argv[2]), sys.argv[3])
    else:
        sys.exit(__doc__)
