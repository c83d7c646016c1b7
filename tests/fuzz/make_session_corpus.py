#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the seeds of fuzz_session into tests/fuzz/corpus/session/: one input for each thing a hostile process could
say in its segment. The format of an input is in fuzz_session.c, the structures are in src/session/session.h."""

import os
import struct

HEADER, FREE_MAP, PROCESSES, DESCRIPTORS, NAME_IDS, NAMES, CHUNKS, TAKEN = range(8)
RECOVER, CHANGES, READ, LOCAL = 1, 2, 4, 8

# offsets in struct segment_header
CHUNK_COUNT, CLOCK_SOURCE, STATE, COMMITTED, COMMAND_LENGTH = 12, 40, 136, 192, 2368
# offsets in struct chunk_descriptor
D_STATE, D_PUBLISHED, D_PROCESS, D_TRACK, D_SEQUENCE, D_TICKS, D_RAW, D_BEFORE, D_THREAD, D_DEPTH, D_FLAGS, D_LOST = (
    0, 4, 8, 12, 16, 24, 32, 40, 48, 52, 54, 56,
)
SLOT, CHUNK = 16, 16384
MAX32, MAX64 = 0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF


def poke(area, offset, data):
    """Pokes of at most 64 bytes each that put the data there."""
    out = b""
    for at in range(0, len(data), 64):
        piece = data[at : at + 64]
        place = offset + at
        out += bytes((area, place & 255, place >> 8 & 255, place >> 16 & 255, len(piece) - 1)) + piece
    return out


def u32(*values):
    return struct.pack(f"<{len(values)}I", *values)


def u64(*values):
    return struct.pack(f"<{len(values)}Q", *values)


def descriptor(chunk, field, data):
    return poke(DESCRIPTORS, chunk * 64 + field, data)


def slots(chunk, first, *pairs):
    """(ticks << 8 | kind, word) from slot `first` on, and as many published."""
    data = b"".join(u64(time_kind & MAX64, word & MAX64) for time_kind, word in pairs)
    return poke(CHUNKS, chunk * CHUNK + first * SLOT, data) + descriptor(chunk, D_PUBLISHED, u32(first + len(pairs)))


def record(kind, name=0, payload=0, more=0, ticks=1000000000):
    return (ticks << 8 | kind, more << 56 | payload << 32 | name)


SEEDS = {
    "plain": (READ, b""),
    "plain-recover": (READ | RECOVER, b""),
    "plain-changes": (READ | CHANGES, b""),
    "plain-local": (READ | LOCAL, b""),
    "header-counts": (READ, poke(HEADER, COMMITTED, u32(MAX32, MAX32, MAX32, MAX32) + u64(MAX64, MAX64) + u32(*[MAX32] * 4))),
    "header-zero-counts": (READ, poke(HEADER, COMMITTED, bytes(48))),
    "header-magic": (0, poke(HEADER, 0, b"nonsense")),
    "header-chunks": (0, poke(HEADER, CHUNK_COUNT, u32(7))),
    "header-no-chunks": (0, poke(HEADER, CHUNK_COUNT, u32(0))),
    "header-command": (READ, poke(HEADER, COMMAND_LENGTH - 256, b"x" * 256 + u32(MAX32))),
    "header-losses": (READ, poke(HEADER, COMMITTED + 48, u64(1, MAX64, MAX64))),
    "header-changes": (READ | CHANGES, poke(HEADER, 0, bytes(8)) + poke(HEADER, CHUNK_COUNT, u32(MAX32, 0, MAX32))),
    "free-map": (READ | CHANGES, poke(FREE_MAP, 0, b"\xff" * 64)),
    "process-states": (READ | LOCAL, poke(PROCESSES, 0, u32(2, 0, 0)) + poke(PROCESSES, 64, u32(1, MAX32, MAX32))),
    "process-self": (READ | LOCAL, poke(PROCESSES, 4, u32(1)) + poke(PROCESSES, 68, u32(0))),
    "process-losses": (READ, poke(PROCESSES, 32, u64(MAX64, MAX64)) + poke(PROCESSES, 96, u64(1, 2))),
    "process-index": (READ, descriptor(0, D_PROCESS, u32(MAX32)) + descriptor(2, D_PROCESS, u32(63))),
    "published": (READ, b"".join(descriptor(i, D_PUBLISHED, u32(MAX32)) for i in range(6))),
    "published-shrinks": (READ | CHANGES, descriptor(1, D_PUBLISHED, u32(4)) + descriptor(1, D_PUBLISHED, u32(1))),
    "states": (READ, b"".join(descriptor(i, D_STATE, u32(i)) for i in range(6))),
    "all-owned": (READ | LOCAL, b"".join(descriptor(i, D_STATE, u32(1)) for i in range(6))),
    "same-chunk-twice": (READ, descriptor(1, D_STATE, u32(2)) + descriptor(1, D_SEQUENCE, u64(0))),
    "sequence-gap": (READ, descriptor(1, D_SEQUENCE, u64(9)) + descriptor(1, D_BEFORE, u64(5000))),
    "sequence-largest": (READ | RECOVER, descriptor(0, D_SEQUENCE, u64(MAX64)) + descriptor(0, D_BEFORE, u64(MAX64))),
    "sequence-recover": (READ | RECOVER, descriptor(0, D_SEQUENCE, u64(5)) + descriptor(0, D_BEFORE, u64(700))),
    "times-zero": (READ, descriptor(0, D_TICKS, u64(0, 0)) + descriptor(2, D_TICKS, u64(MAX64, MAX64))),
    "times-recover": (READ | RECOVER, descriptor(0, D_TICKS, u64(MAX64, MAX64)) + descriptor(2, D_TICKS, u64(1, MAX64))),
    "last-flag": (READ | CHANGES, descriptor(0, D_FLAGS, b"\xff\xff") + descriptor(2, D_FLAGS, b"\x01\x00")),
    "losses-go-back": (READ | CHANGES, descriptor(0, D_LOST, u32(5, 5)) + descriptor(1, D_LOST, u32(3, 3))),
    "depth": (READ | RECOVER, descriptor(0, D_DEPTH, b"\xff\xff")),
    "many-tracks": (READ, b"".join(descriptor(i, D_TRACK, u32(MAX32 - i)) + descriptor(i, D_STATE, u32(2)) for i in range(6))),
    "every-short-kind": (READ, slots(4, 0, *[record(kind, 1, 1) for kind in range(128)]) + descriptor(4, D_STATE, u32(2, 128, 0, 5))),
    "every-long-kind": (READ, slots(4, 0, *[record(kind, 1, 1, 1) for kind in range(128, 256)]) + descriptor(4, D_STATE, u32(2, 128, 0, 5))),
    "longer-than-published": (READ, slots(0, 2, record(128, 1, 0, 255))),
    "texts-begun": (READ, slots(4, 0, *[record(135 + i % 3, 1 << 20, 0, 0) for i in range(60)]) + descriptor(4, D_STATE, u32(2, 60, 0, 5))),
    "texts-offsets": (READ, slots(0, 2, record(136, 48, 0, 1), (1, 2), record(136, 48, 16, 1), (3, 4), record(136, 48, 99, 0))),
    "texts-empty": (READ, slots(0, 2, record(136, 0, 0, 0), record(137, 0, 0, 0), record(135, 0, 0, 0))),
    "late-ends": (READ, slots(0, 2, record(1, 1), record(1, 1), record(6, MAX32))),
    "ends": (READ, slots(0, 2, *[record(2) for _ in range(20)])),
    "begins": (READ, slots(0, 2, *[record(1, i) for i in range(200)])),
    "time-wraps": (READ, slots(0, 2, record(1, 1, ticks=(1 << 56) - 1), record(2, ticks=0), record(1, 1, ticks=1 << 55))),
    "op-parts": (READ, slots(0, 2, record(131, 1, 0, 1), (1, 1), *[record(5, 1, 1 + i % 5) for i in range(300)])),
    "op-open": (READ, slots(0, 2, record(131, 1, 2, 1), (1, MAX64), record(131, 1, 3, 1), (MAX64, 0))),
    "op-list-of-no-part": (
        READ, poke(NAMES, 0, u32(1)) + poke(NAMES, 32, b"\0")
        + slots(0, 2, *[pair for i in range(40) for pair in (record(131, 1, 0, 1), (i, 1 << 32), record(2))]),
    ),
    "device-far": (READ, slots(0, 2, record(132, 1, 4, 1, 0), (MAX64, 1), record(132, 1, 4, 1, (1 << 56) - 1), (MAX64, 1))),
    "device-sync": (READ, slots(0, 2, *[part for i in range(8) for part in (record(134, 3, 0, 1, i * 7), (i << 60, MAX64))])),
    "device-run": (READ, slots(0, 2, record(133, 1, 4, 2), (1, 1), (MAX64, 0), record(133, 1, 4, 40), *[(1, 9)] * 40)),
    "tasks": (
        READ,
        poke(NAMES, 8, u32(5))
        + slots(0, 2, record(8, 1), record(1, 1), record(8, 2), record(2), record(8, 1), *[record(2)] * 4, record(8, 1)),
    ),
    "tasks-nested": (READ | CHANGES, poke(NAMES, 8, u32(5)) + slots(0, 2, *[record(8, 1)] * 40, *[record(2)] * 50)),
    "tasks-recover": (
        READ | RECOVER,
        poke(NAMES, 8, u32(5)) + poke(TAKEN, 0, b"\x06\0" * 6) + slots(0, 2, *[record(8, 1), record(1, 1), record(2), record(2)] * 5),
    ),
    "taken": (READ | RECOVER, poke(TAKEN, 0, b"\x0a\0\x02\0\xff\xff\x01\0")),
    "taken-late-ends": (
        READ | RECOVER,
        poke(TAKEN, 0, b"\xff\xff" * 6) + slots(0, 0, record(6, 40), record(2), record(1, 1), record(2), record(2))
        + descriptor(0, D_DEPTH, b"\x05\0") + descriptor(0, D_BEFORE, u64(90)),
    ),
    "name-ids": (READ, poke(NAME_IDS, 4, u32(MAX32, 0, 1 << 24, 3, 2, 1))),
    "name-lengths": (READ, poke(NAMES, 0, u32(MAX32)) + poke(NAMES, 40, u32(65536, 0, 2, 7))),
    "name-kinds": (READ, poke(NAMES, 8, u32(3)) + poke(NAMES, 48, u32(4))),
    "name-parents": (READ, poke(NAMES, 24, u32(3, 3)) + poke(NAMES, 150, u32(5, 5))),
    "name-bytes": (READ, poke(NAMES, 32, b"\xff\x00\xfe\x80") + poke(NAMES, 80, bytes(40))),
}


def main():
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "corpus", "session")
    os.makedirs(folder, exist_ok=True)
    for name, (options, pokes) in SEEDS.items():
        with open(os.path.join(folder, name), "wb") as file:
            file.write(bytes((options,)) + pokes)
    print(f"{len(SEEDS)} seeds in {folder}")


if __name__ == "__main__":
    main()
