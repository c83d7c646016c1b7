# SPDX-License-Identifier: Apache-2.0
"""What tt-metal's real-time profiler streams, as runs of devices: registers its callback in a recorded process that has
imported ttnn, and passes each record on to the recorder's device feed.

A record has a program's runtime id, its chip, its start and end in ticks of that chip's clock, the clock's rate, and the
paths of its kernels; a batch also says how many records were lost before it (older releases call back with single
records, and call the id program_id). The device's clock is tied to the host's where a record arrived soonest after its
program's end: what arrives later only waited longer. Nothing here may break the program."""

import atexit
import ctypes
import os
import sys
import threading
import time

TRACK_QUEUE = 3
FIGURE_COUNT, FIGURE_TEXT = 2, 6


class FigureValue(ctypes.Union):
    _fields_ = [("whole", ctypes.c_uint64), ("real", ctypes.c_double), ("text", ctypes.c_char_p)]


class Figure(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("kind", ctypes.c_uint32), ("reserved", ctypes.c_uint32), ("value", FigureValue)]


class Run(ctypes.Structure):
    """struct opscope_run"""

    _fields_ = [
        ("struct_size", ctypes.c_uint32), ("track", ctypes.c_uint32), ("op_call", ctypes.c_uint64), ("name", ctypes.c_char_p),
        ("start_ticks", ctypes.c_uint64), ("duration_ticks", ctypes.c_uint64), ("cores", ctypes.c_uint32),
        ("session", ctypes.c_uint32), ("part_count", ctypes.c_uint32), ("flags", ctypes.c_uint32), ("parts", ctypes.c_void_p),
        ("figures", ctypes.POINTER(Figure)), ("figure_count", ctypes.c_uint32), ("reserved", ctypes.c_uint32),
    ]  # fmt: skip


def load_recorder(path):
    library = ctypes.CDLL(path, mode=os.RTLD_NOLOAD | os.RTLD_NOW)
    library.opscope_now_.restype = ctypes.c_uint64
    library.opscope_device_open_.restype = ctypes.c_uint32
    library.opscope_device_open_.argtypes = [ctypes.c_char_p, ctypes.c_uint32, ctypes.c_double]
    library.opscope_device_track_.restype = ctypes.c_uint32
    library.opscope_device_track_.argtypes = [ctypes.c_uint32, ctypes.c_uint32, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint32]
    library.opscope_device_run_.argtypes = [ctypes.POINTER(Run)]
    library.opscope_device_lost_.argtypes = [ctypes.c_uint32, ctypes.c_uint64, ctypes.c_uint64, ctypes.c_uint64]
    library.opscope_device_sync_.argtypes = [ctypes.c_uint32, ctypes.c_uint64, ctypes.c_uint64, ctypes.c_uint64]
    return library


def name_of(sources):
    """A program is called after its compute kernel, else after its first one: "a/b/multi_op.cpp" is multi_op."""
    chosen = next((source for source in sources if "compute" in source), sources[0] if sources else "program")
    base = chosen.rsplit("/", 1)[-1]
    return base.split(".", 1)[0] or base


class Chip:
    def __init__(self, device, track):
        self.device = device
        self.track = track
        self.least_offset = None  # ns of arrival less ns of the end, each by its own clock


class Receiver:
    """The callback. It comes on threads of the runtime, several at once."""

    def __init__(self, recorder):
        self.recorder = recorder
        self.lock = threading.Lock()
        self.chips = {}
        self.names = {}
        self.lost = 0  # and not yet said

    def __call__(self, batch):
        try:
            now = (self.recorder.opscope_now_(), time.perf_counter_ns())
            with self.lock:
                self.lost += int(getattr(batch, "dropped", 0))
                for record in batch.records if hasattr(batch, "records") else (batch,):
                    self.take(record, now)
        except Exception as error:  # whatever the runtime hands over: recording ends, the program goes on
            self.fail(error)

    def fail(self, error):
        self.take = lambda record, now: None
        sys.stderr.write("opscope: records of the real-time profiler are not understood (%s: %s)\n" % (type(error).__name__, error))

    def chip_of(self, record):
        number = int(record.chip_id)
        chip = self.chips.get(number)
        if chip is None:
            rate = float(record.frequency) * 1e9
            device = self.recorder.opscope_device_open_(b"device %d" % number, number, rate)
            track = self.recorder.opscope_device_track_(device, 0, TRACK_QUEUE, b"programs", 0)
            chip = self.chips[number] = Chip(device, track)
        return chip

    def tie_clocks(self, chip, record, now):
        """The first record of a chip, and each that came closer to its end by a microsecond than any before it."""
        offset = now[1] - int(int(record.end_timestamp) / float(record.frequency))
        if chip.least_offset is None or offset < chip.least_offset - 1000:
            chip.least_offset = offset
            self.recorder.opscope_device_sync_(chip.device, now[0], int(record.end_timestamp), 0)

    def take(self, record, now):
        start, end = int(record.start_timestamp), int(record.end_timestamp)
        if not float(record.frequency) > 0 or end < start:
            self.lost += 1
            return
        chip = self.chip_of(record)
        self.tie_clocks(chip, record, now)
        if self.lost:  # a batch does not say of which chip: the next that is heard of stands for all
            self.recorder.opscope_device_lost_(chip.device, self.lost, 0, 0)
            self.lost = 0
        sources = tuple(str(source) for source in record.kernel_sources)
        named = self.names.get(sources)
        if named is None:
            named = self.names[sources] = (name_of(sources).encode(), "; ".join(sources).encode())
        program = getattr(record, "runtime_id", None)
        program = int(record.program_id if program is None else program)
        figures = (Figure * 2)(
            Figure(b"runtime id", FIGURE_COUNT, 0, FigureValue(whole=program)),
            Figure(b"kernel sources", FIGURE_TEXT, 0, FigureValue(text=named[1])),
        )
        run = Run(ctypes.sizeof(Run), chip.track, 0, named[0], start, end - start)
        run.figures, run.figure_count = figures, 2
        self.recorder.opscope_device_run_(ctypes.byref(run))


def module_with_callback(ttnn):
    for module in (getattr(ttnn, "device", None), ttnn):
        if hasattr(module, "RegisterProgramRealtimeProfilerCallback"):
            return module
    return None


def observe(ttnn, _words, say):
    """As soon as ttnn has been imported."""
    from_torch = sys.modules.get("opscope._torch")
    try:
        module = module_with_callback(ttnn)
        path = from_torch.mapped("libopscope.so")
        if module is None or path is None:
            return
        receiver = Receiver(load_recorder(path))
        handle = module.RegisterProgramRealtimeProfilerCallback(receiver)
    except Exception as error:
        say("programs of Tenstorrent devices are not recorded as they run: %s: %s" % (type(error).__name__, error))
        return
    atexit.register(finish, module, handle, receiver, say)


def finish(module, handle, receiver, say):
    try:
        module.UnregisterProgramRealtimeProfilerCallback(handle)
    except Exception as error:
        say("the real-time profiler's callback could not be taken back: %s" % error)
    if receiver.lost:
        say("the real-time profiler lost %d more records of programs at the end" % receiver.lost)
