# SPDX-License-Identifier: Apache-2.0
"""`opscope machine measure`: a file that reports can use, of the machine that the test runs on."""

import json
import os
import re
import stat
import unittest

import harness


class DataSheets(harness.TestCase):
    def test_each_figure_names_its_page(self):
        """Of the GPUs; what is of no data sheet is a mark of the report, or a mode that the chip does not have."""
        page = r"\b[\w-]+(\.[\w-]+)+/|\bfpsbench\.com|\bhmc-tech\.com"
        for name in ("a100", "h100", "h200", "b200", "l4", "rtx4090"):
            shown = harness.opscope_json("machine", "show", name)
            figures = {row["figure"]: row for row in shown["rows"]}
            for key in ("worker_cores", "dram_gb_s", "tflops_per_core_lofi", "tflops_per_core_hifi2", "tflops_per_core_hifi4",
                        "vector_tflops_per_core", "fp64_tflops_per_core"):
                self.assertRegex(figures[key]["source"], page, (name, key))
            for key in ("l2_bytes", "l2_gb_s") if name in ("a100", "h100", "h200") else ():
                self.assertRegex(figures[key]["source"], page, (name, key))
                self.assertGreater(figures[key]["value"], figures["dram_gb_s"]["value"])
            self.assertLessEqual(figures["fp64_tflops_per_core"]["value"], figures["tflops_per_core_hifi4"]["value"], name)
            text = re.search(r"([\d.]+) TFLOP/s", figures["vector_tflops_per_core"]["source"]).group(1)
            cores = figures["worker_cores"]["value"]
            self.assertAlmostEqual(figures["vector_tflops_per_core"]["value"] * cores, float(text), places=6)


class Measure(harness.TestCase):
    def test_cpu(self):
        path = self.path("mine.json")
        done = self.opscope("machine", "measure", "cpu", "--time", "20ms", "--threads", "2", "--name", "mine", "--save", path)
        self.assert_status(done)
        self.assertIn("wrote " + path, done.stderr)
        shown = harness.opscope_json("machine", "show", path)
        figures = {row["figure"]: row for row in shown["rows"]}
        self.assertEqual(shown["name"], "mine")
        self.assertEqual(figures["worker_cores"]["value"], 2)
        for key in ("dram_gb_s", "tflops_per_core_lofi", "tflops_per_core_hifi2", "tflops_per_core_hifi3",
                    "tflops_per_core_hifi4", "vector_tflops_per_core", "fp64_tflops_per_core"):
            self.assertGreater(figures[key]["value"], 0, key)
            self.assertTrue(figures[key]["source"].startswith("measured 20"), figures[key])
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            flags = set(re.search(r"flags\s*:(.*)|$", file.read()).group(0).split())
        self.assertIn("fp16_tflops_per_core", figures)
        for names, key, word in (({"avx512_bf16", "amx_bf16"}, "tflops_per_core_hifi2", "BF16"),
                                 ({"avx512_vnni", "amx_int8"}, "tflops_per_core_lofi", "INT8"),
                                 ({"avx512_fp16"}, "fp16_tflops_per_core", "FP16")):
            self.assertEqual(bool(names & flags), word in figures[key]["source"], figures[key])
        for level in ("l2", "l3"):  # a level is left out where it is no faster than what lies behind it
            self.assertEqual(f"{level}_bytes" in figures, f"{level}_gb_s" in figures)
            if f"{level}_gb_s" in figures:
                self.assertGreater(figures[f"{level}_gb_s"]["value"], figures["dram_gb_s"]["value"])
        # It is a target of estimates: rates are what was measured, by its clock.
        with open(path, encoding="utf-8") as file:
            target = {key: figure["value"] for key, figure in json.load(file)["estimate"]["figures"].items()}
        self.assertEqual(target["engines"], 2)
        self.assertAlmostEqual(target["macs_f32"] * 2 * target["clock_mhz"] * 1e6 / 1e12, figures["vector_tflops_per_core"]["value"], places=6)
        self.assertAlmostEqual(target["macs_f16"] * 2 * target["clock_mhz"] * 1e6 / 1e12, figures["fp16_tflops_per_core"]["value"], places=6)
        model = self.path("add.mlir")
        with open(model, "w", encoding="ascii") as file:
            file.write("func.func @main(%a: tensor<4096xf32>) -> tensor<4096xf32> {\n"
                       "  %0 = tosa.abs %a : (tensor<4096xf32>) -> tensor<4096xf32>\n  return %0 : tensor<4096xf32>\n}\n")
        self.assertGreater(harness.opscope_json("estimate", model, "--target", path)["time_ns"], 0)
        self.assertEqual(os.listdir(self.folder).count("mine.json.partial"), 0)
        # A device that is called what a file is called is measured against that, before anything else that is called so, too.
        named = self.path("made_up.json")
        os.rename(path, named)
        with open(named, encoding="utf-8") as file:
            text = file.read().replace('"mine"', '"made_up"')
        with open(named, "w", encoding="utf-8") as file:
            file.write(text)
        trace = self.path("t.opscope")
        self.assert_status(self.opscope("run", "-q", "-o", trace, "--", harness.program("op_machine"), "wormhole"))
        report = self.opscope("report", trace, env={"OPSCOPE_MACHINES": self.folder})
        self.assertIn(", measured, 2 cores", report.stdout)
        report = self.opscope("report", trace)
        self.assertIn("Wormhole", report.stdout)
        os.rename(named, path)
        listed = harness.opscope_json("machine", "list", env={"OPSCOPE_MACHINES": self.folder})
        self.assertIn("made_up", [row["name"] for row in listed["rows"]])

    def test_files_of_the_user_go_before_what_is_built_in(self):
        """Whatever the case of their names, and by their other names, which may be as long as those of devices."""
        device = "NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition"
        with open(os.path.join(harness.SOURCE, "machines", "cpu.json"), encoding="utf-8") as file:
            machine = json.load(file)
        for file, name, aliases, asked in (("a", "H200", [], "h200"), ("b", "mine", ["NVIDIA H200"], "nvidia_h200"),
                                           ("c", "long", [device], device)):
            os.mkdir(self.path(file))
            machine.update(name=name, title="of the user", aliases=aliases)
            own = os.path.join(self.path(file), "own.json")
            with open(own, "w", encoding="utf-8") as out:
                json.dump(machine, out)
            shown = harness.opscope_json("machine", "show", asked, env={"OPSCOPE_MACHINES": self.path(file)})
            self.assertEqual((shown["name"], shown["title"]), (name, "of the user"))
            trace = self.path(file + ".opscope")
            self.assert_status(self.opscope("run", "-q", "-o", trace, "--", harness.program("op_machine"), "wormhole"))
            for option in ("--machine", "--arch"):
                report = self.opscope("report", trace, option, own)
                self.assert_status(report)
                self.assertIn("Performance report: of the user", report.stdout)

    def test_a_file_that_is_no_machine_is_left_out(self):
        """Of a folder; one that is asked for is an error."""
        folder = self.path("machines")
        os.mkdir(folder)
        stray = os.path.join(folder, "notes.json")
        with open(stray, "w", encoding="utf-8") as file:
            file.write('{"some": "notes"}\n')
        env = {"OPSCOPE_MACHINES": folder}
        listed = self.opscope("machine", "list", "--json", env=env)
        self.assert_status(listed)
        self.assertIn(f"1 file in the folder of machines is no machine file, left out: {stray}: 'name' is missing", listed.stderr)
        self.assertIn("h200", [row["name"] for row in listed.json()["rows"]])
        trace = self.path("t.opscope")
        self.assert_status(self.opscope("run", "-q", "-o", trace, "--", harness.program("op_machine"), "wormhole"))
        report = self.opscope("report", trace, env=env)
        self.assert_status(report)
        self.assertIn("Wormhole", report.stdout)
        self.assertIn("left out: " + stray, report.stderr)
        self.assert_status(self.opscope("report", trace, "--machine", stray), 2)

    def test_names_are_not_cut(self):
        name = 64 * "x"
        done = self.opscope("machine", "measure", "--time", "5ms", "--name", name)
        self.assert_status(done, 2)
        self.assertIn("--name: the name has more than 63 bytes", done.stderr)
        with open(self.path("long.json"), "w", encoding="utf-8") as file:
            json.dump({"name": "mine", "aliases": [name], "figures": {}}, file)
        done = self.opscope("machine", "show", "./long.json")
        self.assert_status(done, 2)
        self.assertIn("has more than 63 bytes", done.stderr)

    def test_other_names_are_not_left_out(self):
        for aliases in ("NVIDIA H200", ["a", 5], [str(i) for i in range(13)]):
            with open(self.path("odd.json"), "w", encoding="utf-8") as file:
                json.dump({"name": "mine", "aliases": aliases, "figures": {}}, file)
            done = self.opscope("machine", "show", "./odd.json")
            self.assert_status(done, 2)
            self.assertIn("'aliases' is a list of up to 12 names", done.stderr)

    def test_nothing_is_divided_by_no_links_or_no_target(self):
        with open(os.path.join(harness.SOURCE, "machines", "h200.json"), encoding="utf-8") as file:
            machine = json.load(file)
        for key in ("link_count", "target_percent"):
            with open(self.path("odd.json"), "w", encoding="utf-8") as file:
                json.dump({**machine, "figures": {**machine["figures"], key: 0}}, file)
            done = self.opscope("machine", "show", "./odd.json")
            self.assert_status(done, 2)
            self.assertIn(f"'{key}' is missing or 0", done.stderr)

    def test_without_a_file_it_is_shown(self):
        done = self.opscope("machine", "measure", "--time", "20ms", "--threads", "1")
        self.assert_status(done)
        self.assertIn("dram_gb_s", done.stdout)

    def test_file_that_cannot_be_written(self):
        done = self.opscope("machine", "measure", "--time", "5ms", "--threads", "1", "--save", "/nowhere/m.json")
        self.assertEqual(done.status, 2)
        self.assertIn("cannot write /nowhere/m.json", done.stderr)

    def test_devices_and_links_of_the_same_name_stay(self):
        """What is there under the name is written into where it is not a file, and never replaced."""
        os.symlink("/dev/full", self.path("full.json"))
        done = self.opscope("machine", "measure", "--time", "10ms", "--save", "full.json")
        self.assert_status(done, 2)
        self.assertIn("No space left on device", done.stderr)
        self.assertEqual(os.readlink(self.path("full.json")), "/dev/full")
        os.mkdir(self.path("folder.json"))
        done = self.opscope("machine", "measure", "--time", "10ms", "--save", "folder.json")
        self.assert_status(done, 2)
        self.assertNotIn("dram_gb_s", done.stdout, "it was measured first")
        os.mkfifo(self.path("fifo.json"))
        reader = self.start(["cat", self.path("fifo.json")])
        self.assert_status(self.opscope("machine", "measure", "--time", "10ms", "--save", "fifo.json"))
        self.assertIn(b"dram_gb_s", reader.communicate(timeout=harness.TIMEOUT_S)[0])
        self.assertTrue(stat.S_ISFIFO(os.lstat(self.path("fifo.json")).st_mode))

    def test_no_such_device(self):
        done = self.opscope("machine", "measure", "cuda", "--device", "63")
        self.assertEqual(done.status, 2)
        self.assertRegex(done.stderr, "there is no CUDA d(river here|evice 63)|driver here is too old")

    def test_usage(self):
        for words, said in (
            (["measure", "tpu"], "'tpu': cpu or cuda"),
            (["list", "--save", "x.json"], "--save belongs to measure"),
            (["weigh"], "list, show or measure"),
        ):
            done = self.opscope("machine", *words)
            self.assertEqual(done.status, 2)
            self.assertIn(said, done.stderr)


if __name__ == "__main__":
    unittest.main()
