// SPDX-License-Identifier: Apache-2.0
// Builds the page into dist/ (index.html, app.js, app.css, worker.js, licenses.txt), which the opscope binary embeds.
//   node build.mjs [--out DIR]   the page
//   node build.mjs --test        the unit tests, into build/test/, for node's own test runner
import * as esbuild from "esbuild";
import { copyFileSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const here = dirname(fileURLToPath(import.meta.url));
const argument = (name) => {
    const at = process.argv.indexOf(name);
    return at < 0 ? undefined : process.argv[at + 1];
};
const GZIPPED_BYTES_MAX = 200 * 1024;

/** The licences of the packages that are in the bundle: they ask to be passed on with it. */
function writeLicenses(inputs, file) {
    const packages = new Set();
    for (const input of Object.keys(inputs)) {
        const found = /^(?:.*\/)?node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(input);
        if (found) packages.add(found[1]);
    }
    const texts = [...packages].sort().map((name) => {
        const folder = join(here, "node_modules", name);
        const { version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
        const text = readFileSync(join(folder, "LICENSE"), "utf8").trim();
        return `${name} ${version} (${license})\n\n${text}\n`;
    });
    writeFileSync(file, `The page of opscope contains:\n\n${texts.join("\n----\n\n")}`);
}

async function buildPage(out) {
    mkdirSync(out, { recursive: true });
    const built = await esbuild.build({
        metafile: true,
        entryPoints: { app: join(here, "src/main.tsx"), worker: join(here, "src/timeline/worker.ts") },
        outdir: out,
        bundle: true,
        minify: !process.argv.includes("--debug"),
        format: "iife",
        target: "es2022",
        jsx: "automatic",
        jsxImportSource: "preact",
        legalComments: "none",
        charset: "utf8",
        logLevel: "warning",
    });
    await esbuild.build({
        entryPoints: [join(here, "src/app.css")],
        outfile: join(out, "app.css"),
        minify: true,
        logLevel: "warning",
    });
    copyFileSync(join(here, "src/index.html"), join(out, "index.html"));
    writeLicenses(built.metafile.inputs, join(out, "licenses.txt"));
    const files = ["index.html", "app.js", "app.css", "worker.js"].map((name) => join(out, name));
    const gzipped = files.reduce((sum, file) => sum + gzipSync(readFileSync(file)).length, 0);
    const plain = files.reduce((sum, file) => sum + statSync(file).size, 0);
    console.log(`page: ${plain} bytes, ${gzipped} gzipped`);
    if (gzipped > GZIPPED_BYTES_MAX) {
        console.error(`the page is larger than ${GZIPPED_BYTES_MAX} bytes gzipped: leave something out`);
        process.exit(1);
    }
}

async function buildTests() {
    const tests = readdirSync(join(here, "test")).filter((name) => name.endsWith(".test.ts"));
    await esbuild.build({
        entryPoints: tests.map((name) => join(here, "test", name)),
        outdir: join(here, "build/test"),
        outExtension: { ".js": ".mjs" },
        bundle: true,
        platform: "node",
        format: "esm",
        jsx: "automatic",
        jsxImportSource: "preact",
        logLevel: "warning",
        define: { WEB_FOLDER: JSON.stringify(here) },
    });
}

if (process.argv.includes("--test")) {
    await buildTests();
} else {
    await buildPage(argument("--out") ?? join(here, "dist"));
}
