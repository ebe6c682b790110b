// Elements from data: text is always a text node, so a word can never become markup.

export function h(tag, props = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "style") Object.assign(element.style, value);
    else if (name in element && typeof value !== "string") element[name] = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(3).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

export function svg(tag, props = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(props)) element.setAttribute(name, value);
  element.append(...children.flat(3));
  return element;
}

export const $ = (selector) => document.querySelector(selector);
export const fill = (element, ...children) => (element.replaceChildren(...children.flat(3).filter(Boolean)), element);
export const number = (value) => (value ?? 0).toLocaleString("en-US");
export const calm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

const polite = () => $("#status");
export function say(text) {
  polite().textContent = text;
}

export const tellHolder = (news) => parent !== window && parent.postMessage({ wordstill: news }, "*");

export function problem(error) {
  const near = error.near?.length ? h("p", {}, "Near it in spelling: ", joined(error.near.map((word) => wordLink(word)))) : null;
  return h("div", { class: "problem", role: "alert" }, h("p", {}, error.message), near);
}

export const joined = (parts) => parts.flatMap((part, place) => (place ? [", ", part] : [part]));

// A word is a link to itself, so it can be opened in another tab, copied and reached by the keyboard.
let linkTo = () => "#";
export const setLinks = (make) => (linkTo = make);
export function wordLink(word, props = {}) {
  return h("a", { class: "word", href: linkTo({ view: "word", word, other: null }), ...props }, word);
}
export const link = (change, props, ...children) => h("a", { href: linkTo(change), ...props }, ...children);

export function download(name, text, type = "text/csv") {
  const address = URL.createObjectURL(new Blob([text], { type }));
  h("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}

export const csv = (rows) =>
  rows.map((row) => row.map((cell) => (/[",\n]/.test(cell) ? `"${String(cell).replaceAll('"', '""')}"` : cell)).join(",")).join("\n") + "\n";
