# SPDX-License-Identifier: Apache-2.0
"""opscope mcp: both eras of the protocol, the tools beside the commands of their names, and hostile input."""

import json
import os
import subprocess
import unittest

import harness
from views import ViewCase

ANSWER_MAX = 32 << 10
LINE_MAX = 1 << 20
HANDSHAKES = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"]
MODERN = "2026-07-28"
VERSION, CAPABILITIES = "io.modelcontextprotocol/protocolVersion", "io.modelcontextprotocol/clientCapabilities"
TOOLS = ["traces", "summary", "zones", "ops", "report", "gaps", "diff", "source"]


def message(method, params=None, number=1):
    made = {"jsonrpc": "2.0", "id": number, "method": method}
    if params is not None:
        made["params"] = params
    return made


def handshake(version="2025-11-25"):
    return message("initialize", {"protocolVersion": version, "capabilities": {}}, "hello")


class McpCase(ViewCase):
    def talk(self, data, *files, status=0, cwd=None):
        """The answers to bytes on standard input, in order."""
        done = subprocess.run([harness.OPSCOPE, "mcp", *map(str, files)], input=data, capture_output=True, check=False,
                              env=harness.environment(), cwd=cwd or self.folder, timeout=harness.TIMEOUT_S)
        self.assertEqual(done.returncode, status, done.stderr)
        self.errors = done.stderr.decode()
        if status == 0:
            self.assertEqual(self.errors, "")
        lines = done.stdout.decode().split("\n")
        self.assertEqual(lines.pop(), "")
        return [json.loads(line) for line in lines]

    def ask(self, *messages, files=(), **options):
        return self.talk("".join(json.dumps(one) + "\n" for one in messages).encode(), *files, **options)

    def error(self, answer, code):
        self.assertEqual((answer["jsonrpc"], answer["error"]["code"]), ("2.0", code), answer)
        self.assertTrue(answer["error"]["message"])
        return answer

    def calls(self, calls, *files):
        """What the tools say: JSON, or the sentence of an error."""
        asked = [message("tools/call", {"name": name, "arguments": given}, i) for i, (name, given) in enumerate(calls)]
        answers = self.ask(handshake(), *asked, files=files)[1:]
        self.assertEqual([one["id"] for one in answers], list(range(len(calls))))
        found = []
        for answer in answers:
            result = answer["result"]
            (content,) = result["content"]
            self.assertEqual(content["type"], "text")
            self.assertLessEqual(len(content["text"].encode()), ANSWER_MAX)
            found.append(content["text"] if result["isError"] else json.loads(content["text"]))
        return found

    def call(self, name, *files, **given):
        return self.calls([(name, given)], *files)[0]

    def device_trace(self, name="d.opscope"):
        with open(self.path("step.py"), "w", encoding="utf-8") as file:
            file.writelines(f"line {i}\n" for i in range(1, 41))
        place = self.path("step.py")
        return self.trace(("source", place), ("track", "main", 7), ("zone", 0, 1000, 900000, "def step", f"{place}:3"),
                          ("zone", 1, 2000, 300000, "def load", f"{place}:20"), ("device", "chip", "wormhole_b0"),
                          ("op", 1, 2000, 3000, "Matmul"), ("run", 1, 10000, 110000, "Matmul"),
                          ("op", 2, 4000, 5000, "Add"), ("run", 2, 310000, 410000, "Add"), ("lost", 3), name=name)


class Handshake(McpCase):
    def test_versions(self):
        for version in HANDSHAKES:
            (answer,) = self.ask(handshake(version))
            result = answer["result"]
            self.assertEqual((answer["id"], result["protocolVersion"]), ("hello", version))
            self.assertEqual(result["serverInfo"]["name"], "opscope")
            self.assertIn("tools", result["capabilities"])
        (answer,) = self.ask(handshake("1900-01-01"))
        self.assertEqual(answer["result"]["protocolVersion"], HANDSHAKES[0])
        (answer,) = self.ask(message("initialize", {}))
        self.error(answer, -32602)

    def test_nothing_but_ping_before_it(self):
        ping, listed, called = self.ask(message("ping"), message("tools/list"), message("tools/call", {"name": "traces"}))
        self.assertEqual(ping["result"], {})
        self.error(listed, -32600)
        self.error(called, -32600)

    def test_notifications_and_answers_are_not_answered(self):
        silent = [{"jsonrpc": "2.0", "method": "notifications/initialized"}, {"jsonrpc": "2.0", "method": "no/such"},
                  {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}},
                  {"jsonrpc": "2.0", "id": 9, "result": {}}, {"jsonrpc": "2.0", "id": 9, "error": {"code": 1}}]
        answers = self.ask(handshake(), *silent, message("ping", number="last"))
        self.assertEqual([one["id"] for one in answers], ["hello", "last"])

    def test_batches_are_of_one_revision(self):
        batch = [message("ping", number=1), {"jsonrpc": "2.0", "method": "notifications/initialized"}, 5,
                 message("tools/list", number="two"), handshake()]
        silent = [{"jsonrpc": "2.0", "method": "notifications/initialized"}]
        _, answers, empty, last = self.ask(handshake("2025-03-26"), batch, silent, [], message("ping", number="last"))
        self.assertEqual([one["id"] for one in answers], [1, None, "two", "hello"])
        self.error(answers[1], -32600)
        self.error(answers[3], -32600)
        self.error(empty, -32600)
        self.assertEqual(last["id"], "last")
        for version in ("2025-06-18", "2024-11-05"):
            self.error(self.ask(handshake(version), batch)[1], -32600)
        self.error(self.ask(handshake("2025-03-26"), [message("ping")] * 65)[1], -32600)


class Stateless(McpCase):
    def meta(self, version=MODERN, **more):
        return {"_meta": {VERSION: version, CAPABILITIES: {}}, **more}

    def test_discover(self):
        (answer,) = self.ask(message("server/discover", self.meta()))
        result = answer["result"]
        self.assertEqual(result["supportedVersions"], [MODERN, *HANDSHAKES])
        self.assertEqual(result["resultType"], "complete")
        self.assertEqual(result["capabilities"], {"tools": {}})
        self.assertEqual(result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "opscope")
        self.assertEqual(result["cacheScope"], "public")
        self.assertGreater(result["ttlMs"], 0)

    def test_tools_without_a_handshake(self):
        listed, called = self.ask(message("tools/list", self.meta()),
                                  message("tools/call", self.meta(name="traces", arguments={})))
        self.assertEqual([tool["name"] for tool in listed["result"]["tools"]], TOOLS)
        self.assertEqual((listed["result"]["resultType"], listed["result"]["cacheScope"]), ("complete", "public"))
        self.assertEqual((called["result"]["resultType"], called["result"]["isError"]), ("complete", False))

    def test_refusals(self):
        other, bare, ping, hello, probe = self.ask(
            message("tools/list", self.meta("1900-01-01")), message("tools/list", {"_meta": {VERSION: MODERN}}),
            message("ping", self.meta()), message("initialize", self.meta(protocolVersion=MODERN)),
            message("server/discover"))
        self.error(other, -32022)
        self.assertEqual(other["error"]["data"], {"supported": [MODERN, *HANDSHAKES], "requested": "1900-01-01"})
        self.error(bare, -32602)
        self.error(ping, -32601)
        self.error(hello, -32601)
        self.error(probe, -32601)


class Tools(McpCase):
    def test_list(self):
        answer = self.ask(handshake(), message("tools/list"))[1]
        tools = answer["result"]["tools"]
        self.assertEqual([tool["name"] for tool in tools], TOOLS)
        for tool in tools:
            self.assertTrue(tool["description"])
            self.assertTrue(tool["annotations"]["readOnlyHint"])
            schema = tool["inputSchema"]
            self.assertEqual((schema["type"], schema["additionalProperties"]), ("object", False))
            self.assertLessEqual(set(schema["required"]), set(schema["properties"]))
            for value in schema["properties"].values():
                self.assertIn(value["type"], ("integer", "string"))
                self.assertTrue(value["description"])

    def test_every_word_of_the_schemas_is_one_that_the_question_knows(self):
        trace = self.device_trace()
        answer = self.ask(handshake(), message("tools/list"), files=[trace])[1]
        calls = []
        for tool in answer["result"]["tools"]:
            needed = {"source": {"file": "step.py", "line": 3}, "diff": {"b": 0}}.get(tool["name"], {})
            calls.append((tool["name"], needed))
            for name, value in tool["inputSchema"]["properties"].items():
                calls += [(tool["name"], {**needed, name: word}) for word in value.get("enum", [])]
                if name in ("from", "trace", "a", "b", "a_from", "b_from"):
                    calls.append((tool["name"], {**needed, name: 0}))
                elif value["type"] == "integer":
                    calls.append((tool["name"], {**needed, name: 500000 if name.endswith("to") else 5}))
        for call, found in zip(calls, self.calls(calls, trace)):
            self.assertIsInstance(found, dict, (call, found))

    def test_figures_are_those_of_the_commands(self):
        trace = self.device_trace()
        summary, zones, ops, report, gaps = self.calls(
            [("summary", {}), ("zones", {}), ("ops", {}), ("report", {}), ("gaps", {})], trace)
        said = self.opscope_json("summary", trace)
        self.assertEqual(summary["answer"]["sentence"], "".join(part["text"] for part in said["sentence"]))
        self.assertEqual([part["ns"] for part in summary["answer"]["partition"]["parts"]],
                         [part["ns"] for part in said["partition"]["parts"]])
        rows = {row["name"]: row for row in self.rows("zones", trace)}
        for row in zones["answer"]["rows"]:
            known = rows[row["text"]]
            self.assertEqual((row["count"], row["total"], row["self"]), (known["count"], known["total_ns"], known["self_ns"]))
        self.assertEqual(len(zones["answer"]["rows"]), len(rows))
        self.assertEqual({row["name"].split()[0]: row["device_ns"] for row in ops["answer"]["groups"]},
                         {"Matmul": 100000, "Add": 100000})
        known = self.opscope_json("report", trace)
        self.assertEqual([(row["op"], row["time_us"]) for row in report["answer"]["rows"]],
                         [(row["op"], row["time_us"]) for row in known["rows"]])
        self.assertEqual(report["answer"]["advice"][0]["do"], known["advice"][0]["do"])
        self.assertEqual([gap["duration"] for gap in gaps["answer"]["gaps"]], [200000, 9000])
        self.assertEqual(gaps["answer"]["gaps"][0]["host"][0]["text"], "load")

    def test_units_and_losses_are_said(self):
        trace = self.device_trace()
        for found in self.calls([(name, {}) for name in TOOLS[1:6]], trace):
            self.assertEqual(found["trace"], {"id": 0, "name": "d.opscope", "state": "complete",
                                              "lost": {"zones": 3, "records": 0, "damaged_blocks": 0}})
            self.assertTrue(found["units"])
            self.assertEqual(found["left_out"], [])

    def test_several_traces(self):
        first, second = self.device_trace(), self.trace(("track", "t"), ("zone", 0, 0, 70, "other"), name="b.opscope")
        listed, zones, none = self.calls([("traces", {}), ("zones", {"trace": 1}), ("zones", {"trace": 2})], first, second)
        self.assertEqual([(one["id"], one["name"]) for one in listed["answer"]["traces"]], [(0, "d.opscope"), (1, "b.opscope")])
        self.assertEqual([row["text"] for row in zones["answer"]["rows"]], ["other"])
        self.assertIn("there is no trace 2", none)

    def test_folder(self):
        self.device_trace()
        listed, zones = self.calls([("traces", {}), ("zones", {})])
        self.assertEqual([one["name"] for one in listed["answer"]["traces"]], ["d.opscope"])
        self.assertEqual(zones["answer"]["count"], 2)
        os.remove(self.path("d.opscope"))
        self.assertIn("there is no trace 0", self.call("summary"))

    def test_a_window(self):
        trace = self.device_trace()
        cut = self.call("zones", trace, **{"from": 0, "to": 100000})
        self.assertEqual({row["text"]: row["total"] for row in cut["answer"]["rows"]}, {"step": 100000, "load": 99000})

    def test_source(self):
        trace = self.device_trace()
        place = self.path("step.py")
        whole, end, far, other, missing, few = self.calls(
            [("source", {"file": place, "line": 20, "lines": 6}), ("source", {"file": "step.py", "line": 3, "lines": 3}),
             ("source", {"file": place, "line": 41}), ("source", {"file": "/etc/passwd", "line": 1}),
             ("source", {"file": place}), ("source", {"file": "tep.py", "line": 1})], trace)
        self.assertEqual(whole["answer"]["source"], {"file": place, "first_line": 18, "line": 20,
                                                     "lines": [f"line {i}" for i in range(18, 24)]})
        self.assertEqual(end["answer"]["source"]["lines"], ["line 2", "line 3", "line 4"])
        self.assertIn("has 40 lines", far)
        self.assertIn("only files that the trace names", other)
        self.assertIn("line", missing)
        self.assertIn("only files that the trace names", few)
        os.remove(place)  # the trace has them
        self.assertEqual(self.call("source", trace, file=place, line=3)["answer"]["state"], "read")

    def test_source_of_two_files_with_one_name(self):
        trace = self.trace(("track", "t"), ("zone", 0, 0, 70, "a", "/x/one/same.c:3"), ("zone", 0, 80, 90, "b", "/x/two/same.c:4"))
        both, one = self.calls([("source", {"file": "same.c", "line": 3}), ("source", {"file": "two/same.c", "line": 4})], trace)
        self.assertIn("/x/one/same.c and /x/two/same.c", both)
        self.assertEqual((one["answer"]["state"], one["answer"]["advice"]),
                         ("not recorded", "recorded without source lines; --source DIR reads them from a folder"))

    def test_diff(self):
        def made(name, factor, *more):
            return self.trace(("track", "t"), *[("zone", 0, 1000 * i, 1000 * i + factor * (100 + i % 7), "work") for i in range(300)], *more,
                              name=name)
        first, second = made("a.opscope", 1), made("b.opscope", 2, ("zone", 0, 400000, 400050, "more"))
        both, one, only, far = self.calls([("diff", {}), ("diff", {"top": 1}), ("diff", {"only": "zones", "a_to": 50000, "b_to": 50000}),
                                           ("diff", {"b": 5})], first, second)
        known = self.opscope_json("diff", "--all", first, second)
        rows = {row["name"]: row for row in both["answer"]["diff"]["rows"]}
        self.assertEqual({name: (row["state"], row["change_ns"]) for name, row in rows.items()},
                         {row["name"]: (row["state"], row["change_ns"]) for row in known["rows"]})
        self.assertEqual(rows["work"]["state"], "slower")
        self.assertEqual((both["a"]["name"], both["b"]["name"]), ("a.opscope", "b.opscope"))
        self.assertRegex(both["answer"]["sentence"], "^B takes .* longer")
        self.assertEqual((both["left_out"], one["left_out"]), ([], [{"what": "diff.rows", "shown": 1, "of": 2}]))
        self.assertEqual([row["a_count"] for row in only["answer"]["diff"]["rows"]], [50])
        self.assertIn("there is no trace 5", far)

    def test_report_without_ops(self):
        trace = self.trace(("track", "t"), ("zone", 0, 0, 70, "a"))
        self.assertIn("no ops", self.call("report", trace))

    def test_wrong_arguments(self):
        trace = self.device_trace()
        wrong = [("zones", {"bad": 1}, "has no argument 'bad'; it has trace, from"), ("traces", {"x": 1}, "it has none"),
                 ("zones", {"sort": "size"}, "not one of self, total, count"), ("zones", {"top": "many"}, "not a number"),
                 ("zones", {"top": {}}, "whole number"), ("zones", {"trace": "d"}, "number of a trace"),
                 ("zones", {"q": "x" * 9000}, "too long"), ("zones", {"q": "a\0b"}, "escape"),
                 ("zones", {"from": 9, "to": 3}, "from is after to"), ("source", {"line": 3}, "file is needed")]
        for (name, given, said), found in zip(wrong, self.calls([one[:2] for one in wrong], trace)):
            self.assertIn(said, found, (name, given))


class Bounds(McpCase):
    def test_answers_are_cut_and_say_so(self):
        lines = [("track", "t")] + [("zone", 0, 10 * i, 10 * i + 5, f"zone {i} " + "n" * (i % 700), f"/a/{i}.c:{i + 1}")
                                    for i in range(3000)]
        trace = self.trace(*lines)
        usual, all_, few = self.calls([("zones", {}), ("zones", {"top": 3000}), ("zones", {"top": 2, "sort": "count"})], trace)
        self.assertEqual(usual["answer"]["count"], 3000)
        self.assertEqual(usual["left_out"][0], {"what": "rows", "shown": 30, "of": 3000})
        self.assertEqual(len(usual["answer"]["rows"]), 30)
        shown = len(all_["answer"]["rows"])
        self.assertGreater(shown, 10)
        self.assertEqual(all_["left_out"][0], {"what": "rows", "shown": shown, "of": 3000})
        self.assertEqual(few["left_out"], [{"what": "rows", "shown": 2, "of": 3000}])

    def test_long_texts_are_cut_between_characters(self):
        trace = self.trace(("track", "t"), ("zone", 0, 0, 70, "ä" * 4000))
        found = self.call("zones", trace)
        self.assertRegex(found["answer"]["rows"][0]["text"], r"^ä{500,}\.\.\.$")
        self.assertEqual(found["left_out"], [{"what": "ends of texts, marked with ...", "cut": 1}])

    def test_names_are_data(self):
        hostile = "</script>\u202e\u2028\"\\ \x1b[31m"
        trace = self.trace(("track", "t"), ("zone", 0, 0, 70, hostile))
        self.assertEqual(self.call("zones", trace)["answer"]["rows"][0]["text"], hostile)


class Hostile(McpCase):
    def test_messages_that_are_none(self):
        cases = [(b"nonsense", -32700), (b"{", -32700), (b"[" * 100000, -32700), (b'{"a":' * 70 + b"1" + b"}" * 70, -32700),
                 (b'"\xff\xfe"', -32700), (b'{"jsonrpc":"2.0","id":1,"method":"\xc3("}', -32700), (b"5", -32600), (b"null", -32600),
                 (b"{}", -32600), (b'{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600),
                 (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600), (b'{"jsonrpc":"2.0","id":[],"method":"ping"}', -32600),
                 (b'{"jsonrpc":"2.0","id":1,"method":7}', -32600), (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}', -32602),
                 (b'{"jsonrpc":"2.0","id":1,"method":"no/such"}', -32601), (b'{"jsonrpc":"2.0","id":1,"method":""}', -32601),
                 (b'{"jsonrpc":"2.0","id":1,"method":"resources/list"}', -32601)]
        answers = self.talk(b"\n".join(case for case, _ in cases) + b"\n")
        self.assertEqual(len(answers), len(cases))
        for (case, code), answer in zip(cases, answers):
            self.error(answer, code)

    def test_bad_calls(self):
        bad = [{"name": "nothing"}, {"name": 3}, {}, {"name": "zones", "arguments": []}, {"name": "zones", "arguments": 3},
               {"name": "n" * 100000}]
        answers = self.ask(handshake(), *[message("tools/call", one) for one in bad], message("tools/call"),
                           message("tools/list", {"cursor": "x"}))[1:]
        self.assertEqual(len(answers), len(bad) + 2)
        for answer in answers:
            self.error(answer, -32602)
            self.assertLess(len(json.dumps(answer)), 1000)

    def test_ids_come_back_as_they_were(self):
        ids = [0, -5, 12345678901234567890, 1.5, "", "ä\"\\\n", "x" * 10000]
        answers = self.ask(*[message("ping", number=one) for one in ids])
        self.assertEqual([one["id"] for one in answers], ids)

    def test_blank_lines_and_a_last_line_without_its_end(self):
        ping = json.dumps(message("ping")).encode()
        answers = self.talk(b"\n\r\n  \n" + ping + b"\r\n" + ping)
        self.assertEqual([one["result"] for one in answers], [{}, {}])

    def test_a_line_of_a_hundred_megabytes(self):
        process = subprocess.Popen([harness.OPSCOPE, "mcp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=self.folder,
                                   env=harness.environment())
        self.addCleanup(process.kill)
        for _ in range(100):
            process.stdin.write(b"x" * LINE_MAX)
        process.stdin.write(b"\n" + json.dumps(message("ping", number="after")).encode() + b"\n")
        process.stdin.flush()
        self.error(json.loads(process.stdout.readline()), -32600)
        self.assertEqual(json.loads(process.stdout.readline())["id"], "after")
        with open(f"/proc/{process.pid}/status", encoding="utf-8") as file:
            peak_kb = int(next(line.split()[1] for line in file if line.startswith("VmHWM")))
        self.assertLess(peak_kb, 90 << 10)
        process.stdin.close()
        self.assertEqual(process.wait(harness.TIMEOUT_S), 0)
        process.stdout.close()

    def test_as_long_as_a_line_may_be(self):
        start = json.dumps(message("ping", {"pad": ""}))[:-3]
        whole = start + "p" * (LINE_MAX - len(start) - 3) + '"}}'
        answers = self.talk((whole + "\n" + whole.replace("p", "pp", 1) + "\n").encode())
        self.assertEqual(answers[0]["result"], {})
        self.error(answers[1], -32600)

    def test_a_message_in_pieces(self):
        process = subprocess.Popen([harness.OPSCOPE, "mcp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=self.folder,
                                   env=harness.environment(), bufsize=0)
        self.addCleanup(process.kill)
        for byte in json.dumps(message("ping", number="bytes")).encode() + b"\n":
            process.stdin.write(bytes([byte]))
        self.assertEqual(json.loads(process.stdout.readline())["id"], "bytes")
        process.stdin.close()
        self.assertEqual(process.wait(harness.TIMEOUT_S), 0)
        process.stdout.close()

    def test_files_that_are_no_traces(self):
        self.talk(b"", "-", status=2)
        self.assertIn("standard input carries the questions", self.errors)
        self.talk(b"", self.path("none.opscope"), status=2)

    def test_a_damaged_trace_in_the_folder(self):
        with open(self.path("bad.opscope"), "wb") as file:
            file.write(b"nothing that could be read" * 100)
        listed, summary = self.calls([("traces", {}), ("summary", {})])
        self.assertEqual(listed["answer"]["traces"][0]["state"], "damaged")
        self.assertIsInstance(summary, str)


if __name__ == "__main__":
    unittest.main()
