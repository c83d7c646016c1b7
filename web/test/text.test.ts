// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { fileName, matcher, safeText, shortName, shortPath } from "../src/model/text";

test("what could change the page around it is shown as an escape", () => {
    assert.equal(safeText("a\u202eb"), "a\\u202eb");
    assert.equal(safeText("line\nnext\tcell\u0000"), "line\\nnext\\tcell\\u0000");
    assert.equal(safeText("\u2066x\u2069\u200f\u061c\ufeff"), "\\u2066x\\u2069\\u200f\\u061c\\ufeff");
    assert.equal(safeText("<b>grün & 日本</b>"), "<b>grün & 日本</b>");
});

test("labels leave out what all names share", () => {
    assert.equal(shortName("void at::native::vectorized<float, 4>(int)"), "vectorized(int)");
    assert.equal(shortName("std::vector<std::pair<int, int>>::push_back"), "vector::push_back");
    assert.equal(shortName("MatmulDeviceOperation"), "Matmul");
    assert.equal(shortName("<module>"), "<module>");
    assert.equal(shortName("Model.<locals>.step"), "Model.<locals>.step");
    assert.equal(shortName("operator<"), "operator<");
    assert.equal(shortName("a<b"), "a<b");
    assert.equal(shortName(""), "");
});

test("paths are cut from the left", () => {
    assert.equal(shortPath("/usr/lib/torch/nn/linear.py", 114), "…/nn/linear.py:114");
    assert.equal(fileName("/home/me/train.py", 86), "train.py:86");
    assert.equal(fileName("train.py"), "train.py");
});

test("patterns", () => {
    assert.ok(matcher("add*norm")("fused ADD and Norm"));
    assert.ok(!matcher("norm*add")("add norm"));
    assert.ok(matcher("/^mm [0-9]+/")("mm 8192"));
    assert.ok(!matcher("/(/")("("));
    assert.ok(matcher("  ")("anything"));
});
