// Python in a worker. All files are asked for at once and compiled as they arrive; `calc` answers JSON with JSON.

const base = new URL("../runtime/", import.meta.url).href;
const WASM = "pyodide.asm.wasm";
const STALLED_MS = 20_000; // nothing arrives and nothing happens
const TURN_MS = 40; // of work in steps, until others have their turn
const PATIENCE_MS = 90_000; // only the WebAssembly is under way: its bytes go to the compiler uncounted
const RESTING_MS = 1_000; // without a question, until what Python is now is kept for the next visit
const NOTHING = new TextEncoder().encode("{}"); // what there is of late files without a network: a list without names, no archive
const ASKED = "/lib/asked.zip/calc"; // where Python looks for what calc.zip lacks
// It is fetched when that happens, and unpacked as a whole.
const UNPACKING = `
import zipimport
def asked(path, packed="/lib/asked.zz", archive="/lib/asked.zip"):
    if path != archive + "/calc":
        raise ImportError(path)
    import zlib
    try:
        with open(packed, "rb") as given, open(archive, "wb") as taken:
            taken.write(zlib.decompress(given.read()))
    except zlib.error as error:
        raise ImportError(path) from error
    return zipimport.zipimporter(path)
sys.path_hooks.insert(0, asked)
`;
const ANEW = location.hash === "#anew"; // nothing that was kept is used: the start before this one did not end

let python = null; // Pyodide
let calculators = null; // the Python module
let keep = null; // what keeps Python's memory, once
let resting = 0;
let busy = 0;
let resumed = false;
let dead = false; // Python has ended, out of memory as a rule
const dropped = new Set(); // numbers of requests in steps that nobody waits for any more
const missed = new Set(); // addresses that did not answer this question
let arrived = 0;
let expected = 0; // not a number where the host does not say how much it sends
let shown = "";

function say(text, limit = STALLED_MS) {
  if (text === shown) return;
  shown = text;
  postMessage({ kind: "progress", text, limit });
}

function sayArrived() {
  const [part, whole] = [arrived, expected].map((bytes) => (bytes / 1e6).toFixed(1));
  say(`Downloading Python (${expected ? `${part} of ${whole}` : part} MB) …`, PATIENCE_MS);
}

// What was opened once is kept, also for a browser that calls itself online and has no way out.
async function fetched(name) {
  const response = await fetch(base + name).catch(async (error) => {
    const kept = await self.caches?.match(base + name); // hosts without TLS have no caches
    if (!kept) throw new Error(`${name}: ${error.message}`);
    return kept;
  });
  if (!response.ok) throw new Error(`${name} was answered with status ${response.status}`);
  expected += Number(response.headers.get("Content-Length") ?? NaN);
  return response;
}

// A host that does not know WebAssembly's type shall not stop us. The compiler gets the response itself and no copy of
// it, so that the browser can keep the compiled code.
async function compiled() {
  const response = await fetched(WASM);
  const typed = response.headers.get("Content-Type")?.startsWith("application/wasm");
  const headers = { "Content-Type": "application/wasm" };
  const module = await WebAssembly.compileStreaming(typed ? response : new Response(response.body, { headers }));
  arrived += Number(response.headers.get("Content-Length") ?? 0);
  return module;
}

// Archives are packed twice, and unpacked here, so that they are small from any host.
async function unpacked(archive) {
  let packing = "brotli"; // newer than TypeScript's list of formats
  /** @type {GenericTransformStream} */
  let unpacking;
  try {
    unpacking = new DecompressionStream(/** @type {CompressionFormat} */ (packing));
  } catch {
    packing = "gzip";
    unpacking = new DecompressionStream("gzip");
  }
  const response = await fetched(archive[packing].name);
  const counting = new TransformStream({
    transform(chunk, controller) {
      arrived += chunk.length;
      sayArrived();
      controller.enqueue(chunk);
    },
  });
  return new Response(response.body.pipeThrough(counting).pipeThrough(unpacking)).arrayBuffer();
}

async function boot() {
  say("Downloading Python …");
  const module = compiled();
  const manifest = import(`${base}manifest.mjs`);
  const loader = import(`${base}pyodide.mjs`);
  const glue = import(`${base}pyodide.asm.mjs`);
  const stdlib = manifest.then(({ archives }) => unpacked(archives.stdlib));
  const calc = manifest.then(({ archives }) => unpacked(archives.calc));
  const memory = import("./memory.mjs");
  const remembered = Promise.all([memory, manifest])
    .then(([{ forget, recalled }, { build }]) => ANEW ? void forget() : recalled(build))
    .catch(() => undefined); // nothing can be kept here
  const files = Promise.all([module, stdlib, calc, loader, glue]);
  files.then(() => say("Starting Python …"), () => {});

  // Pyodide fetches for itself, and waits for ever where that fails. It gets what is under way already.
  const stdLibURL = `${base}stdlib.zip`;
  const nativeFetch = self.fetch;
  self.fetch = /** @type {typeof fetch} */ ((address, options) => {
    if (String(address) === stdLibURL) return stdlib.then((content) => new Response(content));
    return String(address) === base + WASM ? module : nativeFetch(address, options);
  });
  WebAssembly.instantiateStreaming = async (compiling, imports) => {
    const instance = await WebAssembly.instantiate(await compiling, imports);
    return { module: await compiling, instance };
  };

  const { lock, build, late } = await manifest;
  const { loadPyodide } = await loader;
  const kept = await remembered;
  resumed = kept !== undefined;
  const loading = loadPyodide({
    ...(resumed ? { _loadSnapshot: kept } : { _makeSnapshot: true }),
    indexURL: base,
    stdLibURL,
    lockFileContents: lock,
    packageBaseUrl: base,
    // All that starting and the first answers make is kept; looking for garbage in it takes a fifth of the time.
    fsInit: (FS, { sitePackages }) => FS.writeFile(`${sitePackages}/sitecustomize.py`, "import gc; gc.disable()"),
  });
  python = await Promise.race([loading, files.then(() => loading)]);
  python.FS.writeFile("/lib/calc.zip", new Uint8Array(await calc));
  for (const [name, file] of Object.entries(late)) layLate(python.FS, `/lib/${name}`, base + file.name);
  if (!resumed) python.runPython(`
import sys
sys.path.insert(0, "/lib/calc.zip")
import calc
${UNPACKING}
calc.__path__.append("${ASKED}")
`);
  calculators = python.pyimport("calc.calculators");
  if (resumed) return;
  keep = async () => {
    python.runPython("import gc; gc.freeze(); gc.enable()");
    await (await memory).remember(build, python.makeMemorySnapshot());
  };
}

// A file that is asked for when Python opens it, once for a question. Pyodide has lazy files, too; where nothing answers
// them Python is dead.
function layLate(FS, path, address) {
  let bytes = null;
  const content = () => bytes ?? (missed.has(address) ? NOTHING : bytes = askedNow(address)) ?? NOTHING;
  FS.writeFile(path, "");
  Object.defineProperties(FS.lookupPath(path).node, { contents: { get: content }, usedBytes: { get: () => content().length } });
}

function askedNow(address) {
  const request = new XMLHttpRequest();
  request.open("GET", address, false);
  request.responseType = "arraybuffer";
  try {
    request.send();
  } catch {} // without a network there is nothing late
  if (request.status !== 200) {
    missed.add(address);
    return null;
  }
  postMessage({ kind: "loaded", loaded: [address] });
  return new Uint8Array(request.response);
}

// A browser may have no room for it, or keep nothing at all: then each start is as the first one was.
function rest() {
  if (!keep || busy) return;
  resting = setTimeout(() => {
    keep().catch(() => {});
    keep = null;
  }, RESTING_MS);
}

// What a reader enters is answered by Python, also where it is wrong. An exception is a mistake of ours: it is said, and
// the next question is answered again.
// Plots are imported when the first one asks.
function answered(request, part) {
  try {
    return python.pyimport(part).answer(request);
  } catch (error) {
    return mistaken(error);
  }
}

// What takes long is answered in steps: it says how far it is, others are answered between two of them, and it ends early
// where nobody waits for it any more.
async function answeredInSteps(request, number) {
  const steps = calculators.steps(request);
  try {
    for (let turn = performance.now(); ;) {
      const reply = steps.next().value;
      const { told } = JSON.parse(reply);
      if (!told) return reply;
      if (performance.now() - turn < TURN_MS) continue;
      postMessage({ kind: "told", number, told });
      await new Promise((resolve) => setTimeout(resolve));
      if (dropped.delete(number)) return null;
      turn = performance.now();
    }
  } catch (error) {
    return mistaken(error);
  } finally {
    steps.destroy();
  }
}

function mistaken(error, yours = "what you entered") {
  dead ||= Boolean(error.pyodide_fatal_error);
  if (error.type !== "ModuleNotFoundError") {
    return refused(`This is a mistake in the guide, not in ${yours}: ${error.message.trim().split("\n").at(-1)}.`);
  }
  python.runPython(`import sys; sys.path_importer_cache.pop("${ASKED}", None)`); // it is looked for again the next time
  return refused("This part of the guide is loaded when it is first asked for, and it could not be: try again with a network.");
}

function refused(message) {
  return JSON.stringify({ ok: false, errors: [{ field: "", message }], status: message });
}

// Python says how much of each file it needs; that much is read from the beginning, never more.
async function imported(request, files) {
  let heads = files.map(() => new Uint8Array());
  let asked = "";
  for (;;) {
    const passed = python.toPy(heads);
    let reply;
    try {
      reply = calculators.imported(request, passed);
    } catch (error) {
      return mistaken(error, "your file");
    } finally {
      passed.destroy();
    }
    const { need } = JSON.parse(reply);
    if (!need) return reply;
    if (asked === String(need)) return refused("A file has changed since it was chosen: choose it again.");
    asked = String(need);
    try {
      heads = await Promise.all(files.map(async (file, i) => new Uint8Array(await file.slice(0, need[i]).arrayBuffer())));
    } catch (error) {
      return refused(`A file could not be read, as a folder cannot: ${error.message}`);
    }
  }
}

self.addEventListener("message", async ({ data }) => {
  const { number, request, files, part, steps, drop } = data;
  if (drop) { dropped.add(drop); return; }
  clearTimeout(resting);
  missed.clear();
  busy += 1;
  const answer = files ? await imported(request, files) : steps ? await answeredInSteps(request, number) : answered(request, part);
  busy -= 1;
  dropped.delete(number); // it was done already
  postMessage({ kind: "answer", number, answer, dead });
  rest();
});

try {
  await boot();
  postMessage({ kind: "ready", loaded: performance.getEntriesByType("resource").map(({ name }) => name) });
} catch (error) {
  postMessage(resumed ? { kind: "again" } : { kind: "failed", reason: error.message });
}
