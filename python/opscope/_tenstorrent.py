# SPDX-License-Identifier: Apache-2.0
"""The device options of `python -m tracy` (tt-metal): each sets the variable that the chip's runtime reads, so that a
command line written for that tool works with this one."""

import os

COUNTER_BITS = {
    "fpu": 0, "pack": 1, "unpack": 2, "l1_0": 3, "l1_1": 4, "instrn": 5, "l1_2": 6, "l1_3": 7, "l1_4": 8,
}  # fmt: skip
COUNTERS_OF_ALL = ("fpu", "pack", "unpack", "l1_0", "instrn")
ONLY_ON_BLACKHOLE = ("l1_2", "l1_3", "l1_4")
VARIABLE_OF_FLAG = {
    "--no-op-info-cache": "TT_METAL_PROFILER_NO_CACHE_OP_INFO",
    "--profile-dispatch-cores": "TT_METAL_DEVICE_PROFILER_DISPATCH",
    "--enable-sum-profiling": "TT_METAL_PROFILER_SUM",
    "--enable-accumulate-profiling": "TT_METAL_PROFILER_ACCUMULATE",
    "--sync-host-device": "TT_METAL_PROFILER_SYNC",
    "--device-trace-profiler": "TT_METAL_TRACE_PROFILER",
    "--device-memory-profiler": "TT_METAL_MEM_PROFILER",
    "--dump-device-data-mid-run": "TT_METAL_PROFILER_MID_RUN_DUMP",
    "--disable-device-data-dump-to-files": "TT_METAL_PROFILER_DISABLE_DUMP_TO_FILES",
    "--disable-device-data-push-to-tracy": "TT_METAL_PROFILER_DISABLE_PUSH_TO_TRACY",
}
PLAIN_FLAGS = ("--no-device", "--no-runtime-analysis", "--collect-noc-traces", "--check-exit-code")
FLAGS_WITHOUT_MEANING = {"--no-capture-tool": "no capture tool is started"}
VALUE_FLAGS = {
    "-t": "no port is needed to record",
    "--port": "no port is needed to record",
    "--web-app-port": "opscope run --port serves the live page",
    "--tracy-tools-folder": "no tool of Tracy's is used",
    "--child-functions": "every zone below an op is in the trace",
    "-a": "every analysis is made",
    "--device-analysis-types": "every analysis is made",
}
LONG = [
    word
    for table in (VARIABLE_OF_FLAG, PLAIN_FLAGS, FLAGS_WITHOUT_MEANING, VALUE_FLAGS)
    for word in table
    if word.startswith("--")
] + ["--op-support-count", "--profiler-capture-perf-counters"]


class FlagError(Exception):
    def __init__(self, text, status):
        super().__init__(text)
        self.status = status


def folder(output):
    """Where the runtime writes its logs."""
    if output and not output.endswith(".opscope"):
        return output
    chosen = os.environ.get("TT_METAL_PROFILER_DIR")
    return chosen or os.path.join(os.environ.get("TT_METAL_HOME", "."), "generated", "profiler")


def make_folder(path):
    """Made before the runtime needs it; if that fails, the runtime reports it."""
    try:
        os.makedirs(path, exist_ok=True)
    except OSError:
        pass


def counter_bits(groups, note):
    """The bit field of a list of counter groups."""
    names = [name for name in groups.split(",") if name]
    bits = 0
    for name in [n for group in names for n in (COUNTERS_OF_ALL if group == "all" else (group,))]:
        if name not in COUNTER_BITS:
            note("no counter group %s; there are all, %s" % (name, ", ".join(COUNTER_BITS)))
            continue
        variables = ("TT_METAL_DEVICE_ARCH", "TT_ARCH_NAME", "ARCH_NAME")
        arch = next((os.environ[v] for v in variables if os.environ.get(v)), "")
        if name in ONLY_ON_BLACKHOLE and arch != "blackhole":
            raise FlagError("counter group %s is only on blackhole (TT_METAL_DEVICE_ARCH is %r)" % (name, arch), 1)
        bits |= 1 << COUNTER_BITS[name]
    return bits


class Flags:
    def __init__(self):
        self.given = set()
        self.support_count = None
        self.counters = None

    def take(self, word, value_of, note):
        """True when the word is one of ours; value_of(word) gives its value."""
        if word in VARIABLE_OF_FLAG or word in PLAIN_FLAGS:
            self.given.add(word)
        elif word in FLAGS_WITHOUT_MEANING:
            note("%s is accepted and means nothing here: %s" % (word, FLAGS_WITHOUT_MEANING[word]))
        elif word in VALUE_FLAGS:
            value_of(word)
            note("%s is accepted and means nothing here: %s" % (word, VALUE_FLAGS[word]))
        elif word == "--op-support-count":
            self.support_count = value_of(word)
            if not self.support_count.isdigit():
                raise FlagError("--op-support-count takes a number, not %s" % self.support_count, 2)
        elif word == "--profiler-capture-perf-counters":
            self.counters = counter_bits(value_of(word), note)
        else:
            return False
        return True

    def check(self, with_report):
        if with_report and "--enable-accumulate-profiling" in self.given:
            raise FlagError("-r needs op ids, and --enable-accumulate-profiling stores none", 2)
        for other in ("--device-trace-profiler", "--profile-dispatch-cores"):
            if "--dump-device-data-mid-run" in self.given and other in self.given:
                raise FlagError("--dump-device-data-mid-run does not go with %s" % other, 1)

    def set_variables(self, env, with_report, output):
        """Variables set by the caller are removed only by the option that says so."""
        if "--no-device" in self.given:
            env.pop("TT_METAL_DEVICE_PROFILER", None)
        else:
            env["TT_METAL_DEVICE_PROFILER"] = "1"
        for flag, variable in VARIABLE_OF_FLAG.items():
            if flag in self.given:
                env[variable] = "1"
        if output:
            env["TT_METAL_PROFILER_DIR"] = os.path.abspath(output)  # a test may change its folder
        if with_report:
            env["TTNN_OP_PROFILER"] = "1"
            env["TT_METAL_PROFILER_TRACE_TRACKING"] = "1"
        if self.support_count:
            env["TT_METAL_PROFILER_PROGRAM_SUPPORT_COUNT"] = self.support_count
        if self.counters:
            env["TT_METAL_PROFILE_PERF_COUNTERS"] = str(self.counters)
        if "--collect-noc-traces" in self.given:
            env["TT_METAL_DEVICE_PROFILER_NOC_EVENTS"] = "1"
            logs = os.path.join(os.path.abspath(output or folder(None)), ".logs")
            env["TT_METAL_DEVICE_PROFILER_NOC_EVENTS_RPT_PATH"] = logs
            make_folder(logs)
        own_analysis = {"--no-runtime-analysis", "--enable-sum-profiling", "--profile-dispatch-cores"}
        if not own_analysis & self.given and not self.counters:
            env["TT_METAL_PROFILER_CPP_POST_PROCESS"] = "1"
