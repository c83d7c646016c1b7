# SPDX-License-Identifier: Apache-2.0
"""Streams of a Tracy client, made by hand: the records' numbers come from src/collect/tracy/records.def."""

import os
import re
import struct

import harness

RECORDS, SIZES, BODIES = [], {}, {}
with open(os.path.join(harness.SOURCE, "src", "collect", "tracy", "records.def"), encoding="utf-8") as definition:
    for found in re.finditer(r"^RECORD\((\w+), (?:FORK\()?(\d+)(\))?, (\d+), \d+, (\w+),", definition.read(), re.M):
        RECORDS.append((found.group(1), int(found.group(2)), bool(found.group(3))))
        SIZES[found.group(1)], BODIES[found.group(1)] = int(found.group(4)), found.group(5)


def types(version, is_wide=False):
    """Number of each record that a version has; some only with 16-bit GPU contexts."""
    names = [name for name, since, is_fork in RECORDS if since <= version and (is_wide or not is_fork)]
    return {name: number for number, name in enumerate(names)}


def u16(value):
    return struct.pack("<H", value)


def u32(value):
    return struct.pack("<I", value)


def u64(value):
    return struct.pack("<Q", value & (2**64 - 1))


def welcome(version, pid=4321, first_tick=1000, ns_per_tick=1.0, flags=0, program=b"made by hand"):
    """The status byte and the welcome message."""
    delay = u64(0) if version <= 74 else b""
    head = struct.pack("<dqq", ns_per_tick, first_tick, first_tick) + delay + struct.pack("<QQQQq", 1, 1700000000, 0, pid, 0)
    return b"\1" + head + bytes([flags, 2]) + bytes(12) + u32(0) + program.ljust(64, b"\0") + b"OS: test".ljust(1024, b"\0")


def frame(records):
    """A frame whose LZ4 block has literals alone."""
    if len(records) < 15:
        block = bytes([len(records) << 4])
    else:
        left = len(records) - 15
        block = b"\xf0" + b"\xff" * (left // 255) + bytes([left % 255])
    block += records
    return u32(len(block)) + block


class Client:
    """Records of one version."""

    def __init__(self, version, is_wide=False):
        self.version = version
        self.types = types(version, is_wide)

    def record(self, name, *fields):
        return bytes([self.types[name]]) + b"".join(fields)

    def thread(self, number):
        return self.record("THREAD_CONTEXT", u32(number))

    def begin(self, delta, location):
        """In the shortest form that the version has, as a client writes it: the longer ones leave out what shorter ones hold."""
        if self.version < 79 or delta < 0:
            return self.record("ZONE_BEGIN", u64(delta), u64(location))
        if delta < 2**16:
            return self.record("ZONE_BEGIN_16", u16(delta), u64(location))
        if delta < 2**16 + 2**32:
            return self.record("ZONE_BEGIN_32", u32(delta - 2**16), u64(location))
        return self.record("ZONE_BEGIN", u64(delta - 2**16 - 2**32), u64(location))

    def end(self, delta):
        if self.version >= 78:
            return self.record("ZONE_END_16", u16(delta))
        return self.record("ZONE_END", u64(delta))

    def answer(self, name, address, text):
        return self.record(name, u64(address), u16(len(text)), text)

    def location(self, name, function, file, line):
        return self.record("SOURCE_LOCATION", u64(name), u64(function), u64(file), u32(line), b"\0\0\0")


def small(version, is_open=False):
    """Two zones inside one, named after they were sent."""
    client = Client(version)
    records = client.thread(7) + client.begin(2000, 0x401000)
    for _ in range(2):
        records += client.begin(10, 0x402000) + client.end(5)
    answers = client.answer("THREAD_NAME", 7, b"main")
    answers += client.location(0x501000, 0x502000, 0x503000, 3) + client.location(0x504000, 0, 0, 0)
    answers += client.answer("STRING_DATA", 0x501000, b"outer") + client.answer("STRING_DATA", 0x502000, b"f")
    answers += client.answer("STRING_DATA", 0x503000, b"a.c") + client.answer("STRING_DATA", 0x504000, b"inner")
    if not is_open:
        records += client.end(100)
        answers += client.record("TERMINATE")
    return welcome(version) + frame(records) + frame(answers)
