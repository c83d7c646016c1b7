# SPDX-License-Identifier: Apache-2.0
"""Models that are not scheduled, IREE's dumps and profiles, and calibration."""

import base64
import collections
import glob
import json
import os
import re
import shutil
import subprocess
import unittest
import zlib

import harness
import ops_csv
import pages

# A statement of the generic form: results, then the quoted name and the parenthesis of its operands.
GENERIC_OP = re.compile(r'^\s*(?:%[\w:, %#]+ = )?"([\w.$-]+)"\(', re.M)
MODELS = ("mlp", "cnn", "int8", "block", "stream", "tiny", "loop")
ONE_CORE = ("--target-option", "engines=1", "--target-option", "clock_mhz=2445", "--target-option", "local_bytes=524288")

FLOW = """
module @m {{
  flow.executable private @e {{
    flow.executable.export public @f workgroups() -> (index, index, index) {{
      %x, %y, %z = iree_tensor_ext.dispatch.workgroup_count_from_slice()
      flow.return %x, %y, %z : index, index, index
    }}
    builtin.module {{
      func.func @f(%a: !iree_tensor_ext.dispatch.tensor<readonly:tensor<{n}xf32>>, %b: !iree_tensor_ext.dispatch.tensor<writeonly:tensor<{n}xf32>>) {{
        %0 = iree_tensor_ext.dispatch.tensor.load %a, offsets = [0], sizes = [{n}], strides = [1] : !iree_tensor_ext.dispatch.tensor<readonly:tensor<{n}xf32>> -> tensor<{n}xf32>
        %1 = tensor.empty() : tensor<{n}xf32>
        %2 = linalg.generic {{indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}} ins(%0 : tensor<{n}xf32>) outs(%1 : tensor<{n}xf32>) {{
        ^bb0(%in: f32, %out: f32):
          %3 = arith.addf %in, %in : f32
          linalg.yield %3 : f32
        }} -> tensor<{n}xf32>
        iree_tensor_ext.dispatch.tensor.store %2, %b, offsets = [0], sizes = [{n}], strides = [1] : tensor<{n}xf32> -> !iree_tensor_ext.dispatch.tensor<writeonly:tensor<{n}xf32>>
        return
      }}
    }}
  }}
  util.func public @main(%arg0: !hal.buffer_view) -> !hal.buffer_view {{
    %0 = hal.tensor.import %arg0 "input0" : !hal.buffer_view -> tensor<{n}xf32>
    %1 = flow.dispatch @e::@f(%0) : (tensor<{n}xf32>) -> tensor<{n}xf32>
    %2 = hal.tensor.export %1 "output0" : tensor<{n}xf32> -> !hal.buffer_view
    util.return %2 : !hal.buffer_view
  }}
}}
"""


# A small model of ours, and what mlir-opt-22 --emit-bytecode-version=N makes of it (zlib, base64): versions differ in how
# they write op names, locations, isolated regions, properties and the sizes of operand groups.
BYTECODE_MODEL = """func.func @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<4x8xf32>
  %filled = linalg.fill ins(%zero : f32) outs(%empty : tensor<4x8xf32>) -> tensor<4x8xf32>
  %sum = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<4x8xf32>) outs(%filled : tensor<4x8xf32>) {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    linalg.yield %c : f32
  } -> tensor<4x8xf32>
  return %sum : tensor<4x8xf32>
}
"""
BYTECODE = {
    0: """eNpVUcFu2zAMJcNygiEYnmEURhEESWYUnZE1WNvLDkHuBdpLe9op0GI5FSDLhq0My2477Ff2B/uu/cKUbDuMkCjxCeLjIx8ffj3h48P90+3t8m
b5AfBOIrGIkCQxxcxJKiiLxHl+QffXEZZC3n0fy2CZTLIi+CyTTB8j+oaRyPNk9GM05XEhOEUAOG5V18bpTaO61dvq/btZdVPOrtezf/c1EMs4
SXkS2KY8JzrPucgQiUIFYjKdF8R8iSwEXyEvFkRXJZeF6o1/WdZq8I3yLyvXOr2Gwhqn7G5pvO6Vb/uNP3R61aleWavtGuSY0zlySE04Gp39ZH
yNggKQhupJ5gEOYUYoR4E/yfHiWASLsBiDxWdImOY4DjAKQUKe4EjgZciCdHxnDi56dYzhDS2y6SSW2aRMZRzOJFgs0097Y71xUO/dFk5KwGs3
tD38EQBNW+2thl77fe9g27rBK+dBVVUNuun8AQ5G2wpqYy3stNO92ULbBdWueta7Rjv/bL7q4cTgTetOnYDh0GycajQ0KrB/VnavwbhKfzFud5
zQAP91Lnz/21/4DcH4cRE=""",
    1: """eNpVUcFu2zAMJcNygiEYnmEURhEESWYUnZE1WNvLDkHuBdpLe9op0GI5FSDLhq0My2477Ff2B/uu/cKUbDuMkCjxCeLjIx8ffj3R48P90+3t8m
b5AfBOIkdxiiSJKWZOUkFZJM7zC7q/jrAU8u77WAbLZJIVwWeZZPoY0TeMRJ4nox+jKY8LwSkCwHGrujZObxrVrd5W79/Nqptydr2e/buvgVjG
ScqTwDblOdF5zkWGSBQqEJPpvCDmS2Qh+Ap5sSC6KrksVG/8y7JWg2+Uf1m51uk1FNY4ZXdL43WvfNtv/KHTq071ylpt1yDHnM6RQ2rC0ejsJ+
NrFBSANFRPMg9wCDNCOQr8SY4XxyJYhMUYLD5DwjTHcYBRCBLyBEcCL0MWpOM7c3DRq2MMb2iRTSexzCZlKuNwJsFimX7aG+uNg3rvtnBSAl67
oe3hjwBo2mpvNfTa73sH29YNXjkPqqpq0E3nD3Aw2lZQG2thp53uzRbaLqh21bPeNdr5Z/NVDycGb1p36gQMh2bjVKOhUYH9s7J7DcZV+otxu+
OEBvivc+H73/7Cb+++cSc=""",
    2: """eNpVUc2K2zAQnsl4KowwrjGLWUJIUrNswzahu3vpIeS+sHvZPfUU1FjOCmQ52EppeuuhT1LoK/QJ+jx9hSppe+gH+vQz0sz3jR7ufz3yw/3d48
3N4nrxDvBWIsdJhiSJKWFOM0F5LM6Kc7qbxzgT8vbrUAbkMs3LwHkumd7H9AVjURTp4PtgzMNScIYAcByqro3T60btlq+rt28m1fVsMl9N/q1X
QCyTNONRqDbmKdFZwWWOSBQUiNF4WhLzBbIQfIl8dUV0OeNZqTrjnxe16n2j/PPStU6voLTGKbtdGK875dtu7Q87vdypTlmr7QrkkLMpckhNOB
hEPxlfooh+UDjKgv7oG8kihARhTigHQUNa4PlRCItoGIgxIImQMCtwGAIoRDQnIU+BWOBFyIV0vMEcKH5x3MMrusrHo0Tmo1kmkzCnAYnMPuyN
9cZBvXcbODkCr13fdvDHCDRttbcaOu33nYNN63qvnAdVVTXoZucPcDDaVlAba2Grne7MBtpdcO+qJ71ttPNP5rPuTxW8ad2pI9AfmrVTjYZGhe
ofld1rMK7Sn4zbHn+qh/86GJ7/7TP8Bk0Rcus=""",
    3: """eNpVUc1qGzEQnvHsVCxi2S5LWIIxtruE1KRxm+TSg/E9kFySU09G9WodgVZrduVS99ZDX6XQh+gT9GH6CpWd9tABffoZab5vPt3f/X4Q93e3D9
fX86v5e8AbiRwnGZIkpoQ5zQTlsTgpTun2MsaZkDffhjJELtO8DJjnkulDTF8xFkWRDr4PxjwsBWcIAIeh6to4vWrUdvG6evdmUl3NJpfLyb/1
EohlkmY8CmxjnhKdFFzmiERBgRiNpyUxnyELwefIFxdE5zOelaoz/mleq943yj8tXOv0EkprnLKbufG6U77tVn6/1Yut6pS12i5BDjmbIofShI
NB9IvxJYroJ4WjLOiPfpAsQgoEYU4oB0FEWuDpQQmLaBSAMQQkERJmBQ5DBoWI3pKQz5lY4Fkoh3S4whwgfnHYwyu6yMejROajWSaTMKchEpl9
3BnrjYN659ZwbAq8dn3bwXMv0LTVzmrotN91Dtat671yHlRV1aCbrd/D3mhbQW2shY12ujNraLfBAFc96k2jnX80X3R/ZPCmdUdToN83K6caDY
0K7J+U3WkwrtKfjdscPquH/0wMz/9aDX8A9ItzAw==""",
    4: """eNpVUcGK2zAQncl4KowwrjGLCSEkqVm2Id3Q3VLoIeS+sHvZPfUU1FjOCmw52EppetvDfkdv/YF+Qb+ov1A5bQ8d0JP0GM28N7q7/XUf3t3e3F
9fL6+WHwDfS+QwSlIkSUwRc5wISkNxlg3p5jLEuZDvnkfSRyrjNPeYppLpY0hPGIosiwffBxMe5YITBIB+qbI0Vm9qtV+9Lt6+mRZX8+nlevrv
vAZiGcUJj323Cc+IzjLOU0Qir0CMJ7OcmM+RheAL5MWC6GLO81y1xj0uS9W5WrnHlW2sXkNeGauq3dI43SrXtBt33OvVXrWqqnS1BjniZIbsSx
MOBsFPxpcogh/kqcTrD76RzIhBEKaEcuA1xBkOeyEsgqEHRoQoQMIkw5HnUYhgQUL2fCjw3FdC6hOYPYQv+ju8okU6GUcyHc8TGfk99hHJ5NPB
VM5YKA92Cyc/4LTtmhb+2IC6KQ6Vhla7Q2th29jOKetAFUUJut67IxyNrgooTVXBTlvdmi00e+/dFg96V2vrHsxX3Z06ONPY0zygO9Ybq2oNtf
LdP6vqoMHYQn8xdtf/Uwf/zc8//ztl+A0VR3Lx""",
    5: """eNo1T8FKHEEQrZqasm2aZhiGsIRFXNlDEkzWrBLwsOzBgyAoiAfBk3R2erShp2eZ7T3s0YPfkY/IJ/gNfoe/YG8kD6qoejwe711dvt2oq8uLm+
PjyXRyCvhLIUtdVkgDYjFk3h8L+iLF4dEJTT9JLMXJs1JFVTHdSXpCKQaDItvJkoxLBIDtmKZxwd63Zjn7Wv/8Pqqn30Y/5qP/9xw087BCRGZG
rqqx6V18nDRmFVsTH2ehC3YOY++C8Q8TF21vYtffx83SzpamN95bPwc15PIAmRIwy/IXxmtEkf+lxF0jifwPqVQCxFkiUGVIVNyiIOLULP+cFi
OCzpGwvEWZeBQiPyShtrw8R5WckLYC5rTkzvaH1z1VKq1VVSRoVf5eOx9dgGYdFvCvCEQbVl0PH/mh7eq1t9DbuO4DLLqwiiZEMHXdgG2XcQMb
Z30NjfMeHmywvVtAa5Ll7pFOUTQKRImkiBTqItUYvwPL30+X""",
    6: """eNo1j7FKA0EQhmecW9djWY7jiiBBEkmhokajiBYhhYUgKEiKgJWsub1kYW8vXDZFSgufw4fwEXwGH8HaV3BPcYph5mf4/2/u777H8v7udnx21h
/0rwAvBLJYphlSixhvM9bpcdqL+eHJOR1nHBP+KkSSZYweY3pBzlutja+OKgrj9FOpFsP9/PSomw8Ousej7v88AslYO0NERoQsTXuqNn7eL9TS
l8rPh65yegQ9a5yys77xula+qp/8eqGHC1Ura7UdgWizdLexIIo+GD4g8ug9+NEDEo/eSARk4NdBQLGBRMkEORELf0TboTFEkBESphOMgx7go0
PiotHjGxTBCak5YCy0eLPZ4XNHpEJKkSWhpEifV8Z646BYuSn8fgFeu2VVwx88lFW+shpq7Ve1g2nlll45DyrPC9Dlwq9hbbTNoTDWwkw7XZsp
lCpYbl3KgCJDKvKQzwNjgkI2rNT5AWtUT/M=""",
}


def profile(*durations, name="f"):
    lines = [{"schema_version": 15, "record_type": "schema", "format": "ireeperf-jsonl"}]
    for i, ns in enumerate(durations):
        start = 1000000 * (i + 1)
        lines.append({"record_type": "host_execution_event", "event_id": i + 1, "submission_id": i + 1, "op": "dispatch",
                      "key": name, "workgroup_count": [4, 1, 1], "start_host_time_ns": start,
                      "end_host_time_ns": start + ns, "valid": True, "tile_count": 4, "tile_duration_sum_ns": ns})
    return "".join(json.dumps(line) + "\n" for line in lines)


def mlir_opt():
    found = shutil.which("mlir-opt-22") or shutil.which("mlir-opt")
    if not found:
        raise unittest.SkipTest("mlir-opt is not installed")
    return found


class Case(harness.TestCase):
    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        return self.path(name)


class Models(Case):
    def test_table_has_the_longest_of_many_ops(self):
        sizes = [1 + (i * 389) % 1201 for i in range(1200)]  # 389 and 1201 are prime: all differ
        ops = "".join(f"  %{i} = tosa.matmul %x{i}, %y : (tensor<1x{n}x64xi8>, tensor<1x64x64xi8>) -> tensor<1x{n}x64xi32>\n"
                      for i, n in enumerate(sizes))
        arguments = "".join(f", %x{i}: tensor<1x{n}x64xi8>" for i, n in enumerate(sizes))
        model = self.write("m.mlir", f"func.func @main(%y: tensor<1x64x64xi8>{arguments}) {{\n{ops}  return\n}}\n")
        rows = self.opscope_json("estimate", model, "--target", "cpu", *ONE_CORE)["rows"]
        self.assertEqual(len(rows), 1200)
        longest = sorted((row["cycles"] for row in rows), reverse=True)
        self.assertGreater(len(set(longest)), 1000)
        for options, shown in (((), 1000), (("--top", "7"), 7), (("--top", "1100"), 1100)):
            done = self.opscope("estimate", model, "--target", "cpu", *ONE_CORE, *options)
            self.assert_status(done)
            cycles = [int(line.split()[1].replace(",", "")) for line in done.stdout.splitlines() if line.startswith("tosa.matmul ")]
            self.assertEqual(cycles, longest[:shown])
            self.assertEqual("The 1000 ops of 1200 that take longest" in done.stdout, not options)

    def test_message_names_each_op_without_a_cost(self):
        model = self.write("m.mlir", """func.func @main(%x: tensor<?x8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
  %0 = tosa.abs %x : (tensor<?x8xf32>) -> tensor<?x8xf32>
  %1 = "my.thing"(%y) : (tensor<8xf32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}
""")
        text = json.dumps(self.opscope_json("estimate", model, "--target", "cpu", "--json"))
        self.assertIn("tosa.abs", text)
        self.assertIn("--dim", text)
        self.assertIn("my.thing", text)
        text = json.dumps(self.opscope_json("estimate", model, "--target", "cpu", "--dim", "4", "--json"))
        self.assertNotIn("--dim gives it a value", text)

    def test_every_reference_input_is_read_and_estimated_or_explained(self):
        folder = harness.reference_data("torq", "inputs")
        files = sorted(glob.glob(os.path.join(folder, "*", "*.mlir")))
        self.assertEqual(len(files), 300)
        costed = explained = nothing = 0
        for file in files:
            for target in ("sl2610", "cpu"):
                done = self.opscope("estimate", file, "--target", target, "--json")
                self.assertEqual(done.status, 0, f"{file}: {done.stderr}")
                whole = json.loads(done.stdout)
                ops = whole["rows"]
                notes = [note for note in map(json.dumps, whole["notes"]) if "no cost" in note or "--dim" in note]
                if target == "sl2610":
                    costed += bool(ops) and not notes
                    explained += bool(notes)
                    nothing += not ops and not notes
        print(f"estimates of {len(files)} models: {costed} costed, {explained} explained, {nothing} without work")
        self.assertEqual((costed, explained, nothing), (288, 4, 8))

    def test_ops_agree_with_mlir_opt(self):
        folder, opt = harness.reference_data("torq", "inputs"), mlir_opt()
        files = sorted(glob.glob(os.path.join(folder, "*", "*.mlir")))
        agree = ops = unread = 0
        for i, file in enumerate(files):
            done = subprocess.run([opt, "--allow-unregistered-dialect", "--mlir-print-op-generic", file], capture_output=True, text=True, check=False)
            if done.returncode != 0:
                unread += 1
                continue
            theirs = collections.Counter(GENERIC_OP.findall(done.stdout))
            generic = self.write(f"{i}.mlir", done.stdout)
            listed = self.run_command([harness.program("mlir_ops"), generic, file]).stdout
            ours = [collections.Counter({name: int(count) for name, count in re.findall(r"^  (\S+)\t(\d+)$", part, re.M)})
                    for part in re.split(r"^\S.*$", listed, flags=re.M)[1:]]
            self.assertEqual(ours[0], theirs, file)
            # The generic form spells out the bodies of named linalg ops, and nothing else that the file does not hold.
            plain = collections.Counter({self.full_name(name): n for name, n in ours[1].items()})
            beyond = theirs - plain
            self.assertFalse(plain - theirs, file)
            self.assertTrue(all(name == "linalg.yield" or name.startswith("arith.") for name in beyond), f"{file}: {beyond}")
            agree += 1
            ops += sum(theirs.values())
        print(f"ops of {agree} files agree with {os.path.basename(opt)}: {ops} ops; {unread} files it does not read")
        self.assertGreaterEqual(agree, 110)  # version 19 does not know the spelling of half of them

    @staticmethod
    def full_name(name):
        return {"module": "builtin.module", "return": "func.return", "call": "func.call"}.get(name, name)


class Bytecode(Case):
    def amounts(self, name, data):
        with open(self.path(name), "wb") as file:
            file.write(data)
        return [{key: value for key, value in row.items() if key != "location"}
                for row in self.opscope_json("estimate", name, "--target", "cpu")["rows"]]

    def test_every_version_is_read(self):
        want = self.amounts("text.mlir", BYTECODE_MODEL.encode())
        self.assertEqual([(row["op"], row["read_bytes"], row["written_bytes"]) for row in want], [("linalg.generic", 128, 128)])
        for version, data in BYTECODE.items():
            data = zlib.decompress(base64.b64decode(data))
            self.assertEqual((data[:4], data[4] >> 1), (b"ML\xefR", version))
            self.assertEqual(self.amounts(f"v{version}.mlirbc", data), want, version)
        newer = bytearray(zlib.decompress(base64.b64decode(BYTECODE[6])))
        newer[4] = 9 << 1 | 1
        with open(self.path("newer.mlirbc"), "wb") as file:
            file.write(newer)
        done = self.opscope("estimate", "newer.mlirbc")
        self.assert_status(done, 2)
        self.assertIn("bytecode of version 9; this reads up to 6", done.stderr)

    def test_every_version_of_an_installed_mlir_opt(self):
        program = mlir_opt()
        self.write("m.mlir", BYTECODE_MODEL)
        want = self.amounts("text.mlir", BYTECODE_MODEL.encode())
        for version in range(7):
            done = self.run_command([program, "m.mlir", "--emit-bytecode", f"--emit-bytecode-version={version}", "-o", "x.mlirbc"])
            self.assert_status(done)
            with open(self.path("x.mlirbc"), "rb") as file:
                self.assertEqual(self.amounts("y.mlirbc", file.read()), want, version)


class Iree(Case):
    def test_profile_becomes_a_trace(self):
        source = self.write("p.jsonl", profile(500, 300, 700))
        self.assert_status(self.opscope("import", "iree", source, "-o", self.path("t.opscope")))
        rows = self.opscope_json("ops", self.path("t.opscope"), "--json")["rows"]
        self.assertEqual([row["name"] for row in rows], ["f", "f", "f"])
        done = self.opscope("import", "iree", self.write("x.jsonl", "{}\n"), "-o", self.path("u.opscope"))
        self.assertNotEqual(done.status, 0)
        self.assertIn("x.jsonl", done.stderr)

    def test_bundle_and_export_hold_the_same(self):
        for model in ("mlp", "cnn", "int8", "block", "stream", "mlp-tiled"):
            tables = []
            for name in ("local-task.ireeprof", "local-task.jsonl"):
                source = harness.reference_data("iree", model, name)
                trace = self.path(model + name + ".opscope")
                self.assert_status(self.opscope("import", "iree", source, "-o", trace))
                rows = self.opscope_json("ops", trace, "--json")["rows"]
                tables.append([{key: value for key, value in row.items() if key != "program"} for row in rows])
            self.assertTrue(tables[0])
            self.assertEqual(tables[0], tables[1], model)

    def test_dispatches_of_a_dump_are_those_of_its_profile(self):
        for model in MODELS:
            flow = harness.reference_data("iree", model, "phases", model + ".6.flow.mlir")
            measured = harness.reference_data("iree", model, "local-sync.jsonl")
            whole = self.opscope_json("calibrate", flow, measured, "--dim", "48", *ONE_CORE, "--json")
            self.assertFalse([note for note in whole["notes"] if "not measured" in note], model)

    def test_amounts_of_dispatches(self):
        """MACs and bytes of every dispatch of the reference models, as counted by another program."""
        checked = 0
        for model in ("mlp", "cnn", "int8", "block", "stream", "tiny"):
            flow = harness.reference_data("iree", model, "phases", model + ".6.flow.mlir")
            with open(harness.reference_data("iree", model, "dispatches.tsv"), encoding="utf-8") as file:
                expected = [line.rstrip("\n").split("\t") for line in file][1:]
            csv = self.path(model + ".csv")
            self.assert_status(self.opscope("estimate", flow, "--target", "cpu", "--json=" + csv))
            with open(csv, encoding="utf-8") as file:
                rows = json.load(file)["rows"]
            self.assertEqual([(row["macs"] or 0, row["read_bytes"] or 0, row["written_bytes"] or 0) for row in rows],
                             [(int(want[5]), int(want[8]), int(want[9])) for want in expected], model)
            checked += len(rows)
        print(f"amounts of {checked} dispatches agree")


class Comparison(Case):
    """opscope diff of a model that is not scheduled and a device profile."""

    def test_dispatches_with_their_shortest_runs(self):
        model = self.write("m.mlir", FLOW.format(n=1 << 20))
        run = self.write("r.jsonl", profile(9000000, 1 << 20, 2 << 20))
        found = self.opscope_json("diff", model, run, *ONE_CORE, "--json")
        row, = found["rows"]
        # 8 bytes per element at 20 GB/s are 0.4 ns, in whole cycles; measured is 1 ns per element
        self.assertAlmostEqual(row["estimate_ns"], 0.4 * (1 << 20), delta=1)
        self.assertEqual([row[key] for key in ("dispatch", "measured_ns", "runs", "least_ns", "most_ns", "type")],
                         ["f", 1 << 20, 3, 1 << 20, 9000000, "ELT"])
        self.assertAlmostEqual(row["factor"], 2.5, 2)
        self.assertAlmostEqual(found["bias_percent"], -60, 1)
        self.assertEqual([(kind["type"], kind["count"]) for kind in found["types"]], [("ELT", 1)])
        self.assertEqual(len(self.opscope("diff", model, run, "--csv").stdout.splitlines()), 2)
        slower = self.opscope_json("diff", model, run, "--target-option", "core_gb_s=2", *ONE_CORE, "--json")
        self.assertAlmostEqual(slower["rows"][0]["factor"], 4, 2)

    def test_page(self):
        model = self.write("m.mlir", FLOW.format(n=1 << 20))
        run = self.write("r.jsonl", profile(9000000, 1 << 20, 2 << 20))
        page = pages.of(self, "diff", model, run, *ONE_CORE)
        self.assertEqual(page.json("compare")["estimate"]["rows"], self.opscope_json("diff", model, run, *ONE_CORE, "--json")["rows"])
        self.assertEqual((page.json("trace")["name"], page.json("1/trace")["name"]), ("m.mlir", "r.jsonl"))
        self.assertGreater(page.json("1/trace")["runs"], 0)

    def test_dispatches_of_one_name_take_turns(self):
        call = "    %1 = flow.dispatch @e::@f(%0) : (tensor<4096xf32>) -> tensor<4096xf32>\n"
        text = FLOW.format(n=4096)
        self.assertIn(call, text)
        model = self.write("m.mlir", text.replace(call, call + call.replace("%1", "%9").replace("%0", "%1")).replace(
            "export %1", "export %9"))
        found = self.opscope_json("diff", model, self.write("r.jsonl", profile(500, 900, 600, 800)), "--json")
        self.assertEqual([(row["least_ns"], row["most_ns"], row["runs"]) for row in found["rows"]],
                         [(500, 600, 2), (800, 900, 2)])
        found = self.opscope_json("diff", model, self.write("o.jsonl", profile(500, 900, 600)), "--json")
        self.assertEqual([(row["least_ns"], row["most_ns"], row["runs"]) for row in found["rows"]], [(500, 900, 3)] * 2)

    def test_annotated_ops(self):
        model = self.write("m.mlir", FLOW.format(n=1 << 20))
        run = self.write("r.jsonl", profile(3 << 20, 1 << 20, 2 << 20))
        trace, table = self.path("a.opscope"), self.path("a.csv")
        found = self.opscope_json("annotate", model, run, table, "-o", trace, *ONE_CORE)
        row, = found["rows"]
        self.assertEqual([row[key] for key in ("dispatch", "op", "class", "runs", "least_ns", "mean_ns", "most_ns")],
                         ["f", "linalg.generic", "ELT", 3, 1 << 20, 2 << 20, 3 << 20])
        self.assertEqual([row[key] for key in ("flops", "moved_bytes", "gflop_s", "gb_s")], [1 << 20, 8 << 20, 1, 8])
        with open(table, encoding="utf-8") as file:
            self.assertEqual(len(file.read().splitlines()), 2)
        # The trace says what each run did: a report has rooflines without any tensor.
        rows = self.opscope_json("report", trace)["rows"]
        self.assertEqual([row["op"] for row in rows], ["f"] * 3)
        self.assertAlmostEqual(rows[1]["dram_gb_s"], 8, 2)
        self.assertAlmostEqual(rows[1]["cache_share_percent"], 100 * 8 / 100, 1)  # 8 MB: in the target's cache
        self.assertEqual([(row["input_0_type"], row["model"], row["category"]) for row in rows], [("FLOAT32", "elementwise", "Compute")] * 3)
        folder = self.path("phases")
        os.mkdir(folder)
        done = self.opscope("annotate", folder, run)
        self.assert_status(done, 2)
        self.assertIn("has no file *.stream.mlir", done.stderr)

    def test_types_are_those_of_the_model(self):
        """Of an estimate's trace and of an annotated run; an index of 64 bits makes no float wider."""
        for name, wanted in {"f16": "FLOAT16", "bf16": "BFLOAT16", "f32": "FLOAT32", "i8": "INT8", "i16": "INT16", "i32": "INT32"}.items():
            model = self.write("t.mlir", f"""func.func @main(%a: tensor<64x64x{name}>, %i: tensor<1x64xi64>) -> tensor<64x64x{name}> {{
  %0 = tosa.add %a, %a : (tensor<64x64x{name}>, tensor<64x64x{name}>) -> tensor<64x64x{name}>
  return %0 : tensor<64x64x{name}>
}}
""")
            self.opscope_json("estimate", model, "-o", self.path("t.opscope"))
            row, = self.opscope_json("report", "t.opscope")["rows"]
            self.assertEqual(row["input_0_type"], wanted)
            model = self.write("m.mlir", FLOW.format(n=1 << 10).replace("f32", name))
            self.opscope_json("annotate", model, self.write("r.jsonl", profile(1 << 20)), self.path("a.csv"), "-o", self.path("a.opscope"), *ONE_CORE)
            self.assertEqual({row["input_0_type"] for row in self.opscope_json("report", "a.opscope")["rows"]}, {wanted})

    def test_report_of_an_estimate_agrees_with_it(self):
        """Times, shares and the whole, of ops that are cut into tiles for two engines, and of one that only moves data."""
        model = self.write("p.mlir", """func.func @main(%x: tensor<1x112x112x64xi8>) -> tensor<1x56x56x64xi8> {
  %s = tosa.const_shape {values = dense<[0, 0, 0, 1, 0, 1, 0, 0]> : tensor<8xindex>} : () -> !tosa.shape<8>
  %z = "tosa.const"() {values = dense<-128> : tensor<1xi8>} : () -> tensor<1xi8>
  %0 = tosa.pad %x, %s, %z : (tensor<1x112x112x64xi8>, !tosa.shape<8>, tensor<1xi8>) -> tensor<1x113x113x64xi8>
  %1 = tosa.max_pool2d %0 {kernel = array<i64: 3, 3>, pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 2, 2>} :
    (tensor<1x113x113x64xi8>) -> tensor<1x56x56x64xi8>
  return %1 : tensor<1x56x56x64xi8>
}
""")
        for target in ("sl2610", "cpu"):
            estimate = self.opscope_json("estimate", model, "--target", target, "-o", self.path("p.opscope"))
            report = self.opscope_json("report", "p.opscope", "--machine", target)
            self.assertEqual([row["op"] for row in report["rows"]], [row["op"] for row in estimate["rows"]])
            for row, wanted in zip(report["rows"], estimate["rows"]):
                self.assertAlmostEqual(row["time_us"] * 1000, wanted["time_ns"], delta=3)
                self.assertLessEqual(max(row[key] or 0 for key in ops_csv.SHARES), 105, row)
            self.assertAlmostEqual(sum(row["total_percent"] for row in report["rows"]), 100, delta=0.1)
            for row, wanted in zip(self.opscope_json("ops", "p.opscope")["rows"], estimate["rows"]):
                self.assertAlmostEqual(row["device_time_ns"], wanted["time_ns"], delta=3)

    def test_rows_with_locations(self):
        """A runtime profile of Torq: what one run has at the places of an op's group is its run."""
        model = self.write("m.mlir", """module {
  func.func @main(%x: tensor<1x64x64xi8>, %w: tensor<1x64x64xi8>, %z: tensor<1xi8>) -> tensor<1x64x64xi32> {
    %0 = tosa.matmul %x, %w, %z, %z : (tensor<1x64x64xi8>, tensor<1x64x64xi8>, tensor<1xi8>, tensor<1xi8>) -> tensor<1x64x64xi32>
    %1 = tosa.negate %0 : (tensor<1x64x64xi32>) -> tensor<1x64x64xi32>
    %2 = tosa.reduce_sum %1 {axis = 2 : i32} : (tensor<1x64x64xi32>) -> tensor<1x64x1xi32>
    return %1 : tensor<1x64x64xi32>
  }
}
""")
        head = "actionIndex, elapsed_time(us), timestamp(us), event, location\n"
        rows = ['0,9,{0}0,tosa.matmul,loc("m.mlir":3:10)', '1,8,{0}1,tosa.matmul,loc("m.mlir":3:10)',
                '2,{0},{0}2,tosa.negate,loc(fused["dir/m.mlir":4:10, "m.mlir":4:10])', '3,5,{0}3,x,loc("other.mlir":4:10)']
        text = head + "".join(row.format(i) + "\n" for i in (4, 2) for row in rows)
        run = self.write("r.csv", text)
        found = self.opscope_json("diff", model, run)
        self.assertEqual([(row["op"], row["runs"], row["least_ns"], row["most_ns"]) for row in found["rows"]],
                         [("tosa.matmul", 2, 19000, 21000)])
        self.assertIn("2 of 8 programs of the run are not in the model", " ".join(found["notes"]))
        table = self.opscope_json("annotate", model, run)
        self.assertEqual([(row["op"], row["mean_ns"], row["macs"]) for row in table["rows"]], [("tosa.matmul", 20000, 64 ** 3)])
        self.assertIn("1 of 2 ops of the model are not in the profile", table["notes"])
        done = self.opscope("diff", model, self.write("o.csv", head + '0,1,2,x,loc("o.mlir":1:1)\n'))
        self.assert_status(done, 2)
        self.assertIn("no place in the source", done.stderr)

    def test_what_does_not_fit_is_reported(self):
        model = self.write("m.mlir", FLOW.format(n=4096))
        done = self.opscope("diff", model, self.write("g.jsonl", profile(5, name="g")))
        self.assert_status(done, 2)
        self.assertIn("they have no dispatch in common", done.stderr)
        both = self.write("b.jsonl", profile(500) + profile(700, name="g").split("\n", 1)[1])
        self.assertIn("1 of 2 dispatches of the run are not in the model",
                      " ".join(self.opscope_json("diff", model, both, "--json")["notes"]))
        dynamic = self.write("d.mlir", FLOW.format(n="?"))
        done = self.opscope("diff", dynamic, self.write("f.jsonl", profile(500)))
        self.assert_status(done)
        self.assertIn("--dim gives it a value", done.stdout)
        self.assertNotIn("nan", done.stdout)

    def test_reference_models(self):
        for model in MODELS:
            flow = harness.reference_data("iree", model, "phases", model + ".6.flow.mlir")
            measured = harness.reference_data("iree", model, "local-sync.jsonl")
            found = self.opscope_json("diff", flow, measured, "--dim", "48", *ONE_CORE, "--json")
            least = [(row["dispatch"], row["measured_ns"]) for row in found["rows"]]
            if model == "loop":  # which has no list of its dispatches
                self.assertEqual([row["runs"] for row in found["rows"]], [30])
            else:
                with open(harness.reference_data("iree", model, "dispatches.tsv"), encoding="utf-8") as file:
                    expected = [line.rstrip("\n").split("\t") for line in file][1:]
                self.assertEqual(least, [(want[1], float(want[10])) for want in expected], model)
            print(f"{model}: {len(least)} dispatches, estimate {found['estimate_ns'] / 1000:.1f} us, measured "
                  f"{found['measured_ns'] / 1000:.1f} us, bias {found['bias_percent']:+.1f} %, factor "
                  f"{found['median_factor']:.2f}, p90 {found['p90_factor']:.2f}")


class Calibration(Case):
    def test_a_fitted_target_meets_the_measurement(self):
        pairs = []
        for i, elements in enumerate((1 << 18, 1 << 19, 1 << 20)):
            pairs += [self.write(f"{i}.mlir", FLOW.format(n=elements)), self.write(f"{i}.jsonl", profile(9000000, elements))]
        target = self.path("mine.json")
        whole = self.opscope_json("calibrate", *pairs, *ONE_CORE, "--json", "-o", target)
        row = {row["class"]: row for row in whole["rows"]}["ELT"]
        self.assertEqual(row["sites"], 3)
        # 8 bytes per element at 20 GB/s are 0.4 ns, the shortest run takes 1: 2.5 times as long. Two models are too
        # few to fit the third by, so `after` is as before.
        self.assertAlmostEqual(row["before_median"], 2.5, 2)
        self.assertAlmostEqual(row["after_median"], 2.5, 2)
        self.assertIn("mine", self.opscope("machine", "show", target).stdout)
        whole = self.opscope_json("calibrate", *pairs, "--target", target, "--json")
        self.assertAlmostEqual(whole["rows"][-1]["before_median"], 1, 2)
        self.assertIn("uncalibrated", json.dumps(self.opscope_json("estimate", pairs[0], "--target", "cpu", "--json")))
        self.assertNotIn("uncalibrated", json.dumps(self.opscope_json("estimate", pairs[0], "--target", target, "--json")))

    def fit(self, kinds, *options):
        """Models of each kind of number, as many as given, that take so many times as long as they are estimated to."""
        pairs = []
        for kind, (count, factor) in kinds.items():
            for i in range(count):
                model = self.write(f"{kind}.{i}.mlir", FLOW.format(n=1 << (18 + i)).replace("f32", kind))
                estimate_ns = self.opscope_json("estimate", model, "--target", "cpu", *ONE_CORE)["rows"][0]["time_ns"]
                pairs += [model, self.write(f"{kind}.{i}.jsonl", profile(round(factor * estimate_ns)))]
        return self.opscope("calibrate", *pairs, *ONE_CORE, "--json", "-o", self.path("mine.json"), *options)

    def test_kinds_of_numbers_are_fitted_apart(self):
        done = self.fit({"f32": (3, 2), "f16": (3, 8), "bf16": (3, 4), "i32": (2, 5)})
        self.assert_status(done)
        fits = {row["numbers"]: row for row in done.json()["fits"]}
        for numbers, factor in (("float", 2), ("f16", 8), ("bf16", 4)):
            self.assertAlmostEqual(fits[numbers]["factor"], factor, 1)
            self.assertIsNone(fits[numbers]["not_fitted"])
        self.assertEqual((fits["int"]["sites"], fits["int"]["factor"], fits["int"]["not_fitted"]), (2, None, "3 sites are needed"))
        with open(self.path("mine.json"), encoding="utf-8") as file:
            figures = json.load(file)["estimate"]["figures"]
        self.assertAlmostEqual(figures["scale_elementwise_f16"]["value"], 8, 1)
        self.assertNotIn("scale_elementwise_int", figures)

    def test_a_measured_machine_is_a_start(self):
        start = self.path("start.json")
        self.assert_status(self.opscope("machine", "measure", "--time", "5ms", "--threads", "1", "--name", "start", "--save", start))
        done = self.fit({"f32": (3, 2)}, "--target", start)
        self.assert_status(done)
        self.assertEqual(done.json()["target"], "start")
        with open(start, encoding="utf-8") as file, open(self.path("mine.json"), encoding="utf-8") as fitted:
            before, after = (json.load(one)["estimate"]["figures"] for one in (file, fitted))
        self.assertEqual(after["macs_f32"], before["macs_f32"])
        self.assertNotEqual(after["scale_elementwise_float"]["value"], 1)

    def test_nothing_to_fit_with_is_said(self):
        done = self.fit({"f32": (2, 2), "f16": (1, 8)})
        self.assert_status(done, 1)
        self.assertIn("nothing was fitted: of no class of op and kind of number there are 3 sites; not written: ", done.stderr)
        self.assertEqual([row["not_fitted"] for row in done.json()["fits"]], ["3 sites are needed"] * 2)
        self.assertFalse(os.path.exists(self.path("mine.json")))

    def test_wrong_pairs_are_refused(self):
        model = self.write("m.mlir", FLOW.format(n=4096))
        done = self.opscope("calibrate", model)
        self.assertNotEqual(done.status, 0)
        done = self.opscope("calibrate", model, self.write("p.jsonl", profile(5, name="g")))
        self.assertNotEqual(done.status, 0)
        self.assertIn("nothing was both estimated and measured", done.stderr)

    def test_reference_models_on_one_core(self):
        pairs = []
        for model in MODELS:
            pairs.append(harness.reference_data("iree", model, "phases", model + ".6.flow.mlir"))
            pairs.append(harness.reference_data("iree", model, "local-sync.jsonl"))
        whole = self.opscope_json("calibrate", *pairs, "--dim", "48", *ONE_CORE, "--json")
        row = whole["rows"][-1]
        print(f"{row['sites']} dispatches of {whole['models']} models: off by {row['before_median']:.2f} before, "
              f"{row['after_median']:.2f} after, each model left out")
        self.assertGreaterEqual(row["sites"], 60)
        self.assertLessEqual(row["after_median"], min(1.3, row["before_median"]))
        self.assertLessEqual(row["after_p90"], 1.05 * row["before_p90"])


if __name__ == "__main__":
    unittest.main()
