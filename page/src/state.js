// What the page shows is in its address: #/view?name=value. Everything else follows from it.

const DEFAULTS = { view: "map", table: "", word: "", other: "", color: "cluster", layout: "", list: "", at: "", ask: "", more: "", painter: "" };
export const VIEWS = ["map", "word", "ask", "scores"];

let current = read();
const listeners = [];

function read() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
  const state = { ...DEFAULTS };
  for (const [name, value] of new URLSearchParams(query ?? "")) state[name] = value;
  state.view = VIEWS.includes(path) ? path : "map";
  return state;
}

export function address(change = {}) {
  const state = { ...current, ...change };
  if (change.word && change.word !== current.word && change.other === undefined) state.other = "";
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(state)) {
    if (name !== "view" && value && value !== DEFAULTS[name]) query.set(name, value);
  }
  const text = query.toString();
  return `#/${state.view}${text ? `?${text}` : ""}`;
}

export const get = () => current;
export const listen = (listener) => listeners.push(listener);

// A step that the back button should undo.
export function go(change) {
  const next = address(change);
  if (next !== location.hash) location.hash = next;
}

// A detail, such as where the camera stands: no step of its own.
export function note(change) {
  try {
    history.replaceState(null, "", address(change));
  } catch {
    // A page inside a notebook's output has no address of its own.
  }
  current = { ...current, ...change };
}

window.addEventListener("hashchange", () => {
  const before = current;
  current = read();
  listeners.forEach((listener) => listener(current, before));
});

// There a link would lead away, as it is relative to the notebook's address.
document.addEventListener("click", (event) => {
  const target = event.target.closest?.('a[href^="#/"]');
  if (!target || location.protocol !== "about:") return;
  event.preventDefault();
  location.hash = target.getAttribute("href");
});
