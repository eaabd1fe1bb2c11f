// Light, dark, or as the system has it: what was chosen is kept for this browser.
const KEY = "hocket.theme";
const order = ["system", "light", "dark"];

export function current() {
  try {
    const kept = localStorage.getItem(KEY);
    return order.includes(kept) ? kept : "system";
  } catch {
    return "system"; // a page that was mailed may have no storage
  }
}

export function apply() {
  const chosen = current();
  if (chosen === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = chosen;
}

export function next() {
  const chosen = order[(order.indexOf(current()) + 1) % order.length];
  try {
    localStorage.setItem(KEY, chosen);
  } catch {
    document.documentElement.dataset.theme = chosen;
    return;
  }
  apply();
}

export function sign() {
  return { system: "◐", light: "☀", dark: "☾" }[current()];
}
