// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { describe, memoryText } from "../src/model/description";

test("tensors are rows, attributes keys and values, kernels apart", () => {
    const made = describe([
        { role: "input", text: "shape=1x1x32x64;padded=1x1x32x64;dtype=BFLOAT16;layout=TILE;memory=DEV_0_DRAM_INTERLEAVED" },
        { role: "output", text: "shape=1x1x5x64;padded=1x1x32x64;dtype=FLOAT32;layout=TILE;memory=DEV_0_L1_WIDTH_SHARDED" },
        { role: "attribute", text: "ATTRIBUTES={'bias': 'std::nullopt'; 'output_mem_config': 'MemoryConfig(shard_spec=ShardSpec{grid=[{\"start\":{\"x\":0;\"y\":0};\"end\":{\"x\":7;\"y\":0}}]; shape=[32; 8]})'; 'steps': 4}" },
        { role: "attribute", text: "MATH FIDELITY=LoFi" },
        { role: "attribute", text: "COMPUTE KERNEL SOURCE=['a/b/mm.cpp']" },
        { role: "kernel", text: "reader.cpp" },
        { role: "location", text: "train.py:3" },
    ]);
    assert.deepEqual(made.tensors, [
        { role: "input", shape: "32×64", dtype: "BFLOAT16", layout: "tile", memory: "DRAM interleaved" },
        { role: "output", shape: "5×64 (padded 32×64)", dtype: "FLOAT32", layout: "tile", memory: "L1 width sharded 8×1" },
    ]);
    assert.deepEqual(made.attributes.map(([key]) => key), ["output_mem_config", "steps", "math fidelity"]);
    assert.deepEqual(made.attributes[1], ["steps", "4"]);
    assert.deepEqual(made.unset, ["bias"]);
    assert.deepEqual(made.kernels, [["compute kernel source", "['a/b/mm.cpp']"], ["kernel", "reader.cpp"]]);
});

test("what is written in another way stays as it is", () => {
    assert.equal(describe([{ role: "input", text: "8x4 of float" }]).tensors[0]?.shape, "8x4 of float");
    assert.deepEqual(describe([{ role: "attribute", text: "alpha" }]).attributes, [["attribute", "alpha"]]);
    assert.deepEqual(describe([{ role: "attribute", text: "ATTRIBUTES=[1; 2]" }]).attributes, [["attributes", "[1; 2]"]]);
    assert.equal(memoryText(""), "");
});
