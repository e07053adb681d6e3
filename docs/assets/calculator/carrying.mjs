// The reader's case goes along from one calculator to the next, in this tab: what was changed, by the names of the fields.

const KEY = "gpu-case";
const CORRECTIONS = "gpu-corrections"; // what was measured on the reader's machines, in this browser

// Return what goes along.
export function carried() {
  try {
    return JSON.parse(sessionStorage.getItem(KEY) ?? "{}");
  } catch {
    return {}; // no storage, or not ours
  }
}

// Keep the fields of a form that were changed; those that have their first value again are forgotten.
export function carry(changed, unchanged) {
  const values = { ...carried(), ...changed };
  for (const name of unchanged) delete values[name];
  write(values);
}

export function forget() {
  write({});
}

function write(values) {
  keepInTab(KEY, values);
}

// Keep a value in this tab; a browser that keeps nothing carries nothing along.
export function keepInTab(key, value) {
  try {
    sessionStorage.setItem(key, JSON.stringify(value));
  } catch {
    // no storage
  }
}

/**
 * Return a list that is kept, in this tab or in this browser; empty where there is none.
 * @param {"sessionStorage" | "localStorage"} place
 * @param {string} key
 * @returns {any[]}
 */
export function keptList(place, key) {
  try {
    const kept = JSON.parse(window[place].getItem(key) ?? "[]");
    return Array.isArray(kept) ? kept : [];
  } catch {
    return [];
  }
}

// Return what the reader has measured, as Python wrote it; each goes along with every question.
export function corrections() {
  return keptList("localStorage", CORRECTIONS);
}

export function keepCorrections(entries) {
  if (entries.length) localStorage.setItem(CORRECTIONS, JSON.stringify(entries));
  else localStorage.removeItem(CORRECTIONS);
}
