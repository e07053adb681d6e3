// Makes Pyodide as small as a page needs it:  node trimming.mjs PYODIDE TARGET
//
// Pyodide's WebAssembly exports all that a compiled package might link to, and its glue has a line for each. The guide
// loads no such package: what neither the glue nor the loader says again is no export any more, binaryen's
// wasm-metadce takes away what nothing reaches then, and the glue loses the lines and the imports that are left over.
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { transformSync } from "esbuild";

const GLUE = "pyodide.asm.mjs";
const WASM = "pyodide.asm.wasm";
const LINES = /var ([\w$,]+);(function assignWasmExports\(wasmExports\)\{)([^}]*)/; // their names, and a line for each export
const OFFERED = /Module\["([\w$]+)"\]=\1;/g; // functions of the glue's own
const IMPORTS = /(wasmImports=\{)([^}]*)/;
// What Pyodide is compiled with, and no more: a browser shall not need what is newer.
const FEATURES = ["bulk-memory", "exception-handling", "extended-const", "multivalue", "mutable-globals",
  "nontrapping-float-to-int", "reference-types", "sign-ext"].map((name) => `--enable-${name}`);

const [pyodide, target] = process.argv.slice(2);
const read = (name) => fs.readFileSync(path.join(pyodide, name), "utf8");
const within = (folder, name) => new WebAssembly.Module(fs.readFileSync(path.join(folder, name)));

// Return the exports that glue and loader say somewhere else than in the export's own line.
function said(module, glue, lines) {
  const others = glue.replace(LINES, "") + read("pyodide.mjs");
  const words = new Set(others.match(/[\w$]+/g));
  const called = new Map(lines.map((line) => [exported(line), line.slice(0, line.indexOf("="))]));
  const linked = new Set(WebAssembly.Module.imports(module).filter(({ module }) => module === "GOT.func").map(({ name }) => name));
  return new Set(WebAssembly.Module.exports(module).map(({ name }) => name)
    .filter((name) => words.has(name) || words.has(called.get(name)) || linked.has(name)));
}

// Return the glue without what it offers and nobody takes: as a field, by its own code or the loader's.
function unoffered(glue) {
  const fields = new Set([...(glue.replace(OFFERED, "") + read("pyodide.mjs")).matchAll(/(?:\.|\[")([\w$]+)/g)].map(([, name]) => name));
  return glue.replace(OFFERED, (statement, name) => fields.has(name) ? statement : "");
}

function exported(line) {
  return line.match(/wasmExports\["([^"]+)"\]/)[1];
}

function reach(kept) {
  const graph = path.join(target, "graph.json");
  fs.writeFileSync(graph, JSON.stringify([...kept].map((name) => ({ name: `export ${name}`, export: name, root: true }))));
  const tool = path.join(path.dirname(fileURLToPath(import.meta.resolve("binaryen"))), "bin/wasm-metadce");
  const command = [tool, path.join(pyodide, WASM), ...FEATURES, "--graph-file", graph, "-o", path.join(target, WASM)];
  execFileSync(process.execPath, command, { stdio: ["ignore", "ignore", "pipe"] });
  fs.rmSync(graph);
}

const glue = read(GLUE);
if (!LINES.test(glue) || !IMPORTS.test(glue)) throw new Error(`${GLUE} is not written as macros/runtime/trimming.mjs knows it`);
const [, names, , assigned] = glue.match(LINES);
const lines = assigned.split(";");
const kept = said(within(pyodide, WASM), glue, lines);
reach(kept);
const left = lines.filter((line) => kept.has(exported(line)));
const gone = new Set(lines.filter((line) => !kept.has(exported(line))).flatMap((line) => line.match(/[\w$]+(?==)/g)));
const imported = new Set(WebAssembly.Module.imports(within(target, WASM)).map(({ name }) => name));
const trimmed = unoffered(glue)
  .replace(LINES, (_, _names, head) => `var ${names.split(",").filter((name) => !gone.has(name))};${head}${left.join(";")}`)
  .replace(IMPORTS, (_, head, entries) => head + entries.split(",").filter((entry) => imported.has(entry.split(":")[0])));
fs.writeFileSync(path.join(target, GLUE), transformSync(trimmed, { format: "esm", minify: true, legalComments: "inline" }).code);
