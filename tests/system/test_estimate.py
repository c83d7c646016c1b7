# SPDX-License-Identifier: Apache-2.0
"""opscope estimate: scheduled IR to a timeline, in every form that it is written in."""

import csv
import io
import json
import os
import re
import shutil
import unittest

import harness
import pages

LRAM = "#torq_hl<enc mem_space = lram>"


def dispatch(number, bytes_in, cycles):
    """A dispatch of ours: a transfer in, a slice, a transfer out, each waited for."""
    return f"""
  hal.executable private @d{number} {{
    builtin.module {{
      memref.global "private" @a : memref<{bytes_in}xi8, {LRAM}> = uninitialized {{lram_address = 4096 : i64}}
      func.func @d{number}_main() attributes {{"torq-nss-program-base" = 0 : i64}} {{
        %p = torq_hl.program "slice_program_torq_hl.conv2d_0" : !torq_hl.program<slice> {{
        ^bb0(%x: memref<4xi8, {LRAM}>):
          torq_hw.slice_task{{
          op : "conv2d"
           D %x : memref<4xi8, {LRAM}>
           CFG {{act_mode = ACT,}}
           [{{DEDR dims = [ B(L) [64, 1],  O(H) [{cycles}, 1]]}}]
           [{{CEDR dims = [ T(H) [1, 0]]}}]
          }}
          torq_hl.return
        }}
        %s, %code = torq_hl.descriptor "slice_program_torq_hl.conv2d_0" on 0 program %p : <slice> code [array<i8: 0>] : !torq_hl.invocation<slice>, memref<1xi8>
        %n = torq_hl.program "nss_program_0" : !torq_hl.program<nss> {{
        ^bb0(%inv: !torq_hl.invocation<slice>):
          torq_hw.nss_task {{"torq-task-id" = 0 : i64}}() {{
            torq_hw.dma_in_cfg {{write_ndl = #torq_hw<dma_ndl{{dims = [[{bytes_in}, 1]]}}>}}
            torq_hw.dma_in_start
            torq_hw.dma_in_wait
          }}
          torq_hw.nss_task {{"torq-task-id" = 1 : i64}}() {{
            "torq_hw.slice_start"(%inv) <{{id = 1 : index}}> : (!torq_hl.invocation<slice>) -> () loc("m.mlir":7:3)
            "torq_hw.slice_wait"() <{{id = 1 : index}}> : () -> ()
          }}
          torq_hl.return
        }}
        %i, %c = torq_hl.descriptor "nss_program_0" on 0 program %n : <nss> code [array<i8: 0>] : !torq_hl.invocation<nss>, memref<1xi8>
        torq_hl.start_program %i : !torq_hl.invocation<nss> args(%s : !torq_hl.invocation<slice>) {{"torq-action-id" = 0 : i32}}
        torq_hl.wait_program %i : !torq_hl.invocation<nss> {{"torq-action-id" = 1 : i32}}
        return
      }}
    }}
  }}
"""


def model(*dispatches):
    return "module @m {" + "".join(dispatch(i, *sizes) for i, sizes in enumerate(dispatches)) + "}\n"


class Case(harness.TestCase):
    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        return name

    def read(self, name):
        with open(self.path(name), encoding="utf-8") as file:
            return file.read()

    def estimate(self, name, *options):
        done = self.opscope("estimate", name, "--json", *options)
        self.assert_status(done)
        return done.json()


class Scheduled(Case):
    def setUp(self):
        super().setUp()
        self.write("m.mlir", model((1000, 500), (2000, 700)))

    def test_dispatches_follow_one_another(self):
        found = self.estimate("m.mlir")
        # 1000 and 2000 bytes at 4.754286 a cycle, and the slices
        self.assertEqual([row["cycles"] for row in found["dispatches"]], [211 + 500, 421 + 700])
        self.assertEqual(found["cycles"], 211 + 500 + 421 + 700)
        self.assertEqual(found["time_ns"], round(found["cycles"] * 1000 / 800))
        self.assertEqual([row["peak_bytes"] for row in found["dispatches"]], [4096 + 1000, 4096 + 2000])
        self.assertEqual([(row["op"], row["compute_cycles"], row["read_bytes"]) for row in found["rows"]],
                         [("conv2d_0", 500, 1000), ("conv2d_0", 700, 2000)])
        metrics = {row["metric"]: row["cycles"] for row in found["metrics"]}
        self.assertEqual((metrics["DMA"], metrics["SLICE"], metrics["IDLE"]), (632, 1200, 0))

    def test_the_target_can_be_changed(self):
        found = self.estimate("m.mlir", "--clock", "1.6GHz", "--target-option", "dma_setup_beats=0",
                              "--target-option", "dma_factor=1")
        self.assertEqual([row["cycles"] for row in found["dispatches"]], [125 + 500, 250 + 700])
        self.assertEqual(found["time_ns"], round(found["cycles"] * 1000 / 1600))
        for options, says in ((("--target", "a100"), "the machine 'a100' has no section \"estimate\""),
                              (("--target", "nothing"), "there is no machine 'nothing'"),
                              (("--target", "cpu"), "holds a schedule for an NPU with DMA"),
                              (("--target-option", "dma_factr=1"), "did you mean dma_factor?"),
                              (("--target-option", "dma_factor"), "is not key=value"),
                              (("--target-option", "engines=0"), "the target's engines is 0"),
                              (("--clock", "fast"), "'fast' is not a clock")):
            done = self.opscope("estimate", "m.mlir", *options)
            self.assert_status(done, 2)
            self.assertIn(says, done.stderr)

    def test_both_csv_forms(self):
        self.estimate("m.mlir", "--csv", "tasks.csv", "--dispatch", "d1_main")
        self.assertEqual(self.read("tasks.csv"), "taskId, elapsed_time(us), timestamp(us), event, location, bytes\n"
                         "0,421,0,DMA In,loc(unknown),2000\n1,700,421,Slice 1,loc(unknown),\n")
        self.estimate("m.mlir", "--csv", "units.csv", "--csv-form", "units", "--default-location", 'loc("x, y":1:2)')
        self.assertEqual(self.read("units.csv"), 'ID,Start,End,Location,Op Type\nDI0,0,211,loc("x, y":1:2),DMA_IN\n'
                         'DI1,711,1132,loc("x, y":1:2),DMA_IN\nS0,211,711,loc("x, y":1:2),conv2d\n'
                         'S1,1132,1832,loc("x, y":1:2),conv2d\n')
        self.estimate("m.mlir", "--csv", "all.csv", "--csv-form", "all")
        self.assertIn("d1_main,Slice 1,1,1132,1832,1415,2290,,conv2d_0,conv2d,loc(unknown)\n", self.read("all.csv"))
        self.estimate("m.mlir", "--torq-enable-profiling", "--torq-dump-profiling=p.csv", "--dispatch", "d1_main")
        self.assertEqual(self.read("p.csv"), self.read("tasks.csv"))
        done = self.opscope("estimate", "m.mlir", "--csv", "x.csv", "--dispatch", "d9")
        self.assert_status(done, 2)
        self.assertIn("no dispatch 'd9'", done.stderr)

    def exported(self, trace, what):
        done = self.opscope("export", trace, "--format", "csv", "--what", what, "-o", "-")
        self.assert_status(done)
        return list(csv.DictReader(io.StringIO(done.stdout)))

    def figures(self, trace, what):
        """What rows say, in order; dispatches may begin before their first unit, which is where a file of units begins."""
        rows = [row for row in self.exported(trace, what) if what == "ops" or row["thread"] != "dispatches"]
        first = min(int(row["start_ns"]) for row in rows)
        unknown = dict.fromkeys(("process", "figures", "attributes", "inputs"), "")  # MACs and types are not in the file
        return sorted(sorted({**row, **unknown, "start_ns": int(row["start_ns"]) - first}.items()) for row in rows)

    def zones(self, trace):
        return [row for row in self.exported(trace, "zones") if row["thread"] != "dispatches"]

    def test_csv_is_named_as_everywhere(self):
        """--csv alone is for standard output, instead of the tables; also in the form of the compiler, --csv FILE."""
        options = ("--dispatch", "d1_main")
        self.estimate("m.mlir", "--csv=tasks.csv", *options)
        plain = self.read("tasks.csv")
        self.assertEqual(self.opscope("estimate", "m.mlir", "--csv", *options).stdout, plain)
        self.assertEqual(self.opscope("estimate", "--csv", "m.mlir", *options).stdout, plain)
        for words in (("m.mlir", "--csv", "t.csv"), ("--csv", "t.csv", "m.mlir")):
            for _ in range(2):  # also over what the first time wrote
                done = self.opscope("estimate", *words, *options)
                self.assert_status(done)
                self.assertIn("Where the time goes", done.stdout)
                self.assertEqual(self.read("t.csv"), plain)
        done = self.opscope("estimate", "m.mlir", "--csv", "--json=tables.json", *options)
        self.assertEqual(done.stdout, plain)
        self.assertIn('"table": "estimate"', self.read("tables.json"))
        for words in (("--csv", "--json"), ("--csv=m.mlir",), ("--csv", "m.mlir")):
            self.assert_status(self.opscope("estimate", "m.mlir", *words), 2)

    def test_both_csv_forms_are_read_back(self):
        place = ("--default-location", 'loc("x, y":1:2)')
        self.estimate("m.mlir", "-o", "m.opscope", "--csv", "tasks.csv", *place)
        self.estimate("m.mlir", "--csv", "units.csv", "--csv-form", "units", *place)
        want = self.zones("m.opscope")
        self.assertEqual(len(want), 4)
        # Tasks do not say what a slice computed, units neither which slice it was nor how many bytes were moved.
        for form, known in (("tasks", ("thread", "value")), ("units", ("name",))):
            self.assert_status(self.opscope("import", "timeline", form + ".csv", "-o", form + ".opscope"))
            keys = ("start_ns", "duration_ns", "file", *known)
            self.assertEqual(sorted([row[key] for key in keys] for row in self.zones(form + ".opscope")),
                             sorted([row[key] for key in keys] for row in want), form)

    def test_the_whole_csv_is_read_back(self):
        place = ("--default-location", 'loc("x, \"y\"":1:2)')
        unscheduled = self.write("s.mlir", """func.func @main(%x: tensor<1x64x64xi8>) -> tensor<1x64x64xi32> {
  %0 = tosa.matmul %x, %x : (tensor<1x64x64xi8>, tensor<1x64x64xi8>) -> tensor<1x64x64xi32> loc("a, b.mlir":2:3)
  %1 = tosa.exp %0 : (tensor<1x64x64xi32>) -> tensor<1x64x64xi32> loc(unknown)
  return %1 : tensor<1x64x64xi32>
}
""")
        for model_, options in (("m.mlir", place), (unscheduled, ()), (unscheduled, ("--target", "cpu", "--clock", "2445"))):
            self.estimate(model_, "-o", "m.opscope", "--csv", "all.csv", "--csv-form", "all", *options)
            # The clock is in the file, whatever the target's is.
            self.assert_status(self.opscope("import", "timeline", "all.csv", "-o", "all.opscope"))
            for what in ("zones", "ops"):
                want, found = (self.figures(trace, what) for trace in ("m.opscope", "all.opscope"))
                self.assertEqual(found, want)
                self.assertTrue(want)
        self.write("bad.csv", "dispatch,lane,task,start_cycles,end_cycles,bytes,op,location\nd,CSS,0,0,5,,x,l\nd,CSS,0,9,5,,x,l\n"
                   "d,,0,9,15,,x,l\nd,CSS,0,5,6,many,x,l\nd,CSS\nd,CSS,,5,16,,,\nd,CSS,0,5,6,1,x,\"never closed\n")
        done = self.opscope("import", "timeline", "bad.csv", "-o", "bad.opscope")
        self.assert_status(done)
        self.assertIn("2 zones on 1 track", done.stderr)
        self.assertIn("5 rows of bad.csv cannot be read, the first in line 3", done.stderr)

    def test_nothing_is_said_of_what_is_not_known(self):
        self.write("t.csv", "dispatch,lane,task,start_cycles,end_cycles,bytes,op,location\n"
                   "d,DMA In,0,0,500,64,x,l\nd,Slice 0,1,500,800,,x,l\n")
        self.assert_status(self.opscope("import", "timeline", "t.csv", "-o", "t.opscope"))
        op, = self.exported("t.opscope", "ops")
        self.assertEqual(op["attributes"], "opscope.dram_bytes=64")  # how much it computes is not in the file

    def test_gaps_of_estimates_are_not_for_the_host_to_fill(self):
        self.write("u.csv", "ID,Start,End,Location,Op Type\nS0,0,800,loc(a),x\nS0,80000,80800,loc(b),x\nS0,160000,160800,loc(c),x\n")
        self.assert_status(self.opscope("import", "timeline", "u.csv", "-o", "u.opscope", "--target", "sl2610"))
        found = self.opscope("report", "u.opscope", "--json").json()
        self.assertGreater(found["gap_us"], 190)
        self.assertNotIn("gap", [advice["rule"] for advice in found["advice"]])
        for command in ("report", "summary"):
            text = self.opscope(command, "u.opscope").stdout
            self.assertNotIn("the host", text)
            self.assertNotIn("host-bound", text)

    def test_nothing_is_advised_of_an_op_that_the_model_cannot_explain(self):
        shapes = "tensor<4x512x2048xbf16>, tensor<32x512x9xbf16>", "tensor<4x32x2040xf32>"
        self.write("c.mlir", f"func.func @main(%a: {shapes[0].replace(', ', ', %w: ')}, %o: {shapes[1]}) -> {shapes[1]} {{\n"
                   f"  %r = linalg.conv_1d_ncw_fcw ins(%a, %w : {shapes[0]}) outs(%o : {shapes[1]}) -> {shapes[1]}\n"
                   f"  return %r : {shapes[1]}\n}}\n")
        self.assert_status(self.opscope("estimate", "c.mlir", "--target", "cpu", "-o", "c.opscope"))
        found = self.opscope("report", "c.opscope", "--json").json()
        advice, = found["advice"]
        self.assertLess(found["rows"][0]["flops_percent"], 5)
        self.assertEqual((advice["rule"], advice["gain_us"]), ("model", 0))
        said = r"the model gives linalg\.conv_1d_ncw_fcw [\d.]+ ms, [\d.]+ times what its (arithmetic|memory traffic) would take: check tiling or engine"
        self.assertRegex(advice["do"], said)
        text = self.opscope("report", "c.opscope").stdout
        self.assertRegex(text, said)
        self.assertIn("in doubt: linalg.conv_1d_ncw_fcw", text)
        self.assertNotIn("saves", text)
        summary = self.opscope("summary", "c.opscope").stdout
        self.assertRegex(summary, "(?i)" + said)
        self.assertNotIn("save ", summary)

    def test_timelines_with_faults(self):
        self.write("t.csv", "taskId, elapsed_time(us), timestamp(us), event, location\n0,10,5,CSS,a, b\n1,x,5,CSS,a\n\n2,3\n")
        done = self.opscope("import", "timeline", "t.csv", "-o", "t.opscope")
        self.assert_status(done)
        self.assertIn("1 zone on 1 track", done.stderr)
        self.assertIn("2 rows of t.csv cannot be read, the first in line 3", done.stderr)
        zone, = self.zones("t.opscope")
        self.assertEqual((zone["name"], zone["thread"], zone["file"]), ("CSS", "CSS", "a, b"))
        self.write("u.csv", "ID,Start,End,Location,Op Type\nS0,0,10,loc(a),x,y\nS1,5,8,loc(a),z\nX2,1,2,l,t\nS3,9,8,l,t\n")
        done = self.opscope("import", "timeline", "u.csv", "-o", "u.opscope", "--target", "cpu")
        self.assertIn("2 zones on 2 tracks", done.stderr)  # two at a time are on two slices
        self.assertEqual(sorted((zone["name"], zone["thread"]) for zone in self.zones("u.opscope")),
                         [("x,y", "Slice 0"), ("z", "Slice 1")])
        self.write("e.csv", "ID,Start,End,Location,Op Type\n")
        for arguments, says in ((("import", "timeline", "m.mlir", "-o", "x.opscope"), "not a timeline"),
                                (("import", "timeline", "e.csv", "-o", "x.opscope"), "without a row that can be read"),
                                (("zones", "u.csv"), "u.csv is a timeline in cycles: opscope import timeline"),
                                (("diff", "u.csv", "t.csv"), "u.csv is a timeline in cycles"),
                                (("annotate", "m.mlir", "u.csv"), "is a timeline of the compiler")):
            done = self.opscope(*arguments)
            self.assert_status(done, 2)
            self.assertIn(says, done.stderr)

    def test_the_annotated_ir_is_read_again(self):
        before = self.estimate("m.mlir", "--annotate", "a.mlir", "--dump-compilation-phases-to", "phases")
        text = self.read("a.mlir")
        self.assertIn('func.func @d1_main() attributes {opscope.cycles = 1121 : i64, opscope.peak_bytes = 6096 : i64, '
                      'opscope.used_bytes = 2000 : i64, '
                      '"torq-nss-program-base" = 0 : i64}', text)
        self.assertIn('{"torq-end-time-cycles" = 421 : i64, "torq-start-time-cycles" = 0 : i64, "torq-task-id" = 0 : i64}', text)
        self.assertIn('torq_hw.dma_in_start {"torq-async-duration-cycles" = 211 : i64}', text)
        after = self.estimate("a.mlir", "--annotate", "again.mlir")
        self.assertEqual({**after, "model": 0}, {**before, "model": 0})
        self.assertEqual(self.read("phases/m.1.input.mlir"), self.read("m.mlir"))
        self.assertEqual(self.read("phases/m.10.executable-targets.mlir"), text)
        phase = "phases/m.1.input.mlir"
        done = self.opscope("estimate", phase, "--dump-compilation-phases-to", "phases")
        self.assert_status(done, 2)
        self.assertIn("it is an input of this command", done.stderr)
        self.assertEqual(self.read(phase), self.read("m.mlir"))

    def test_as_a_trace(self):
        self.estimate("m.mlir", "-o", "m.opscope")
        zones = {row["name"]: row["count"] for row in self.opscope_json("zones", "m.opscope")["rows"]}
        self.assertEqual(zones, {"d0_main": 1, "d1_main": 1, "DMA In": 2, "conv2d": 2})
        self.assertEqual(len(self.opscope_json("ops", "m.opscope")["rows"]), 2)
        self.assertEqual(self.opscope_json("report", "m.opscope")["machine"], "sl2610")

    def test_as_a_page(self):
        if not pages.are_built():
            self.skipTest(pages.NOT_BUILT)
        self.estimate("m.mlir", "-o", "m.opscope", "--html", "m.html")
        page = pages.read(self.path("m.html"))
        self.assertEqual(page.json("traces")["traces"][0]["name"], "m.mlir")
        said = page.chosen("overview")
        self.assertEqual(said["kind"], "estimate")
        self.assertTrue(said["sentence"][0]["text"].startswith("Estimated "), said["sentence"])
        self.assertEqual(said["partition"], self.opscope_json("summary", "m.opscope")["partition"])
        self.assertEqual(sum(group["count"] for group in page.chosen("ops?group=op&limit=5000")["groups"]), 2)
        self.assertEqual(page.json("trace")["zones"], 6)

    def test_columns_of_vela(self):
        self.estimate("m.mlir", "--csv-ops", "layers.csv")
        lines = self.read("layers.csv").splitlines()
        self.assertTrue(lines[0].startswith("Original Operator,NNG Operator,SRAM Usage,Peak%,Op Cycles,Network%,NPU,SRAM AC,"))
        self.assertEqual(lines[2].split(",")[4], "1121")

    def test_what_is_wrong_has_a_place(self):
        self.write("cut.mlir", self.read("m.mlir")[:300])
        self.write("odd.mlir", self.read("m.mlir").replace("torq_hw.dma_in_wait", "torq_hw.launch", 1))
        self.write("none.mlir", "ID,Start,End\n1,2,3\n")
        for name, says in (("cut.mlir", "is never closed"), ("odd.mlir", "odd.mlir:23:13: torq_hw.launch"),
                           ("none.mlir", "none.mlir holds no op"), ("missing.mlir", "missing.mlir")):
            done = self.opscope("estimate", name)
            self.assert_status(done, 2)
            self.assertIn(says, done.stderr)


EVENTS = """dispatch_name,invocation_id,action_id,timestamp_us,event
d0_main,0,-1,1000,INIT_BEGIN
d0_main,0,-1,1001,INIT_END
__HAL_QUEUE_EXECUTE__,1,-1,1999,HAL_CALL_BEGIN
d1_main,3,0,2020,NSS_START_BEGIN
d1_main,3,0,2021,NSS_START_END
d1_main,3,1,2021,NSS_WAIT_BEGIN
d1_main,3,1,2025,NSS_WAIT_END
d0_main,2,0,2000,NSS_START_BEGIN
d0_main,2,0,2001,NSS_START_END
d0_main,2,1,2001,NSS_WAIT_BEGIN
d0_main,2,1,2010,NSS_WAIT_END
__HAL_QUEUE_EXECUTE__,1,-1,2030,HAL_CALL_END
"""


# A transfer in, in the form that a tool without the dialects can read.
GENERIC_DISPATCH = """module {
  func.func @d0_main() attributes {"torq-nss-program-base" = 0 : i64} {
    %n = "torq_hl.program"() ({
      "torq_hw.nss_task"() ({
        "torq_hw.dma_in_cfg"() {write_ndl = #torq_hw<dma_ndl{dims = [[1000, 1]]}>} : () -> ()
        "torq_hw.dma_in_start"() : () -> ()
        "torq_hw.dma_in_wait"() : () -> ()
      }) {"torq-task-id" = 0 : i64} : () -> ()
      "torq_hl.return"() : () -> ()
    }) {name = "nss_program_0"} : () -> !torq_hl.program<nss>
    %i = "torq_hl.descriptor"(%n) {name = "nss_program_0", "torq-job-id" = 0 : i32} : (!torq_hl.program<nss>) -> !torq_hl.invocation<nss>
    "torq_hl.start_program"(%i) {"torq-action-id" = 0 : i32} : (!torq_hl.invocation<nss>) -> ()
    "torq_hl.wait_program"(%i) {"torq-action-id" = 1 : i32} : (!torq_hl.invocation<nss>) -> ()
    return
  }
}
"""


def protobuf(data):
    """Fields of a message: (number, value)."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    found = []
    while at < len(data):
        key = varint()
        value = varint()
        if key & 7 == 2:
            value, at = data[at:at + value], at + value
        found.append((key >> 3, value))
    return found


def perfetto_tracks(path):
    """Parents with the names of their tracks, and the bars of each track; a second one of a name gets a number."""
    with open(path, "rb") as file:
        packets = [dict(protobuf(packet)) for _, packet in protobuf(file.read())]
    tree, bars, names, began = {}, {}, {}, {}
    for packet in packets:
        if 60 in packet:
            track = dict(protobuf(packet[60]))
            name = track[2].decode()
            names[track[1]] = name + " 2" if 5 not in track and name in tree else name
            if 5 in track:
                tree[names[track[5]]].append(name)
            else:
                tree[names[track[1]]] = []
            continue
        event = dict(protobuf(packet[11]))
        if event[9] == 1:
            began.setdefault(event[11], []).append((event[23].decode(), packet[8]))
        else:
            bars.setdefault(names[event[11]], []).append((*began[event[11]].pop(), packet[8]))
    return tree, bars


class Annotated(Case):
    def setUp(self):
        super().setUp()
        self.write("m.10.executable-targets.mlir", model((1000, 500), (2000, 700)))
        self.write("run.csv", EVENTS)

    def annotate(self, *arguments):
        done = self.opscope("annotate", "m.10.executable-targets.mlir", *arguments, "--json")
        self.assert_status(done)
        return done.json()

    def test_actions_by_invocation(self):
        found = self.annotate("run.csv", "out.csv", "-o", "run.opscope")
        self.assertEqual(self.read("out.csv").splitlines()[1:], [
            "0;;torq_hl.start_program;conv2d_0;;;False;True;True;False;False;False;;;",
            "1;;torq_hl.wait_program;conv2d_0;;;False;True;True;False;False;False;;;",
            "0;;torq_hl.start_program;conv2d_0;;1.0;False;True;True;False;False;False;2000.0;2001.0;",
            "1;;torq_hl.wait_program;conv2d_0;;9.0;False;True;True;False;False;False;2001.0;2010.0;",
            "0;;torq_hl.start_program;conv2d_0;;1.0;False;True;True;False;False;False;2020.0;2021.0;",
            "1;;torq_hl.wait_program;conv2d_0;;4.0;False;True;True;False;False;False;2021.0;2025.0;",
            "-1;;__HAL_QUEUE_EXECUTE__.HAL_CALL;;;31.0;;;;;;;1999.0;2030.0;HAL_QUEUE_EXECUTE"])
        metrics = {row["metric"]: row["time_ns"] for row in found["metrics"]}
        self.assertEqual((metrics["total_duration"], metrics["dma_time"], metrics["slice_1_time"], metrics["hal_time"]),
                         (31000, 15000, 15000, 31000))
        self.assertEqual((metrics["total_npu_operations"], metrics["idle_time"]), (25000, 0))
        self.assertEqual(found["notes"], [])
        zones = {row["name"]: row["count"] for row in self.opscope_json("zones", "run.opscope")["rows"]}
        self.assertEqual(zones, {"conv2d_0": 6, "d0_main": 1, "d1_main": 1, "HAL_QUEUE_EXECUTE": 1})

    def test_names_from_the_source(self):
        self.write("src.mlir", "a\n  %0 = tosa.conv2d %1\n  %1 = torch.operator \"onnx.Add\"(%0)\n linalg.fill\n")
        for place, says in (('loc("src.mlir":2:3)', "tosa.conv2d@L2;"), ('loc("src.mlir":3:3)', "onnx.Add@L3;"),
                            ('loc(fused["src.mlir":2:3, "src.mlir":3:1])', "tosa.conv2d@L2 onnx.Add@L3;"),
                            ('loc("src.mlir":4:3)', "conv2d_0;;"), ('loc("gone.mlir":4:3)', "conv2d_0;;")):
            self.annotate("run.csv", "out.csv", "--default-location", place, "--sources", ".")
            self.assertIn(says, self.read("out.csv").splitlines()[1])
        self.annotate("run.csv", "out.csv", "--default-location", 'loc(fused<"x">["l"("src.mlir":2:3), "src.mlir":3:1])')
        self.assertTrue(self.read("out.csv").splitlines()[1].endswith(";@L2C3+@L3C1"))

    def test_older_forms(self):
        self.write("a.csv", "ID;time_since_open;time_since_start;Location\n0;110;10;loc(\"a;b\")\n1;130.5;8;x\n")
        self.annotate("a.csv", "a.out")
        lines = self.read("a.out").splitlines()
        self.assertTrue(lines[0].startswith("nss_program_index;operation;slice_id;invocation_name;"))
        self.assertEqual(lines[1], "0;torq_hw.dma_in_cfg;;;100.0;110.0;10.0;False;True;True;False")
        self.assertIn("1;torq_hw.slice_start;1;conv2d_0;122.5;130.5;8.0;False;True;True;False", lines)
        self.write("b.csv", "actionIndex, elapsed_time(us), timestamp(us), event, location\n0,1,100,start,l\n1,9,101,wait,a,b\n")
        self.annotate("b.csv", "b.out")
        self.assertEqual(self.read("b.out").splitlines()[2].split(";")[12:14], ["101.0", "110.0"])

    def test_a_debug_info_folder(self):
        """One file per dispatch; both have an alias of the same name, for another place."""
        self.annotate("run.csv", "whole.csv", "--default-location", 'loc("m.mlir":1:1)')
        os.mkdir(self.path("info"))
        for number, sizes in enumerate(((1000, 500), (2000, 700))):
            text = dispatch(number, *sizes).replace('"torq-action-id" = 0 : i32}', '"torq-action-id" = 0 : i32} loc(#loc1)')
            self.write(f"info/d{number}_main.mlir", f'#loc1 = loc("m.mlir":{number + 7}:3)\nmodule {{{text}}}\n')
        done = self.opscope("annotate", "info", "run.csv", "out.csv")
        self.assert_status(done)
        rows = [line.split(";") for line in self.read("out.csv").splitlines()[1:]]
        self.assertEqual([row[14] for row in rows if row[2] == "torq_hl.start_program"], ["@L7C3", "@L7C3", "@L8C3"])
        whole = [line.split(";") for line in self.read("whole.csv").splitlines()[1:]]
        self.assertEqual([row[:14] for row in rows], [row[:14] for row in whole])
        # The same folder is a model for estimate and diff.
        self.assertEqual(self.estimate("info")["cycles"], 211 + 500 + 421 + 700)
        self.assert_status(self.opscope("diff", "info", "run.csv"))
        os.mkdir(self.path("empty"))
        done = self.opscope("annotate", "empty", "run.csv")
        self.assert_status(done, 2)
        self.assertIn("empty has no MLIR", done.stderr)

    def test_bytecode_in_a_debug_info_folder(self):
        opt = shutil.which("mlir-opt-22") or shutil.which("mlir-opt")
        if not opt:
            self.skipTest("mlir-opt is not installed")
        os.mkdir(self.path("info"))
        self.write("d.mlir", GENERIC_DISPATCH)
        made = self.run_command([opt, "--allow-unregistered-dialect", "--emit-bytecode", self.path("d.mlir"), "-o",
                                 self.path("info/d0_main.mlirb")])
        self.assert_status(made)
        self.write("d0.csv", "".join(line + "\n" for line in EVENTS.splitlines() if "d1_main" not in line))
        self.assert_status(self.opscope("annotate", "info", "d0.csv", "out.csv"))
        self.assertIn("1;0.0;torq_hl.wait_program;;;9.0;False;False;True;False;False;False;2001.0;2010.0;", self.read("out.csv"))

    def test_a_page_of_the_run(self):
        if not pages.are_built():
            self.skipTest(pages.NOT_BUILT)
        self.annotate("run.csv", "--html", "a.html")
        page = pages.read(self.path("a.html"))
        self.assertEqual(page.json("trace")["name"], "run.csv")
        tracks = [track["name"] for track in page.json("trace")["tracks"]]
        self.assertIn("NPU", tracks)
        self.assertIn("Slice 1 Used", tracks)
        said = {point["header"]: point["text"] for point in page.json("points?limit=1000")["points"]}
        metrics = self.annotate("run.csv")["metrics"]
        self.assertEqual(len(metrics), 19)
        self.assertEqual(list(said)[:7], ["in all", "NPU", "only data movement", "only computation", "both at once", "copies by the host",
                                          "idle"])
        self.assertNotEqual(page.chosen("overview")["kind"], "estimate")

    def test_all_columns(self):
        found = self.annotate("run.csv")
        row = found["rows"][1]
        self.assertEqual((row["dispatch"], row["slice_used_0_in_program"], row["slice_used_1_in_program"], row["end_ns"]),
                         ("d0_main", "False", "True", 11000))
        self.assertEqual(len(found["metrics"]), 19)
        self.write("p.csv", "ID;time_since_open;time_since_start;Location\n0;110;10;x\n1;130.5;8;x\n")
        row, = [row for row in self.annotate("p.csv")["rows"] if row["operation"] == "torq_hw.slice_start"][:1]
        self.assertEqual((row["nss_program_index"], row["slice_id"], row["invocation_names"]), (0, 1, "conv2d_0"))
        done = self.opscope("annotate", "m.10.executable-targets.mlir", "run.csv", "out.xlsx")
        self.assert_status(done, 2)
        self.assertIn("as CSV", done.stderr)

    def test_tracks_for_perfetto(self):
        self.annotate("run.csv", "run.pb", "--default-location", 'loc("m.mlir":7:3)')
        tree, bars = perfetto_tracks(self.path("run.pb"))
        self.assertEqual(list(tree), ["Host", "NPU Task Breakdown", "NPU Task Measurements", "NPU Task Breakdown 2",
                                      "Compiler Input Locations", "Operator Type Totals", "Runtime Overview"])
        self.assertEqual(tree["Host"], ["HAL", "NSS Programs", "Host Programs", "Host Copy"])
        parts = ["NSS CFG Tasks", "CDMA", "NDMA In", "NDMA Out", "Slice 0", "Slice 1", "CSS"]
        self.assertEqual(tree["NPU Task Breakdown"], parts)
        self.assertEqual(tree["NPU Task Breakdown 2"], [part + " (Compile)" for part in parts])
        self.assertEqual(tree["NPU Task Measurements"], ["DMA In Used", "DMA Out Used", "CDMA Used", "Slice 0 Used",
                                                         "Slice 1 Used", "CSS Used"])
        self.assertEqual((len(tree["Runtime Overview"]), tree["Runtime Overview"][0], tree["Runtime Overview"][15]),
                         (16, "00 OVERVIEW DMA COMBINED", "15 OVERALL"))
        self.assertEqual(bars["NSS Programs"], [
            ("Nss Program | nss_program_0 | @L7C3 | Torq Kernels: [conv2d_0] | Start Action: 0", 2000000, 2010000),
            ("Nss Program | nss_program_0 | @L7C3 | Torq Kernels: [conv2d_0] | Start Action: 0", 2020000, 2025000)])
        # Each program's estimate from when it ran on: 211 cycles of 1.25 ns in, then 500 of the slice.
        self.assertEqual(bars["NDMA In (Compile)"][0][1:], (2000000, 2000263))
        self.assertEqual(bars["Slice 1 (Compile)"][0], ("Slice Program | conv2d_0", 2000263, 2000888))
        self.assertEqual(bars["Slice 1 (Compile)"][1][1:], (2020526, 2021401))
        self.assertEqual(bars["15 OVERALL"], [("15 OVERALL", 1999000, 2030000)])
        self.annotate("run.csv", "--perfetto", "slow.pb", "--clock", "100MHz")
        slow = perfetto_tracks(self.path("slow.pb"))[1]
        self.assertEqual(slow["NDMA In (Compile)"][0][1:], (2000000, 2002110))

    def test_colours_as_everywhere(self):
        words = ("annotate", "m.10.executable-targets.mlir", "run.csv")
        self.assertIn("\033[", self.opscope(*words, "--color").stdout)
        for more in ((), ("--color=never",)):
            self.assertNotIn("\033[", self.opscope(*words, *more).stdout)

    def test_what_does_not_fit_is_counted(self):
        lines = EVENTS.splitlines()
        damaged = lines[:4] + ["d1_main,x", "d7_main,9,0,1,NSS_START_BEGIN"] + lines[5:9] + \
            ["d0_main,2,0,1500,NSS_START_END"] + lines[10:]
        self.write("bad.csv", "\n".join(damaged) + "\n")
        notes = " | ".join(self.annotate("bad.csv")["notes"])
        for says in ("1 row of the profile cannot be read (the first in line 5)", "only a begin or only an end",
                     "1 event of the profile with the end before the begin", "dispatches that the IR does not have (d7_main)",
                     "of the IR without times"):
            self.assertIn(says, notes)

    def test_estimate_against_the_run(self):
        more = EVENTS + EVENTS.split("\n", 3)[3].replace("_main,2,", "_main,5,").replace("_main,3,", "_main,6,").replace(
            ",2010,", ",2012,").replace("__,1,", "__,4,")
        self.write("two.csv", more)
        done = self.opscope("diff", "m.10.executable-targets.mlir", "two.csv", "--json")
        self.assert_status(done)
        found = done.json()
        # 711 and 1121 cycles of 1.25 ns; 10 and 12 us, 5 and 5 us
        self.assertEqual([(row["estimate_ns"], row["measured_ns"], row["runs"]) for row in found["rows"]],
                         [(888.75, 11000, 2), (1401.25, 5000, 2)])
        self.assertEqual([(row["least_ns"], row["most_ns"]) for row in found["rows"]], [(10000, 12000), (5000, 5000)])
        kind, = found["types"]
        self.assertEqual((kind["type"], kind["count"], kind["runs"], kind["estimate_ns"], kind["measured_ns"]),
                         ("conv2d", 2, 4, 2290, 16000))
        self.assertAlmostEqual(kind["bias_percent"], 100 * (2290 - 16000) / 16000)
        self.assertAlmostEqual(found["median_factor"], (11000 / 888.75 + 5000 / 1401.25) / 2)
        table = self.opscope("diff", "m.10.executable-targets.mlir", "two.csv", "--csv").stdout.splitlines()
        self.assertEqual(len(table), 3)

    def test_wrong_files(self):
        self.write("other.csv", EVENTS.replace("d0_main", "x").replace("d1_main", "y"))
        self.write("flow.mlir", "module {\n  flow.executable private @x {\n  }\n}\n")
        self.write("timeline.csv", "taskId, elapsed_time(us), timestamp(us), event, location, bytes\n")
        for phase, profile, says in (("m.10.executable-targets.mlir", "other.csv", "its dispatches are others (x)"),
                                     ("m.10.executable-targets.mlir", "flow.mlir", "not a runtime profile"),
                                     ("m.10.executable-targets.mlir", "timeline.csv", "is a timeline of the compiler"),
                                     ("flow.mlir", "run.csv", "its phase is flow, and executable-targets is needed")):
            done = self.opscope("annotate", phase, profile)
            self.assert_status(done, 2)
            self.assertIn(says, done.stderr)
        done = self.opscope("annotate", ".", "run.csv")
        self.assert_status(done)


TOSA = """module {
  func.func @main(%arg0: tensor<1x?x64xi8>, %arg1: tensor<1x64x32xi8>) -> tensor<1x?x32xi32> {
    %0 = tosa.matmul %arg0, %arg1 : (tensor<1x?x64xi8>, tensor<1x64x32xi8>) -> tensor<1x?x32xi32> loc("m.py":3:1)
    %1 = strange.op %0 : tensor<1x?x32xi32>
    return %1 : tensor<1x?x32xi32>
  }
}
"""


class Unscheduled(Case):
    def test_shapes_give_the_work(self):
        self.write("t.mlir", TOSA)
        found = self.estimate("t.mlir", "--dim", "16", "-o", "t.opscope")
        self.assertEqual(found["kind"], "analytic")
        self.assertEqual(sum(row["macs"] or 0 for row in found["rows"]), 16 * 64 * 32)
        self.assertIn("strange.op", " ".join(found["notes"]))
        self.assertIn("uncalibrated", found["notes"][0])
        self.assertLess(0, self.opscope_json("info", "t.opscope")["zones"])
        by_place = self.estimate("t.mlir", "--dim", "0:1=16")
        self.assertEqual(by_place["macs"], found["macs"])
        self.assertEqual(self.estimate("t.mlir", "--dim", "32")["macs"], 2 * found["macs"])

    def test_a_size_that_is_not_known_is_reported(self):
        self.write("t.mlir", TOSA)
        self.assertIn("tosa.matmul", " ".join(self.estimate("t.mlir")["notes"]))

    def test_every_target(self):
        self.write("t.mlir", TOSA)
        times = {target: self.estimate("t.mlir", "--dim", "512", "--target", target)["time_ns"]
                 for target in ("sl2610", "wormhole", "h100", "cpu")}
        self.assertTrue(all(times.values()), times)

    def test_the_steps(self):
        self.write("t.mlir", TOSA)
        before = self.estimate("t.mlir", "--dim", "16", "--dump-compilation-phases-to", "steps", "--annotate", "a.mlir")
        names = ["t.1.input.mlir", "t.2.costed.mlir", "t.3.tiled.mlir", "t.4.scheduled.mlir"]
        self.assertEqual(sorted(os.listdir(self.path("steps"))), names)
        keys = [sum(self.read(f"steps/{name}").count(key) > 0 for key in ("opscope.macs", "opscope.tiles", "opscope.end_cycles"))
                for name in names]
        self.assertEqual(keys, [0, 1, 2, 3])
        for name in names:
            rows = self.estimate(f"steps/{name}", "--dim", "16")["rows"]
            self.assertEqual(rows, before["rows"], name)  # also where they stand in the source
        self.assertEqual(self.read("a.mlir"), re.sub(r' loc\("t.mlir":\d+:\d+\)', "", self.read("steps/t.4.scheduled.mlir")))
        self.write("u.mlir", TOSA.replace("\n    return", " loc(unknown)\n    return", 1))
        self.estimate("u.mlir", "--dim", "16", "--dump-compilation-phases-to", "steps")
        self.assertNotIn("loc(unknown)", self.read("steps/u.4.scheduled.mlir"))


    def test_ops_without_locations_are_where_they_stand(self):
        text = ("module {\n  func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {\n"
                "    %0 = tosa.reduce_sum %x {axis = 0 : i32} : (tensor<64xf32>) -> tensor<1xf32>\n"
                "    %1 =   tosa.tile %0, %0 : (tensor<1xf32>, tensor<1xf32>) -> tensor<64xf32> loc(\"a.py\":7:1)\n"
                "    %2 = my.thing %1 : tensor<64xf32> loc(unknown)\n"
                "    return %2 : tensor<64xf32>\n  }\n}\n")
        self.write("t.mlir", text)
        found = self.estimate("t.mlir", "--target", "cpu", "--csv", "t.csv", "--csv-form", "all")
        self.assertEqual([row["location"] for row in found["rows"]],
                         ['loc("t.mlir":3:10)', 'loc("a.py":7:1)', 'loc("t.mlir":5:10)'])
        self.assertEqual(set(re.findall(r'loc\(""[^)]*\)', self.read("t.csv"))),
                         {row["location"].replace('"', '""') for row in found["rows"]})
        self.write("u.mlir", text.replace(" loc(unknown)", ""))
        self.assertIn('my.thing at loc("u.mlir":5:10)', " ".join(self.estimate("u.mlir", "--target", "cpu")["notes"]))
        found = self.estimate("t.mlir", "--target", "cpu", "--default-location", "loc(nowhere)")
        self.assertEqual([row["location"] for row in found["rows"]], ["loc(nowhere)", 'loc("a.py":7:1)', "loc(nowhere)"])


class BadText(Case):
    """Text that was cut, unbalanced, very deep, very long, or full of circles ends with a message or an estimate."""

    def test_bad_text(self):
        deep = "scf.execute_region {\n" * 100000
        for name, text, says in (("deep.mlir", deep + '"a.b"() : () -> ()\n' + "}\n" * 100000, None),
                                 ("open.mlir", deep, "is never closed"),
                                 ("closed.mlir", "module {\n}\n}\n", "closes nothing"),
                                 ("mixed.mlir", "module {\n  a.b (]\n}\n", "closes the '('"),
                                 ("circle.mlir", '#a = #b\n#b = #a\nmodule {\n  "a.b"() {k = #a} : () -> () loc(#a)\n}\n', None),
                                 ("dangling.mlir", 'module {\n  "a.b"() : () -> !gone loc(#gone)\n}\n', None),
                                 ("line.mlir", "module {" + ' "a.b"() : () -> ()' * 200000 + " }", None),
                                 ("quote.mlir", 'module {\n  a.b "never ends\n}\n', "quote.mlir:")):
            with self.subTest(name=name):
                self.write(name, text)
                done = self.opscope("estimate", name)
                self.assert_status(done, 2 if says else 0)
                self.assertIn(says or "no op of this model costs anything", done.stderr + done.stdout)

    def test_cut_anywhere(self):
        text = model((1000, 500))
        for length in range(50, len(text), 211):
            self.write("cut.mlir", text[:length])
            done = self.opscope("estimate", "cut.mlir")
            self.assertIn(done.status, (0, 2), done)
            if done.status == 2:
                self.assertIn("cut.mlir", done.stderr)


class Reference(Case):
    """A real dump, and one with overlaps, against what was computed by hand."""

    def setUp(self):
        super().setUp()
        self.folder_of = harness.reference_data("torq")

    def expected(self, *names):
        with open(os.path.join(self.folder_of, *names), encoding="utf-8") as file:
            return file.read()

    def test_the_real_dump(self):
        path = os.path.join(self.folder_of, "phases", "jit___call.10.executable-targets.mlir")
        found = self.estimate(path, "--default-location", 'loc("add.mlir":3:10)', "--csv", "t.csv", "--annotate", "a.mlir",
                              "--torq-enable-profiling")
        # Two slots of 640 bytes, data of 4, 2, 8, 4 and 4, and 5120 for the slice's code; the last ends at 6440.
        self.assertEqual((found["cycles"], found["peak_bytes"], found["used_bytes"]), (181, 6440, 6422))
        self.assertEqual(self.read("t.csv"), self.expected("derived", "trace.expected.csv"))
        self.assertEqual(self.read("a.mlir"), self.expected("derived", "jit___call.10.executable-targets.profiled.mlir"))

    def test_overlap(self):
        path = os.path.join(self.folder_of, "derived", "overlap.synthetic.executable-targets.mlir")
        found = self.estimate(path, "--default-location", 'loc("overlap.mlir":3:10)', "--csv", "t.csv")
        self.assertEqual(found["cycles"], 13619)
        self.assertNotIn("peak_bytes", found)  # it has no buffers with addresses
        self.assertEqual(self.read("t.csv"), self.expected("derived", "overlap.trace.expected.csv"))
        metrics = {row["metric"]: row["cycles"] for row in found["metrics"]}
        for key, cycles in json.loads(self.expected("derived", "overlap.metrics.expected.json")).items():
            if key != "_note":
                self.assertEqual(metrics[key], cycles, key)

    def test_the_annotated_run(self):
        done = self.opscope("annotate", os.path.join(self.folder_of, "phases"),
                            os.path.join(self.folder_of, "derived", "runtime.synthetic.csv"), "a.csv",
                            "--default-location", 'loc("add.mlir":3:10)', "--json")
        self.assert_status(done)
        self.assertEqual(self.read("a.csv"), self.expected("derived", "annotated.expected.csv"))
        rows = {row["metric"]: row for row in done.json()["metrics"]}
        for key, value in json.loads(self.expected("derived", "metrics.expected.json")).items():
            if key.endswith("_percent"):
                self.assertEqual(rows[key.replace("_percent", "_time")]["share_percent"], value, key)
            elif key != "_note":
                self.assertEqual(rows[key]["time_ns"], value, key)

    def test_one_model_in_all_forms(self):
        for stem, forms in (("tosa_add", ("pretty.mlir", "debuginfo.mlir", "localscope.mlir", "generic.mlir", "mlirbc")),
                            ("linalg_reducesum", ("pretty.mlir", "generic.mlir", "mlirbc"))):
            for target in ("sl2610", "cpu"):
                found = []
                for form in forms:
                    path = os.path.join(self.folder_of, "mlir_forms", f"{stem}.{form}")
                    rows = self.estimate(path, "--target", target)["rows"]
                    found.append([{**row, "location": None} for row in rows])  # which pretty text has not
                self.assertTrue(found[0])
                for form, rows in zip(forms, found):
                    self.assertEqual(rows, found[0], form)

    def test_every_input_has_an_estimate_or_a_message(self):
        folder = os.path.join(self.folder_of, "inputs")
        counts = {"files": 0, "with costs": 0, "with messages": 0}
        for kind in sorted(os.listdir(folder)):
            for name in sorted(os.listdir(os.path.join(folder, kind))):
                with self.subTest(name=name):
                    found = self.estimate(os.path.join(folder, kind, name), "--annotate", name)
                    self.assertTrue(found["rows"] or len(found["notes"]) > 1)
                    again = self.estimate(name)  # ops without locations are where they stand: on the same lines
                    self.assertEqual(again["rows"], found["rows"])
                    counts["files"] += 1
                    counts["with costs"] += bool(found["rows"])
                    counts["with messages"] += len(found["notes"]) > 1
        self.assertEqual(counts["files"], 300)
        print(counts)


if __name__ == "__main__":
    unittest.main()
