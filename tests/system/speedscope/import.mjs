// SPDX-License-Identifier: Apache-2.0
// Reads profiles with speedscope's own importers and prints what it understood, as JSON.
//
//     node import.mjs FOLDER-OF-THE-NPM-PACKAGE FILE...
//
// The package ships one bundle for the browser. It is run here unchanged, in a context with a document that
// does nothing; drawing fails, which is expected. The bundle's modules define their exports with
// Object.defineProperty: watching that is how the importers are found. They are the ones a person gets who drops
// the file onto the page.
import fs from "node:fs";
import path from "node:path";
import vm from "node:vm";

const [, , packageFolder, ...files] = process.argv;

// Anything can be called, constructed and looked into, and gives more of the same.
function nothing() {
  return new Proxy(function () {}, {
    get(target, key) {
      if (key === Symbol.toPrimitive) return () => "";
      if (key === Symbol.iterator) return function* () {};
      if (key === "then") return undefined;
      if (key === "length") return 0;
      return nothing();
    },
    set: () => true,
    apply: nothing,
    construct: nothing,
  });
}

const said = [];
const context = {
  console: { log: (...words) => said.push(words.join(" ")), warn: (...words) => said.push(words.join(" ")),
             error: (...words) => said.push(words.join(" ")) },
  TextDecoder, TextEncoder, URL, Blob, performance, atob, btoa, setTimeout, clearTimeout, queueMicrotask,
  document: nothing(), FileReader: nothing(), Element: nothing(),
  navigator: { userAgent: "node", platform: "Linux" },
  location: { protocol: "file:", hash: "", search: "", href: "file:///" },
  localStorage: { getItem: () => null, setItem() {} },
  matchMedia: () => ({ matches: false, addListener() {}, addEventListener() {} }),
  addEventListener() {}, removeEventListener() {}, requestAnimationFrame: () => 0, devicePixelRatio: 1,
  alert: (words) => said.push("alert: " + words),
  found: {},
};
context.window = context;
context.self = context;
vm.createContext(context);
vm.runInContext(
  `(() => {
     const define = Object.defineProperty;
     Object.defineProperty = (target, key, how) => {
       if (key === "importProfileGroupFromText") found.importers = target;
       return define(target, key, how);
     };
   })()`,
  context,
);

const release = path.join(packageFolder, "dist", "release");
const bundle = fs.readdirSync(release).find((name) => /^speedscope.*\.js$/.test(name));
try {
  vm.runInContext(fs.readFileSync(path.join(release, bundle), "utf8"), context, { filename: bundle });
} catch (error) {
  said.push("the page cannot be drawn here: " + String(error).slice(0, 80));
}
await new Promise((resolve) => setTimeout(resolve, 0)); // the importers are initialised in a microtask
if (!context.found.importers) throw new Error("no importer found in " + bundle + "; it said: " + said.join("; "));

// Calls come from the call tree in order of time, where a call without duration is a node as well; the walk over
// the samples, which is what is drawn, leaves such calls out and shows that times do not run backwards.
function describe(profile) {
  const counts = {};
  let calls = 0, deepest = 0;
  const nodes = profile.getAppendOrderCalltreeRoot().children.map((node) => [node, 1]);
  while (nodes.length) {
    const [node, depth] = nodes.pop();
    calls++;
    deepest = Math.max(deepest, depth);
    counts[node.frame.name] = (counts[node.frame.name] ?? 0) + 1;
    for (const child of node.children) nodes.push([child, depth + 1]);
  }
  let drawn = 0, closed = 0, last = 0, ordered = true;
  const step = (value) => {
    ordered = ordered && value >= last;
    last = value;
  };
  profile.forEachCall((node, value) => { drawn++; step(value); }, (node, value) => { closed++; step(value); });
  const frames = {};
  profile.forEachFrame((frame) => {
    frames[frame.name] = { self: frame.getSelfWeight(), total: frame.getTotalWeight(), file: frame.file ?? null,
                           line: frame.line ?? null, calls: counts[frame.name] ?? 0 };
  });
  return { name: profile.getName(), unit: profile.getWeightUnit(), calls, deepest, drawn, closed, ordered, frames };
}

const result = [];
for (const file of files) {
  said.length = 0;
  const group = await context.found.importers.importProfileGroupFromText(path.basename(file), fs.readFileSync(file, "utf8"));
  result.push({ file, said: [...said], name: group?.name ?? null, profiles: group ? group.profiles.map(describe) : null });
}
process.stdout.write(JSON.stringify(result, null, 1) + "\n");
