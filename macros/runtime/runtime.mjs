// The two steps of the browser runtime's build that need node.
//   node runtime.mjs call FUNCTION WORK PYODIDE [STDLIB]   run inside.py's FUNCTION in the runtime: job.json -> result.json
//   node runtime.mjs compress QUALITY FILE...             write FILE.gzip and FILE.brotli
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import zlib from "node:zlib";

// Compiling takes it from the environment: without docstrings and asserts a seventh of the bytes is saved.
const env = { PYTHONOPTIMIZE: "2" };

async function call(name, work, pyodide, stdlib) {
  const { loadPyodide } = await import(pathToFileURL(path.join(pyodide, "pyodide.mjs")));
  const { info } = JSON.parse(fs.readFileSync(path.join(pyodide, "pyodide-lock.json")));
  const python = await loadPyodide({
    env,
    indexURL: pyodide,
    stdLibURL: stdlib,
    args: ["-X", "no_debug_ranges"], // a page shows no source lines to mark columns in; the marks are a quarter of the bytecode
    lockFileContents: { info, packages: {} },
    packageBaseUrl: pyodide,
  });
  const folders = { "/work": work, "/inside": path.dirname(fileURLToPath(import.meta.url)) };
  for (const [inner, outer] of Object.entries(folders)) {
    python.FS.mkdirTree(inner);
    python.mountNodeFS(inner, outer);
  }
  python.runPython(`
import json, sys
sys.path[:0] = ["/work/calc.zip"]
sys.path.append("/inside")
import inside
with open("/work/job.json") as job, open("/work/result.json", "w") as result:
    json.dump(inside.${name}(json.load(job)), result)
`);
}

function compress(quality, ...files) {
  for (const file of files) {
    const content = fs.readFileSync(file);
    const params = {
      [zlib.constants.BROTLI_PARAM_QUALITY]: Number(quality),
      [zlib.constants.BROTLI_PARAM_LGWIN]: 24,
      [zlib.constants.BROTLI_PARAM_SIZE_HINT]: content.length,
    };
    fs.writeFileSync(`${file}.gzip`, zlib.gzipSync(content, { level: 9 }));
    fs.writeFileSync(`${file}.brotli`, zlib.brotliCompressSync(content, { params }));
  }
}

const [step, ...rest] = process.argv.slice(2);
try {
  await { call, compress }[step](...rest);
  process.exit(0); // the runtime keeps node's event loop alive
} catch (error) {
  console.error(error.message); // for a Python error its traceback; node would print the runtime's one long line too
  process.exit(1);
}
