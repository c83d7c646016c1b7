# SPDX-License-Identifier: Apache-2.0
"""Writes small folders of Tenstorrent logs for tests: what a run on one or two devices would leave.

    run = Run()
    run.op("Matmul", program=11)
    run.op("Matmul", program=11)            # the program was sent: a short message
    run.trace(4, ["Add", "Softmax"], replays=3)
    run.signpost("start", "warm-up")
    run.write(folder)                       # folder/.logs/*.csv

Ids, times and durations are plain numbers that a test can compute by hand: the n-th program on a device runs from
cycle 1,000,000 * n, one microsecond of firmware before and after a kernel of 10 us, at 1 GHz.
"""

import json
import os

KERNEL_CYCLES = 10_000
FIRMWARE_CYCLES = 1_000
ZONES = (("BRISC", "BRISC"), ("NCRISC", "NCRISC"), ("TRISC_0", "TRISC"), ("TRISC_1", "TRISC"), ("TRISC_2", "TRISC"))
LOG_COLUMNS = (
    "PCIe slot, core_x, core_y, RISC processor type, timer_id, time[cycles since reset], data, run host ID, "
    "trace id, trace id counter, zone name, type, source line, source file, meta data"
)


def tensor(device, shape=(1, 1, 32, 64)):
    return {
        "dtype": "BFLOAT16",
        "layout": "TILE",
        "shape": dict(zip("WZYX", (f"{size}[{size}]" for size in shape))),
        "storage_type": {
            "device_id": device,
            "memory_config": {"buffer_type": "DRAM", "memory_layout": "INTERLEAVED"},
        },
    }


def record(name, program, device, call, hit=False):
    return {
        "attributes": {"kind": f"{name}, plain", "quoted": 'say "hi"'},
        "device_id": device,
        "global_call_count": call,
        "input_tensors": [tensor(device), tensor(device, (1, 2, 64, 96))],
        "kernel_info": {
            "compute_kernels": [{"math_fidelity": "HiFi2", "name": f"{name}/1/", "source": f"ttnn/{name}.cpp"}],
            "datamovement_kernels": [{"name": "reader/2/", "source": "ttnn/reader.cpp"}],
            "kernel_sizes": {"TENSIX_DM_0_max_kernel_size": 700, "TENSIX_COMPUTE_0_max_kernel_size": 900},
        },
        "op_code": name,
        "op_hash": program,
        "op_type": "tt_dnn_device",
        "optional_input_tensors": [],
        "output_tensors": [tensor(device)],
        "performance_model": {
            "bandwidth_ns": 7, "compute_ns": 5000, "ideal_ns": 5000, "input_bws": [292.5], "output_bws": [146.25],
        },
        "program_cache_hit": hit,
    }


class Run:
    """What was recorded, in order; lists may be changed before write()."""

    def __init__(self, devices=(0,), cores=((1, 1), (1, 2))):
        self.devices, self.cores = devices, cores
        self.messages = ["MessageName;total_ns"]
        self.times = [
            "name,src_file,src_line,zone_name,zone_text,ns_since_start,exec_time_ns,thread,value,special_parent_text"
        ]
        self.log = []  # (device, core, processor, time, line)
        self.described = set()
        self.now = 1_000_000
        self.programs = 0
        self.started = {device: 0 for device in devices}
        self.captured = {}

    def tick(self, ns=10_000):
        self.now += ns
        return self.now

    def message(self, text, quoted=True):
        self.messages.append(f"`{text}`;{self.tick()}" if quoted else f"{text};{self.tick()}")

    def signpost(self, header, text=None):
        self.message(f"TT_SIGNPOST: {header}" + (f"\n{text}" if text else ""))

    def op(self, name, program, on_device=True, old_message=False, hit=False):
        """One op on each device. Returns the ids."""
        self.programs += 1
        calls = []
        for device in self.devices:
            call = self.programs << 10 | device
            calls.append(call)
            start = self.tick()
            self.times.append(f'TT_DNN_DEVICE_OP,op.hpp,10,,"id:{call}",{start},2500,1,,')
            self.times.append(f"CompileProgram,program.cpp,77,,,{start + 100},{500 + self.programs},1,,id:{call}")
            head = f'TT_DNN_DEVICE_OP: "{name}", {program}, {device}, '
            head += f"{call}" if old_message else f"{str(hit).lower()}, {call}"
            if (device, program) in self.described:
                self.message(head)
            else:
                self.described.add((device, program))
                self.message(head + " ->\n" + json.dumps(record(name, program, device, call, hit), indent=4))
            if on_device:
                self.run_on(device, call)
        return calls

    def run_on(self, device, call, trace=None, replay=None):
        self.started[device] += 1
        begin = 1_000_000 * self.started[device]
        at = f"{'' if trace is None else trace},{'' if replay is None else replay}"
        for x, y in self.cores:
            for number, (processor, zone) in enumerate(ZONES):
                for name, kind, time in (
                    (f"{zone}-FW", "ZONE_START", begin),
                    (f"{zone}-KERNEL", "ZONE_START", begin + FIRMWARE_CYCLES),
                    (f"{zone}-KERNEL", "ZONE_END", begin + FIRMWARE_CYCLES + KERNEL_CYCLES - 10 * number),
                    (f"{zone}-FW", "ZONE_END", begin + 2 * FIRMWARE_CYCLES + KERNEL_CYCLES - 10 * number),
                ):
                    line = (
                        f"{device},{x},{y},{processor},{700 + number},{time},0,{call},{at},{name},{kind},12,{zone}.cc,"
                    )
                    self.log.append((device, (x, y), number, time, line))

    def trace(self, trace, names, replays, messages=None):
        """Ops captured in a trace, then replayed: `replays` times on the device, `messages` times reported."""
        for device in self.devices:
            self.message(f"TT_METAL_TRACE_BEGIN: {device}, {trace}")
        calls = [self.op(name, 900 + number, on_device=False) for number, name in enumerate(names)]
        for device in self.devices:
            self.message(f"TT_METAL_TRACE_END: {device}, {trace}")
        for _ in range(replays if messages is None else messages):
            for device in self.devices:
                self.message(f"TT_METAL_TRACE_REPLAY: {device}, {trace}")
        for replay in range(replays):
            for number, device in enumerate(self.devices):
                for of_op in calls:
                    self.run_on(device, of_op[number], trace, replay + 1)
        return calls

    def log_text(self):
        lines = ["ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000, Max Compute Cores: 64", LOG_COLUMNS]
        lines += [line for *_, line in sorted(self.log, key=lambda entry: entry[:4])]
        return "\n".join(lines) + "\n"

    def write(self, folder, log=True, messages=True, times=True):
        logs = os.path.join(folder, ".logs")
        os.makedirs(logs, exist_ok=True)
        files = {
            "tracy_ops_data.csv": "\n".join(self.messages) + "\n" if messages else None,
            "tracy_ops_times.csv": "\n".join(self.times) + "\n" if times else None,
            "profile_log_device.csv": self.log_text() if log else None,
        }
        for name, text in files.items():
            if text is not None:
                with open(os.path.join(logs, name), "w", encoding="utf-8") as file:
                    file.write(text)
        return folder
