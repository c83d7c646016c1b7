// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { Resource } from "../src/model/resource";

test("of a trace that grows a question rests after its answer; of one that has ended it is asked at once", async () => {
    const asked: string[] = [];
    const answers: (() => void)[] = [];
    Object.assign(globalThis, {
        window: globalThis,
        fetch: (address: string) => new Promise((done) => {
            asked.push(address);
            answers.push(() => done(new Response("{}")));
        }),
    });
    const shown = async (resource: Resource<unknown>, stamp: number) => {
        while (resource.shown.peek() !== stamp || resource.loading.peek()) await new Promise((done) => setTimeout(done, 1));
    };
    const resource = new Resource<unknown>();
    Resource.grows = () => true;
    resource.load("/zones", {}, 1);
    resource.load("/zones", {}, 2); // it has grown: the question that is on its way is not given up
    assert.equal(asked.length, 1);
    await new Promise((done) => setTimeout(done, 30));
    answers[0]?.();
    await shown(resource, 1);
    assert.equal(asked.length, 1, "it rests four times as long as that took");
    while (asked.length < 2) await new Promise((done) => setTimeout(done, 1));
    answers[1]?.();
    await shown(resource, 2);
    resource.load("/zones", {}, 3);
    Resource.grows = () => false;
    resource.load("/zones", {}, 4);
    assert.equal(asked.length, 3, "the recording has ended");
    answers[2]?.();
    await shown(resource, 4);
});
