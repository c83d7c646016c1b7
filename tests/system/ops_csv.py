# SPDX-License-Identifier: Apache-2.0
"""A small ops CSV of our own for tests: two devices' worth of columns, one of each kind of op, easy to damage."""

import csv
import io

SHARES = ("dram_percent", "cache_share_percent", "flops_percent", "link_percent")
TENSORS = ("INPUT_0", "INPUT_1", "OUTPUT_0")
COLUMNS = [
    "OP CODE",
    "OP TYPE",
    "GLOBAL CALL COUNT",
    "DEVICE ID",
    "DEVICE ARCH",
    "ATTRIBUTES",
    "MATH FIDELITY",
    "CORE COUNT",
    "AVAILABLE WORKER CORE COUNT",
    "HOST START TS",
    "HOST DURATION [ns]",
    "OP TO OP LATENCY [ns]",
    "DEVICE FW DURATION [ns]",
    "DEVICE KERNEL DURATION [ns]",
]
for tensor in TENSORS:
    COLUMNS += [f"{tensor}_{side}_PAD[LOGICAL]" for side in "WZYX"]
    COLUMNS += [f"{tensor}_LAYOUT", f"{tensor}_DATATYPE", f"{tensor}_MEMORY"]


def tensor_cells(name, shape, kind="BFLOAT16", memory="DEV_0_DRAM_INTERLEAVED"):
    cells = {f"{name}_{side}_PAD[LOGICAL]": f"{size}[{size}]" for side, size in zip("WZYX", shape)}
    cells.update({f"{name}_LAYOUT": "TILE", f"{name}_DATATYPE": kind, f"{name}_MEMORY": memory})
    return cells


def device_op(name, number, duration, **cells):
    row = {
        "OP CODE": name,
        "OP TYPE": "tt_dnn_device",
        "GLOBAL CALL COUNT": str(1024 * number),
        "DEVICE ID": "0",
        "DEVICE ARCH": "wormhole_b0",
        "CORE COUNT": "64",
        "AVAILABLE WORKER CORE COUNT": "64",
        "HOST START TS": str(1000000 + 1000 * number),
        "HOST DURATION [ns]": "500",
        "OP TO OP LATENCY [ns]": "700",
        "DEVICE FW DURATION [ns]": str(duration + 300),
        "DEVICE KERNEL DURATION [ns]": str(duration),
    }
    row.update(cells)
    return row


EMBEDDING, MATMUL, CONV, NORM, FALLBACK, LAST = range(6)


def good_rows():
    """Embedding, matmul, convolution, norm, a host op, an elementwise op."""
    return [
        device_op(
            "EmbeddingsDeviceOperation",
            1,
            5000,
            **tensor_cells("INPUT_0", (1, 1, 32, 32), "UINT32"),
            **tensor_cells("OUTPUT_0", (1, 1, 32, 4096)),
        ),
        device_op(
            "MatmulDeviceOperation",
            2,
            100000,
            **{"MATH FIDELITY": "HiFi2", "ATTRIBUTES": "{'bcast_batch': '1'}"},
            **tensor_cells("INPUT_0", (1, 1, 32, 4096)),
            **tensor_cells("INPUT_1", (1, 1, 4096, 4096), "BFLOAT8_B"),
            **tensor_cells("OUTPUT_0", (1, 1, 32, 4096)),
        ),
        device_op(
            "Conv2dDeviceOperation",
            3,
            50000,
            **{"MATH FIDELITY": "LoFi", "ATTRIBUTES": "{'sliding_window': 'SlidingWindow(window_hw=(3;3); stride_hw=(1;1))'}"},
            **tensor_cells("INPUT_0", (1, 1, 3136, 64), memory="DEV_0_L1_HEIGHT_SHARDED"),
            **tensor_cells("INPUT_1", (1, 1, 576, 64), "BFLOAT8_B"),
            **tensor_cells("OUTPUT_0", (1, 1, 3136, 64), memory="DEV_0_L1_HEIGHT_SHARDED"),
        ),
        device_op(
            "LayerNormDeviceOperation",
            4,
            9000,
            **tensor_cells("INPUT_0", (1, 1, 32, 4096)),
            **tensor_cells("OUTPUT_0", (1, 1, 32, 4096)),
        ),
        {
            "OP CODE": "(torch) aten.add",
            "OP TYPE": "python_fallback",
            "GLOBAL CALL COUNT": "5120",
            "HOST START TS": "1005000",
            "HOST DURATION [ns]": "80000",
        },
        device_op(
            "BinaryNgDeviceOperation",
            6,
            3000,
            **tensor_cells("INPUT_0", (1, 1, 32, 4096)),
            **tensor_cells("INPUT_1", (1, 1, 32, 4096)),
            **tensor_cells("OUTPUT_0", (1, 1, 32, 4096)),
        ),
    ]


def wild_rows():
    """Ops as fast as no machine is: whole caches, matmuls with too few cores, moves, links, at many durations."""
    rows = []
    for duration in (1, 30, 400, 1000, 5000, 20000, 40000):
        sizes = (1, 8, 1024, 128)
        rows += [
            device_op("SdpaDecodeDeviceOperation", len(rows) + 1, duration, **{"ATTRIBUTES": "{'cur_pos': '{}'}"},
                      **tensor_cells("INPUT_0", (1, 1, 8, 128)), **tensor_cells("INPUT_1", sizes), **tensor_cells("OUTPUT_0", (1, 1, 8, 128))),
            device_op("MatmulDeviceOperation", len(rows) + 2, duration, **{"MATH FIDELITY": "HiFi2", "CORE COUNT": "2"},
                      **tensor_cells("INPUT_0", (1, 1, 256, 512)), **tensor_cells("INPUT_1", (1, 1, 512, 512)), **tensor_cells("OUTPUT_0", (1, 1, 256, 512))),
            device_op("BinaryNgDeviceOperation", len(rows) + 3, duration, **tensor_cells("INPUT_0", sizes), **tensor_cells("OUTPUT_0", sizes)),
            device_op("AllGatherAsyncDeviceOperation", len(rows) + 4, duration, **tensor_cells("INPUT_0", (1, 1, 1024, 128)), **tensor_cells("OUTPUT_0", sizes)),
            device_op("MadeUpDeviceOperation", len(rows) + 5, duration, **tensor_cells("INPUT_0", sizes), **tensor_cells("OUTPUT_0", sizes)),
        ]
    return rows


def text_of(rows, columns=None, line_end="\n"):
    columns = columns or COLUMNS
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator=line_end)
    writer.writerow(columns)
    writer.writerows([row.get(column, "") for column in columns] for row in rows)
    return out.getvalue()
