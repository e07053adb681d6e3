// Run by Node beside the unpacked package: reads simulations from standard input, writes the metrics of each.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const folder = process.argv[2];
const lab = await import(pathToFileURL(join(folder, 'inference_lab.js')).href);
lab.initSync({ module: readFileSync(join(folder, 'inference_lab_bg.wasm')) });
const found = {};
for (const [id, simulation] of Object.entries(JSON.parse(readFileSync(0, 'utf8')))) {
  try {
    found[id] = lab.run_simulation(JSON.stringify(simulation)).metrics;
  } catch (error) {
    found[id] = String(error);
  }
}
process.stdout.write(JSON.stringify(found));
