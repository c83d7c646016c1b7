// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { isEmpty, isExpression, parseQuery } from "../src/model/search";

test("words restrict a search, the rest is its text", () => {
    assert.deepEqual(parseQuery("  load  batch file:train.py >10ms"), {
        text: "load batch", file: "train.py", track: "", kind: "", longest: 10e6, command: null,
    });
    assert.equal(parseQuery("> 1.5s").longest, 1.5e9);
    assert.equal(parseQuery("Kind:matmul").kind, "matmul");
    assert.equal(parseQuery("track:stream").track, "stream");
    assert.equal(parseQuery("std::vector").text, "std::vector");
    assert.equal(parseQuery("a->b").text, "a->b");
});

test("a leading > that is no time lists commands", () => {
    assert.equal(parseQuery(">").command, "");
    assert.equal(parseQuery("> dark").command, "dark");
    assert.equal(parseQuery(">10ms").command, null);
});

test("nothing typed is nothing searched for", () => {
    assert.ok(isEmpty(parseQuery("   ")));
    assert.ok(!isEmpty(parseQuery(">")));
    assert.ok(isExpression("/^load/") && !isExpression("//") && !isExpression("/usr/lib"));
});
