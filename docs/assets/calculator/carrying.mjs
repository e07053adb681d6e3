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
  try {
    sessionStorage.setItem(KEY, JSON.stringify(values));
  } catch {
    // A browser that keeps nothing carries nothing along.
  }
}

// Return what the reader has measured, as Python wrote it; each goes along with every question.
export function corrections() {
  try {
    const kept = JSON.parse(localStorage.getItem(CORRECTIONS) ?? "[]");
    return Array.isArray(kept) ? kept : [];
  } catch {
    return [];
  }
}

export function keepCorrections(entries) {
  if (entries.length) localStorage.setItem(CORRECTIONS, JSON.stringify(entries));
  else localStorage.removeItem(CORRECTIONS);
}
