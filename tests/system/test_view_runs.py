# SPDX-License-Identifier: Apache-2.0
"""opscope view: runs of devices, their lanes and gaps, and what is said of one run, on a trace whose every time is known."""

import unittest

from serving import GAP, ServerCase

MS = 1000000
NONE = 4294967295


class Runs(ServerCase):
    """A device of which the fourth run overlaps the third, with gaps of 5 and 8 ms and one of 100 ns, too small to count."""

    def setUp(self):
        super().setUp()
        self.made = self.trace(
            ("track", "main", 1), ("zone", 0, 0, 40 * MS, "train", "train.py:5"), ("zone", 1, 6 * MS, 9 * MS, "load", "train.py:9"),
            ("device", "GPU 0", "made up"),
            ("op", 1, 1 * MS, 2 * MS, "matmul"), ("run", 1, 2 * MS, 5 * MS, "matmul_kernel"),
            ("op", 2, 9 * MS, 9 * MS + 500, "softmax"), ("run", 2, 10 * MS, 12 * MS, "softmax_kernel"),
            ("op", 3, 9 * MS + 1000, 9 * MS + 2000, "matmul"), ("run", 3, 12 * MS + 100, 20 * MS, "matmul_kernel"),
            ("run", 4, 14 * MS, 16 * MS, "copy_kernel"), ("op", 5, 27 * MS, 27 * MS + 10, "matmul"),
            ("run", 5, 28 * MS, 30 * MS, "matmul_kernel"))
        self.serve(self.made)
        self.device = next(track for track in self.get("/api/t/0/trace")["tracks"] if track["kind"] == "device")

    def one(self, at, lane=None, status=200):
        lane = "" if lane is None else f"&lane={lane}"
        return self.get(f"/api/t/0/run?track={self.device['id']}&at={at}{lane}", status)

    def names(self):
        return {row[1]: row[0] for row in self.get("/api/t/0/names")["names"]}

    def test_a_device_says_what_ran_on_it(self):
        self.assertEqual((self.device["name"], self.device["architecture"], self.device["runs"], self.device["run_lanes"]),
                         ("GPU 0", "made up", 5, 2))
        self.assertEqual(self.device["busy_ns"], 3 * MS + 2 * MS + (8 * MS - 100) + 2 * MS, "the overlap counts once")

    def test_lanes_and_gaps_are_drawn(self):
        names = self.names()
        first, second = self.sections(f"px=16000&tracks={self.device['id']}:r")
        self.assertEqual((first.track, first.kind, first.depth, second.depth), (self.device["id"], 1, 0, 1))
        matmul, softmax = names["matmul_kernel"], names["softmax_kernel"]
        self.assertEqual([(row[0], row[1], row[2], row[3], row[5]) for row in first.rows],
                         [(2 * MS, 5 * MS, 1, matmul, 0), (5 * MS, 10 * MS, 0, NONE, GAP), (10 * MS, 12 * MS, 1, softmax, 0),
                          (12 * MS + 100, 20 * MS, 1, matmul, 0), (20 * MS, 28 * MS, 0, NONE, GAP),
                          (28 * MS, 30 * MS, 1, matmul, 0)])
        self.assertEqual([(row[0], row[1], row[3]) for row in second.rows], [(14 * MS, 16 * MS, names["copy_kernel"])])

    def test_from_afar_runs_are_summed_up(self):
        first, second = self.sections(f"px=4&tracks={self.device['id']}:r")
        runs = [row for row in first.rows if not row[5] & GAP]
        self.assertEqual(sum(row[4] for row in runs) + sum(row[4] for row in second.rows), 5)
        covered = sum((row[1] - row[0]) * row[2] for row in runs)
        self.assertAlmostEqual(covered / (15 * MS - 100), 1, places=5)

    def test_a_run_knows_its_call_and_the_gap_before_it(self):
        run = self.one(11 * MS)
        self.assertEqual((run["text"], run["lane"], run["start"], run["duration"], run["estimated"]),
                         ("softmax_kernel", 0, 10 * MS, 2 * MS, False))
        self.assertEqual(run["gap_before"], {"start": 5 * MS, "duration": 5 * MS})
        op = run["op"]
        self.assertEqual((op["call"], op["text"], op["start"], op["end"]), (2, "softmax", 9 * MS, 9 * MS + 500))
        main = next(track for track in self.get("/api/t/0/trace")["tracks"] if track["kind"] == "thread")
        self.assertEqual(op["track"], main["id"])

    def test_a_run_knows_the_code_that_launched_it(self):
        train = {"text": "train.py:5", "file": "train.py", "line": 5, "function": "train", "library": None}
        self.assertEqual(self.one(3 * MS)["launched_from"], train)
        self.assertEqual(self.one(29 * MS)["launched_from"], train)
        self.assertIsNone(self.one(15 * MS, 1)["launched_from"], "its call was not recorded")

    def test_an_op_knows_all_the_code_that_launched_it(self):
        op = self.get("/api/t/0/op?name=matmul&group=op")
        self.assertEqual(op["place_count"], 1)
        self.assertEqual(op["places"], [{"text": "train.py:5", "file": "train.py", "line": 5, "function": "train", "library": None, "count": 3,
                                         "device_ns": 3 * MS + 8 * MS - 100 + 2 * MS}])
        locations = {group["name"]: group["location"] for group in self.get("/api/t/0/ops?group=op")["groups"]}
        self.assertEqual(locations["softmax"], "train.py:5")
        said = {row["name"]: row["location"] for row in self.opscope("ops", self.made, "--json").json()["rows"] if row["type"] != "run"}
        self.assertEqual(said, {"matmul": "train.py:5", "softmax": "train.py:5"}, "as opscope ops says")
        self.assertEqual(self.get("/api/t/0/op?name=nothing&group=op")["places"], [])

    def test_a_run_that_an_op_lists_is_found_at_its_place(self):
        """Runs that begin together are on several lanes: a start alone would name another one. Kernels of one call count together."""
        self.serve(self.trace(
            ("track", "main", 1), ("zone", 0, 0, 100, "train"), ("device", "GPU 0", "made up"),
            ("op", 1, 10, 20, "softmax"), ("run", 1, 1000, 4000, "softmax_kernel"),
            ("op", 2, 30, 40, "matmul"), ("run", 2, 1000, 6000, "matmul_kernel"), ("run", 2, 7000, 9000, "reduce_kernel"),
            ("op", 3, 50, 60, "relu"), ("run", 3, 1000, 6000, "relu_kernel"), name="together.opscope"))
        listed = {group["name"]: self.get(f"/api/t/0/op?name={group['name']}")["runs"] for group in self.get("/api/t/0/ops")["groups"]}
        self.assertEqual({name: [(run["start"], run["end"], run["duration"]) for run in runs] for name, runs in listed.items()},
                         {"softmax": [(1000, 4000, 3000)], "matmul": [(1000, 6000, 7000)], "relu": [(1000, 6000, 5000)]})
        for name, [place] in listed.items():
            run = self.get(f"/api/t/0/run?track={place['track']}&lane={place['lane']}&at={place['start']}")
            self.assertEqual((place["kind"], run["op"]["text"], run["counted"]["name"], run["counted"]["ns"]), ("run", name, name, place["duration"]))
            self.assertEqual(run["start"] + run["duration"], place["end"])
            self.assertEqual(run["counted"]["kernels"], 2 if name == "matmul" else 1)

    def test_names_that_end_in_a_number_have_colours_of_their_own(self):
        """A number inside of a name says of which part it is, one at its end is all that tells kernels apart."""
        numbered = [f"kernel {i}" for i in range(40)]
        self.serve(self.trace(("track", "main", 1), *[("zone", 0, 10 * i, 10 * i + 5, name) for i, name in enumerate((*numbered, "layer.3.norm", "layer.7.norm"))],
                              name="colours.opscope"))
        colours = {row[1]: row[4] for row in self.get("/api/t/0/names?page=0")["names"]}
        self.assertEqual(colours["layer.3.norm"], colours["layer.7.norm"])
        self.assertEqual(len({colours[name] for name in numbered}), 10)

    def test_advice_has_its_evidence(self):
        """A gap ends where the op begins before which it is: its place is not that of the op."""
        [advice] = self.get("/api/t/0/overview")["advice"]
        longest = self.get("/api/t/0/gaps")["gaps"][0]
        self.assertEqual(advice["evidence"], {"kind": "gap", "track": self.device["id"], "lane": None, "start": 20 * MS, "end": 28 * MS, "name": "matmul"})
        self.assertEqual((longest["start"], longest["duration"]), (20 * MS, 8 * MS))

    def test_a_stretch_of_the_host_knows_what_it_launched(self):
        main = next(track for track in self.get("/api/t/0/trace")["tracks"] if track["kind"] == "thread")
        names = self.names()

        def ask(span, status=200):
            return self.get(f"/api/t/0/launched?{span}", status)
        found = ask(f"track={main['id']}&from={6 * MS}&to={10 * MS}")
        self.assertEqual((found["calls"], found["count"]), (2, 2))
        self.assertEqual(found["runs"], [
            {"name": names["softmax_kernel"], "track": self.device["id"], "lane": 0, "start": 10 * MS, "end": 12 * MS},
            {"name": names["matmul_kernel"], "track": self.device["id"], "lane": 0, "start": 12 * MS + 100, "end": 20 * MS}])
        self.assertEqual([row["start"] for row in ask(f"track={main['id']}&limit=1")["runs"]], [2 * MS])
        self.assertEqual(ask(f"track={main['id']}&limit=1")["count"], 4, "the copy has no call")
        self.assertEqual(ask(f"track={self.device['id']}")["runs"], [], "a device calls nothing")
        ask("from=1", 400)
        ask("track=77", 404)

    def test_a_gap_that_is_too_small_is_none(self):
        self.assertIsNone(self.one(13 * MS)["gap_before"])

    def test_runs_at_the_same_time_have_lanes_of_their_own(self):
        self.assertEqual(self.one(15 * MS)["text"], "matmul_kernel", "the lowest lane")
        self.assertEqual(self.one(15 * MS, 0)["text"], "matmul_kernel")
        copy = self.one(15 * MS, 1)
        self.assertEqual((copy["text"], copy["start"], copy["op"]), ("copy_kernel", 14 * MS, None), "its call was not recorded")

    def test_where_nothing_ran(self):
        for at, lane in ((6 * MS, None), (12 * MS + 50, None), (29 * MS, 1), (29 * MS, 7)):
            self.assertIn("nothing ran", self.one(at, lane, 404)["error"])
        self.get("/api/t/0/run?at=1", 400)
        self.get("/api/t/0/run?track=77&at=1", 404)

    def test_gaps_have_the_code_that_filled_them(self):
        found = self.get("/api/t/0/gaps")
        self.assertEqual((found["count"], found["sum"]), (3, 15 * MS))
        self.assertEqual([(gap["track"], gap["start"], gap["duration"], gap["before"], gap["class"]) for gap in found["gaps"]],
                         [(self.device["id"], 20 * MS, 8 * MS, "matmul", "host working"),
                          (self.device["id"], 5 * MS, 5 * MS, "softmax", "host working"),
                          (self.device["id"], 0, 2 * MS, "matmul", "host working")])
        for gap in found["gaps"]:
            self.assertEqual(sum(row["ns"] for row in gap["host"]), gap["duration"])
        self.assertEqual([(row["text"], row["file"], row["line"]) for row in found["gaps"][1]["host"]],
                         [("load", "train.py", 9), ("train", "train.py", 5)], "most of it first")

    def test_gaps_and_idle_parts_add_up(self):
        for query in ("", f"?from={4 * MS}&to={35 * MS}", f"?from={10 * MS}&to={20 * MS}", f"?from={31 * MS}&to={39 * MS}", "?warmup=include"):
            found = self.get(f"/api/t/0/gaps{query}")
            parts = {part["key"]: part["ns"] for part in self.get(f"/api/t/0/overview{query}")["partition"]["parts"]}
            del parts["busy"]
            self.assertEqual({part["key"]: part["ns"] for part in found["idle"]}, parts, query)
            for part in found["idle"]:
                self.assertEqual(part["gaps_ns"] + part["short_ns"] + part["end_ns"], part["ns"], (query, part))
            self.assertEqual(sum(part["gaps_ns"] for part in found["idle"]), found["sum"], query)
            self.assertEqual(sum(gap["duration"] for gap in found["gaps"]), found["sum"], query)
            bins = found["histogram"]
            self.assertEqual(sum(one["count"] for one in bins), found["count"] + found["short_count"], query)
            self.assertEqual(sum(one["sum"] for one in bins), found["sum"] + sum(part["short_ns"] for part in found["idle"]), query)
            self.assertTrue(all(one["count"] * one["from"] <= one["sum"] <= one["count"] * one["to"] for one in bins), bins)
        found = self.get("/api/t/0/gaps")
        self.assertEqual((found["short_count"], found["mark_ns"]), (1, 6500))
        self.assertEqual([sum(part[key] for part in found["idle"]) for key in ("gaps_ns", "short_ns", "end_ns")], [15 * MS, 100, 10 * MS])

    def test_what_calling_ops_cost_the_host(self):
        found = self.get("/api/t/0/overhead")
        self.assertEqual((found["count"], found["calls"], found["own_ns"]), (2, 4, MS + 500 + 1000 + 10))
        matmul, softmax = found["rows"]
        self.assertEqual([matmul[key] for key in ("name", "count", "total_ns", "min_ns", "p50_ns", "p99_ns")],
                         ["matmul", 3, MS + 1010, 10, 1000, MS])
        self.assertAlmostEqual(matmul["share"], (MS + 1010) / (40 * MS))
        self.assertEqual((matmul["start"], matmul["end"]), (MS, 2 * MS), "the longest")
        delays = sorted((0, 12 * MS + 100 - (9 * MS + 2000), 28 * MS - (27 * MS + 10)))
        self.assertEqual((matmul["delay_p50_ns"], matmul["device_ns"]), (delays[1], 3 * MS + 8 * MS - 100 + 2 * MS))
        self.assertEqual((softmax["name"], softmax["total_ns"], softmax["delay_p50_ns"]), ("softmax", 500, MS - 500))
        part = self.get(f"/api/t/0/overhead?from={9 * MS}&to={20 * MS}&limit=1")
        self.assertEqual((part["count"], part["calls"], len(part["rows"]), part["rows"][0]["name"]), (2, 2, 1, "matmul"))
        self.assertEqual(self.get(f"/api/t/0/overhead?from={31 * MS}&to={39 * MS}")["rows"], [])
        self.get("/api/t/0/overhead?limit=x", 400)

    def test_your_own_code_comes_before_the_library_that_it_calls(self):
        library = "/usr/lib/python3/dist-packages/torch/nn/functional.py"
        self.serve(self.trace(
            ("track", "main", 1), ("zone", 0, 0, 900, "main", "train.py:1"), ("zone", 1, 10, 500, "step", "train.py:7"),
            ("zone", 2, 20, 300, "linear", f"{library}:99"), ("op", 1, 30, 40, "addmm"), ("op", 2, 310, 320, "relu"),
            ("track", "feeder", 1), ("zone", 0, 0, 900, "run", f"{library}:5"), ("op", 3, 60, 70, "copy"),
            ("device", "GPU 0", "made up"), ("run", 1, 1000, 2000, "addmm_kernel"), ("run", 2, 3000, 4000, "relu_kernel"), ("run", 3, 5000, 6000, "copy_kernel"),
            name="library.opscope"))
        def place(name):
            [found] = self.get(f"/api/t/0/op?name={name}")["places"]
            return found["text"], found["library"] and found["library"]["text"]
        self.assertEqual(place("addmm"), ("train.py:7", f"{library}:99"), "the innermost of both")
        self.assertEqual(place("relu"), ("train.py:7", None))
        self.assertEqual(place("copy"), (f"{library}:5", None), "there is nothing else")
        device = next(track for track in self.get("/api/t/0/trace")["tracks"] if track["kind"] == "device")["id"]
        found = self.get(f"/api/t/0/run?track={device}&at=1500")["launched_from"]
        self.assertEqual((found["text"], found["line"], found["function"], found["library"]["line"]), ("train.py:7", 7, "step", 99))
        said = {row["name"]: row["location"] for row in self.opscope("ops", self.path("library.opscope"), "--json").json()["rows"] if row["type"] != "run"}
        self.assertEqual(said["addmm"], f"{library}:99", "opscope ops names the call itself")

    def test_an_op_that_calls_others_has_their_time_once(self):
        """Whatever the window is about: an op that began before it is around those in it."""
        self.serve(self.trace(
            ("track", "main", 1), ("zone", 0, 0, 200, "train"),
            ("op", 1, 10, 100, "linear"), ("op", 2, 20, 80, "addmm"), ("op", 3, 30, 40, "copy"), ("op", 4, 50, 70, "copy"), ("op", 5, 110, 130, "addmm"),
            ("track", "other", 1), ("op", 6, 35, 45, "copy"),
            ("device", "GPU 0", "made up"), ("run", 5, 140, 150, "addmm_kernel"), name="nested.opscope"))
        found = self.get("/api/t/0/overhead")
        self.assertEqual({row["name"]: (row["count"], row["own_ns"], row["total_ns"], row["delay_p50_ns"]) for row in found["rows"]},
                         {"linear": (1, 30, 90, None), "addmm": (2, 50, 80, 10), "copy": (3, 40, 40, None)})
        self.assertEqual([row["name"] for row in found["rows"]], ["addmm", "copy", "linear"])
        self.assertEqual(found["own_ns"], 90 + 20 + 10, "of the outermost")
        part = self.get("/api/t/0/overhead?from=25&to=60")
        self.assertEqual({row["name"]: row["own_ns"] for row in part["rows"]}, {"copy": 40})

    def test_gaps_in_another_order_or_window(self):
        self.assertEqual([gap["start"] for gap in self.get("/api/t/0/gaps?sort=start")["gaps"]], [0, 5 * MS, 20 * MS])
        only, = self.get("/api/t/0/gaps?limit=1")["gaps"]
        self.assertEqual(only["duration"], 8 * MS)
        self.assertEqual(self.get(f"/api/t/0/gaps?from={10 * MS}&to={20 * MS}")["gaps"], [])
        self.get("/api/t/0/gaps?sort=name", 400)

    def test_a_range_counts_the_device(self):
        busy = {row["track"]: row["busy"] for row in self.get(f"/api/t/0/range?from={4 * MS}&to={11 * MS}")["tracks"]}
        self.assertEqual(busy[self.device["id"]], 2 * MS, "1 ms of the first run, 1 ms of the second")


class Table(ServerCase):
    def test_gaps_of_a_table_add_up(self):
        table = self.path("ops.csv")
        with open(table, "w", encoding="utf-8") as file:
            file.write("OP CODE,OP TYPE,GLOBAL CALL COUNT,DEVICE ID,CORE COUNT,HOST START TS,HOST END TS,DEVICE FW DURATION [ns],"
                       "OP TO OP LATENCY [ns]\n")
            for number, gap in enumerate((0, 900, 20333, 5000, 7777)):
                file.write(f"Matmul,tt_dnn_device,{number + 1},0,64,{number * 100000},{number * 100000 + 10},30000,{gap}\n")
        done = self.opscope("import", "tenstorrent", table, "-o", self.path("table.opscope"))
        self.assert_status(done)
        self.serve(self.path("table.opscope"))
        found = self.get("/api/t/0/gaps")
        parts = {part["key"]: part["ns"] for part in self.get("/api/t/0/overview")["partition"]["parts"]}
        part, = found["idle"]
        self.assertEqual((part["key"], part["ns"]), ("idle_host_unknown", parts["idle_host_unknown"]))
        self.assertEqual((found["count"], part["gaps_ns"], part["short_ns"], found["short_count"]), (2, 28110, 5900, 2))


if __name__ == "__main__":
    unittest.main()
