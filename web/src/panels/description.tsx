// SPDX-License-Identifier: Apache-2.0
// Tensors, attributes and kernels of an op.
import { plural } from "../model/format";
import { describe, type Part as Described } from "../model/description";
import { fileName, safeText } from "../model/text";
import { Facts, type Fact } from "./facts";
import { Part } from "./inspector";

const ROLES: Record<string, string> = { input: "in", output: "out" };
/** Longer values are cut, and whole in the tooltip. */
const LONG = 120;

const cut = (text: string) => (text.length > LONG ? <span title={safeText(text)}>{safeText(`${text.slice(0, LONG)}…`)}</span> : safeText(text));
const fact = ([key, value]: [string, string]): Fact => [key, cut(value)];

/** "['a/b/reader.cpp'; 'a/b/writer.cpp']" as the names of its files. */
function kernelFact([key, value]: [string, string]): Fact {
    const files = [...value.matchAll(/'([^']*)'/g)].map(([, file = ""]) => file);
    if (!files.length) return fact([key, value]);
    return [key, <>{files.map((file) => <div key={file} class="el" title={safeText(file)}>{fileName(file.replace(/\/$/, ""))}</div>)}</>];
}

export function Description({ parts }: { parts: readonly Described[] }) {
    const { tensors, attributes, unset, kernels } = describe(parts);
    const has = (key: "dtype" | "layout" | "memory") => tensors.some((one) => one[key]);
    return (
        <>
            {tensors.length > 0 && (
                <Part title="Tensors">
                    <table class="small-table tensors" aria-label="Tensors">
                        <thead><tr><th>tensor</th><th>shape</th>{has("dtype") && <th>type</th>}{has("layout") && <th>layout</th>}{has("memory") && <th>memory</th>}</tr></thead>
                        <tbody>
                            {tensors.map((one, index) => (
                                <tr key={index}>
                                    <td>{ROLES[one.role] ?? one.role}</td><td title={safeText(one.shape)}>{safeText(one.shape)}</td>
                                    {has("dtype") && <td>{safeText(one.dtype)}</td>}{has("layout") && <td>{safeText(one.layout)}</td>}{has("memory") && <td title={safeText(one.memory)}>{safeText(one.memory)}</td>}
                                </tr>
                            ))}
                        </tbody>
                    </table>
                </Part>
            )}
            {attributes.length > 0 && (
                <Part title="Attributes">
                    <Facts rows={attributes.map(fact)} />
                    {unset.length > 0 && <p class="t3" title={safeText(unset.join(", "))}>{plural(unset.length, "more", "more")} without a value</p>}
                </Part>
            )}
            {kernels.length > 0 && (
                <Part title="Kernels">
                    <details>
                        <summary>{plural(kernels.length, "entry", "entries")}</summary>
                        <Facts rows={kernels.map(kernelFact)} />
                    </details>
                </Part>
            )}
        </>
    );
}
