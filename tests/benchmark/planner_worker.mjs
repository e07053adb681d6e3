// The site's Python, as its own worker starts it; it runs the code that it is sent and answers with its result.

import { archives, late, lock } from "./runtime/manifest.mjs";
import { loadPyodide } from "./runtime/pyodide.mjs";

const base = new URL("./runtime/", import.meta.url).href;
const stdLibURL = `${base}stdlib.zip`;
const nativeFetch = self.fetch;

async function unpacked({ gzip }) {
  const response = await nativeFetch(base + gzip.name);
  return new Response(response.body.pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
}

const asked = new Promise((resolve) => self.addEventListener("message", ({ data }) => resolve(data)));
self.fetch = async (address, options) =>
  String(address) === stdLibURL ? new Response(await unpacked(archives.stdlib)) : nativeFetch(address, options);
const python = await loadPyodide({
  indexURL: base,
  stdLibURL,
  lockFileContents: lock,
  packageBaseUrl: base,
  fsInit: (FS, { sitePackages }) => FS.writeFile(`${sitePackages}/sitecustomize.py`, "import gc; gc.disable()"),
});
python.FS.writeFile("/lib/calc.zip", new Uint8Array(await unpacked(archives.calc)));
for (const [name, file] of Object.entries(late)) { // a page fetches them when they are first needed
  const { body } = await nativeFetch(base + file.name);
  const plain = name.endsWith(".zz") ? body.pipeThrough(new DecompressionStream("deflate")) : body;
  python.FS.writeFile(`/lib/${name.replace(".zz", ".zip")}`, new Uint8Array(await new Response(plain).arrayBuffer()));
}
python.runPython(`
import sys, gc
sys.path.insert(0, "/lib/calc.zip")
import calc
calc.__path__.append("/lib/asked.zip/calc")
import calc.calculators
gc.freeze(); gc.enable()
`);
postMessage(python.runPython(await asked));
