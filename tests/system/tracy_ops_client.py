# SPDX-License-Identifier: Apache-2.0
"""A program that tells of its ops as tt-metal does: messages, zones and device zones by a Tracy client with 16-bit GPU
contexts, and files of the devices when it ends.

    python3 tracy_ops_client.py LOGS [--version N] [--exit STATUS] [--cores] [--threads] [--save FILE] [--gate FILE]

LOGS is a .logs folder of some run: what its tracy_ops_data.csv and tracy_ops_times.csv say is sent, in that order and with
those times; its devices' files are left in $TT_METAL_PROFILER_DIR/.logs. --save FILE writes the stream to a file, with the
answers that a server would get, instead of waiting for one. --cores sends zones of devices as well, --threads what it says from two
threads, one after the other. --gate FILE: when all was told it goes on answering questions, and ends when that file is there.
"""

import argparse
import csv
import ctypes
import os
import re
import select
import shutil
import struct
import sys

import tracy_client
import tracy_stream
from tracy_stream import u16, u32, u64

DEVICE_FILES = ("cpp_device_perf_report.csv", "profile_log_device.csv")
FIRST_LOCATION = 0x401000
DEVICE_CONTEXT = 6  # the fork's type


def messages_of(path):
    """(ns, text) of each message, with the backticks that the program puts around it."""
    with open(path, encoding="utf-8", newline="") as file:
        text = file.read()
    found = re.finditer(r"(`.*?`|[^\n`][^\n]*?);(\d+)\r?\n", text[text.index("\n") + 1 :], re.S)
    return [(int(match.group(2)), match.group(1)) for match in found]


def zones_of(path):
    """(start, end, name, file, line, text), in order of start, outer ones first."""
    with open(path, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    zones = []
    for row in rows:
        start = int(row["ns_since_start"])
        zones.append((start, start + int(row["exec_time_ns"]), row["name"], row["src_file"], int(row["src_line"]), row["zone_text"]))
    return sorted(zones, key=lambda zone: (zone[0], -zone[1]))


def steps_of(zones):
    """Begins and ends in order: (ns, zone or None)."""
    steps, stack = [], []
    for zone in zones:
        while stack and stack[-1][1] <= zone[0]:
            steps.append((stack[-1][1], None, stack.pop()))
        steps.append((zone[0], zone, zone))
        stack.append(zone)
    while stack:
        steps.append((stack[-1][1], None, stack.pop()))
    return steps


def devices_of(logs):
    """Device and call of each run."""
    path = os.path.join(logs, DEVICE_FILES[0])
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8", newline="") as file:
        return [(int(row["DEVICE ID"]), int(row["GLOBAL CALL COUNT"])) for row in csv.DictReader(file)]


class OpsSession(tracy_client.Session):
    def __init__(self, connection, options):
        super().__init__(connection, options)
        self.client = tracy_stream.Client(options.version, is_wide=True)
        self.strings, self.locations = {}, {}
        self.pending = b""

    # --- addresses, and what is behind them ---

    def string(self, text):
        for address, known in self.strings.items():
            if known == text:
                return address
        address = 0x10000000 + 16 * len(self.strings)
        self.strings[address] = text
        return address

    def location(self, name, file, line):
        key = (self.string(name.encode()), self.string(b"dispatch"), self.string(file.encode()), line)
        for address, known in self.locations.items():
            if known == key:
                return address
        address = FIRST_LOCATION + 64 * len(self.locations)
        self.locations[address] = key
        return address

    def answer(self, query):
        kind, address = struct.unpack_from("<BQ", query)
        if kind == 1 and address in self.strings:
            self.send(self.client.answer("STRING_DATA", address, self.strings[address]))
        elif kind == 2 and address in (os.getpid(), os.getpid() + 1):
            self.send(self.client.answer("THREAD_NAME", address, b"main"))
        elif kind == 3 and address in self.locations:
            self.send(self.client.location(*self.locations[address]))
        else:
            return super().answer(query)
        return True

    # --- what is sent ---

    def put(self, records):
        """Frames hold 256 KiB at most."""
        if len(self.pending) + len(records) > 60_000:
            self.flush()
        self.pending += records

    def flush(self):
        if self.pending:
            self.send(self.pending)
        self.pending = b""

    def text(self, text):
        return self.client.record("SINGLE_STRING_DATA", u16(len(text)), text)

    def message(self, ns, text):
        tail = b"\0" if self.client.version >= 77 else b""
        self.put(self.text(text.encode()) + self.client.record("MESSAGE", u64(ns), tail))

    def tell(self, thread, messages, zones, base):
        """Of one thread. Times of zones are differences to the one before."""
        client, last = self.client, 0
        self.put(client.thread(thread))
        events = sorted([(ns, 1, text) for ns, text in messages] + [(step[0], 0, step) for step in steps_of(zones)],
                        key=lambda event: event[0])
        for ns, is_message, what in events:
            if is_message:
                self.message(base + ns, what)
                continue
            _, begun, zone = what
            delta, last = base + ns - last, base + ns
            if begun:
                self.put(client.record("ZONE_BEGIN", u64(delta), u64(self.location(*zone[2:5]))))
            else:
                text = self.text(zone[5].encode()) + client.record("ZONE_TEXT") if zone[5] else b""
                self.put(text + client.record("ZONE_END", u64(delta)))

    def contexts(self, runs, base):
        for device in sorted({device for device, _ in runs}):
            head = u64(base) + u64(0) + u32(0) + struct.pack("<f", 1.0) + u16(device) + bytes([1, DEVICE_CONTEXT])
            name = f"Device: {device}".encode()
            self.put(self.client.record("GPU_NEW_CONTEXT", head))
            self.put(self.text(name) + self.client.record("GPU_CONTEXT_NAME", u16(device)))

    def device_zones(self, runs):
        """A zone of the firmware for each run, on two processors of one core; times of all contexts are one series."""
        last_host, last_device = 0, 0
        for number, (device, call) in enumerate(runs):
            for processor in (0, 2):
                thread = processor | 3 << 3 | 5 << 7 | device << 11
                start = 1000 * (number + 1)
                source = f"OP ID:{call}\0firmware.cc\0BRISC-FW".encode()
                payload = struct.pack("<II", 0, 7) + source
                self.put(self.client.record("SOURCE_LOCATION_PAYLOAD", u64(0), u16(len(payload)), payload))
                for query, (record, ns) in enumerate((("GPU_ZONE_BEGIN_ALLOC_SRCLOC_SERIAL", start), ("GPU_ZONE_END_SERIAL", start + 700))):
                    self.put(self.client.record(record, u64(10 - last_host), u32(thread), u16(query), u16(device)))
                    self.put(self.client.record("GPU_TIME", u64(ns - last_device), u16(query), u16(device)))
                    last_host, last_device = 10, ns

    def play(self):
        logs = self.options.logs
        base = 0 if self.options.save else tracy_client.now_ns()
        self.connection.sendall(tracy_stream.welcome(self.options.version, pid=os.getpid(), first_tick=base, program=b"ops client"))
        messages = messages_of(os.path.join(logs, "tracy_ops_data.csv"))
        zones = zones_of(os.path.join(logs, "tracy_ops_times.csv"))
        runs = devices_of(logs) if self.options.cores else []
        self.contexts(runs, base)
        if self.options.threads:  # a thread is drained at a time, whatever their order was
            self.tell(os.getpid() + 1, messages[1::2], zones, base)
            self.tell(os.getpid(), messages[::2], [], base)
        else:
            self.tell(os.getpid(), messages, zones, base)
        self.device_zones(runs)
        self.flush()
        if self.options.gate:
            self.wait_at_gate()
        leave_files(logs)
        if self.options.save:
            self.answer_all()
        self.send(self.client.record("TERMINATE"))
        self.serve()

    def wait_at_gate(self):
        """Or until the test is over, or the server has left."""
        gate = self.options.gate
        while not os.path.exists(gate) and os.path.exists(os.path.dirname(gate)):
            if not select.select([self.connection], [], [], 0.01)[0]:
                continue
            data = self.connection.recv(4096)
            if not data:
                return
            self.queries += data
            while len(self.queries) >= 13:
                query, self.queries = self.queries[:13], self.queries[13:]
                self.answer(query)

    def answer_all(self):
        """As a server would ask: locations in the order of their first use."""
        for location in self.locations.values():
            self.send(self.client.location(*location))
        for address, text in self.strings.items():
            self.send(self.client.answer("STRING_DATA", address, text))


class File:
    """A connection that keeps what is sent."""

    def __init__(self, path):
        self.file = open(path, "wb")

    def sendall(self, data):
        self.file.write(data)

    def recv(self, _):
        self.file.close()
        return b""


def leave_files(logs):
    folder = os.environ.get("TT_METAL_PROFILER_DIR")
    if not folder:
        return
    os.makedirs(os.path.join(folder, ".logs"), exist_ok=True)
    for name in DEVICE_FILES:
        if os.path.exists(os.path.join(logs, name)):
            shutil.copyfile(os.path.join(logs, name), os.path.join(folder, ".logs", name))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("logs")
    parser.add_argument("--version", type=int, default=66)
    parser.add_argument("--exit", type=int, default=0)
    parser.add_argument("--fault", default="")
    parser.add_argument("--cores", action="store_true")
    parser.add_argument("--threads", action="store_true")
    parser.add_argument("--save")
    parser.add_argument("--gate", default="")
    options = parser.parse_args()
    if options.save:
        OpsSession(File(options.save), options).play()
        return
    ctypes.CDLL(None).prctl(15, b"Tracy Profiler", 0, 0, 0)  # before it listens, as the thread of the real one
    listener = tracy_client.listen()
    print("port", listener.getsockname()[1], "pid", os.getpid(), flush=True)
    if os.environ.get("TRACY_NO_EXIT") == "1":
        try:
            OpsSession(tracy_client.handshake(listener, options), options).play()
        except ConnectionError:
            pass  # the server has left
    else:
        leave_files(options.logs)
    sys.exit(options.exit)


if __name__ == "__main__":
    main()
