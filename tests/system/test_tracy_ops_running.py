# SPDX-License-Identifier: Apache-2.0
"""The ops that a program reports through Tracy are there while it runs, without what its devices did: in the op table, in the report,
in the page. Each is there once, and at the end as in the files."""

import csv
import io
import os
import shutil
import signal
import unittest

import facts
import harness
import serving
import test_tracy_ops

OPS = 10  # of own_run
# What the devices' files say, what is known of them alone, and times that count from another moment until the end.
LATER = ("DEVICE FW", "DEVICE KERNEL", "DEVICE BRISC", "DEVICE NCRISC", "DEVICE TRISC", "DEVICE ERISC", "DEVICE COMPUTE",
         "OP TO OP", "CORE COUNT", "AVAILABLE WORKER", "DEVICE ARCH", "PM FPU UTIL", "METAL TRACE REPLAY", "SUB DEVICE", "NOTE",
         "HOST START TS", "HOST END TS")


class Running(serving.ServerCase, test_tracy_ops.OpsCase):
    def start_client(self, *options, logs=None, programs=1):
        """It tells everything and waits at the gate; the logs."""
        logs = logs or self.own_logs()
        command = [harness.OPSCOPE, "run", "-q", "--python-trace=off", "-o", self.path("t.opscope"), "--"]
        own = test_tracy_ops.client(logs, "--gate", self.path("gate"), *options)
        command += own if programs == 1 else ["sh", "-c", " & ".join([" ".join(own)] * programs) + "; wait"]
        self.process = self.start(command, env={"TT_METAL_PROFILER_DIR": self.path("profiler")})
        return logs

    def rows(self, path):
        """Of the op table, or none where there is no such file or no op in it."""
        done = self.opscope("ops", path, "--csv")
        return list(csv.DictReader(io.StringIO(done.stdout))) if done.status == 0 else []

    def ops(self, path):
        return [row for row in self.rows(path) if row.get("GLOBAL CALL COUNT")]

    def signposts(self):
        return [row["OP CODE"] for row in self.rows(self.path("t.opscope.partial")) if row["OP TYPE"] == "signpost"]

    def wait_for_ops(self, path, count=OPS):
        """Blocks are written when they are two seconds old, those of zones apart from those of messages; names come later."""

        def has_all():
            rows = self.ops(path)
            return rows if len(rows) >= count and all(row["HOST DURATION [ns]"] for row in rows) else None

        return harness.wait_until(has_all, "the ops in the growing file")

    def end(self):
        with open(self.path("gate"), "w", encoding="utf-8"):
            pass
        self.assertEqual(self.process.wait(harness.TIMEOUT_S), 0)

    def assert_same_ops(self, live, final):
        """Each once, and what the host says of it is what it stays."""
        ids = [row["GLOBAL CALL COUNT"] for row in live]
        self.assertEqual(len(ids), len(set(ids)))
        first = {}
        for row in final:
            first.setdefault(row["GLOBAL CALL COUNT"], row)
        first.pop("", None)  # signposts
        self.assertEqual(set(ids), set(first))
        for row in live:
            known = {key: value for key, value in row.items() if not key.startswith(LATER)}
            self.assertGreater(len(known), 30)
            self.assertEqual(known, {key: first[row["GLOBAL CALL COUNT"]][key] for key in known})
            self.assertFalse(row["DEVICE KERNEL DURATION [ns]"])

    def test_table(self):
        for own in ((), ("--threads",)):
            with self.subTest(own):
                logs = self.start_client(*own)
                live = self.wait_for_ops(self.path("t.opscope.partial"))
                self.assertEqual(len(live), OPS)
                harness.wait_until(lambda: self.signposts() == ["start", "stop"], "the signposts in the growing file")
                self.end()
                self.assertEqual(self.table(self.path("t.opscope"), "have.csv"), self.table(os.path.dirname(logs), "want.csv"))
                self.assert_same_ops(live, self.rows(self.path("t.opscope")))
                self.tidy()

    def tidy(self):
        for folder in ("pair", "made", "profiler"):
            shutil.rmtree(self.path(folder), ignore_errors=True)
        for name in ("t.opscope", "gate"):
            os.remove(self.path(name))

    def test_reference_pairs(self):
        for name in test_tracy_ops.PAIRS:
            with self.subTest(name):
                logs = self.logs(harness.reference_data("tenstorrent", "pairs", name))
                ids = {row["GLOBAL CALL COUNT"] for row in self.ops(os.path.dirname(logs))}
                self.start_client("--cores", logs=logs)
                live = self.wait_for_ops(self.path("t.opscope.partial"), len(ids))
                self.end()
                self.assert_same_ops(live, self.rows(self.path("t.opscope")))
                self.tidy()

    def test_two_programs(self):
        """Each has its ops, whatever numbers the other gave."""
        self.start_client(programs=2)
        live = self.wait_for_ops(self.path("t.opscope.partial"), 2 * OPS)
        ids = [row["GLOBAL CALL COUNT"] for row in live]
        self.assertEqual(sorted(ids), sorted(2 * list(set(ids))))
        self.end()

    def test_report_and_page(self):
        self.start_client()
        partial = self.path("t.opscope.partial")
        self.wait_for_ops(partial)
        report = self.opscope_json("report", partial, "--json")
        self.assertIn("the trace is unfinished", self.opscope("ops", partial).stdout)
        self.assertEqual((report["device_ops"], len(report["rows"])), (OPS // 2, OPS // 2))  # two devices are one
        self.serve(partial)
        page = self.get("/api/t/0/overhead")
        self.assertEqual(page["calls"], OPS)
        self.assertEqual(sorted(row["name"] for row in page["rows"]), ["Add", "Matmul", "Softmax", "Untilize"])
        self.end()
        self.assertEqual(len([row for row in self.rows(self.path("t.opscope")) if "Softmax" in row["OP CODE"]]), 2 * (1 + 3))

    def test_collector_that_was_killed(self):
        """What it had written has the ops, also once it was recovered."""
        self.start_client()
        live = self.wait_for_ops(self.path("t.opscope.partial"))
        pid = int(self.process.stdout.readline().split()[3])
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.assertEqual(self.ops(self.path("t.opscope.partial")), live)
        harness.wait_until(lambda: not harness.process_is_alive(pid), "the program, which nobody listens to, to end")
        (session,) = facts.session_folders(harness.environment()["OPSCOPE_DIR"])
        self.assert_status(self.opscope("recover", session))
        self.assertEqual(self.ops(self.path("t.opscope")), live)


if __name__ == "__main__":
    unittest.main()
