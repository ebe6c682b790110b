// The frame of the page: views, search, tables, theme.

import { connect } from "./api.js";
import { AskView } from "./ask.js";
import { $, fill, h, number, problem, say, setLinks, tellHolder } from "./dom.js";
import { MapView, setMapLinks } from "./map/map-view.js";
import { ScoresView } from "./scores.js";
import { address, get, go, listen, note, VIEWS } from "./state.js";
import { WordView } from "./word.js";

setLinks(address);
setMapLinks(address);

async function start() {
  startTheme();
  const api = await connect();
  let contents;
  try {
    contents = await api.ask("tables");
  } catch (error) {
    $("main").replaceChildren(problem(error));
    return;
  }
  const names = contents.tables.map((table) => table.name);
  if (!names.includes(get().table)) note({ table: names[0] });
  if (!contents.layouts.includes(get().layout)) note({ layout: contents.layouts[0] });
  showTables(contents);
  showChoices(contents);
  const views = { map: new MapView(api, contents), word: new WordView(api, contents), ask: new AskView(api, contents), scores: new ScoresView(api, contents) };
  startSearch(api);
  const show = (state, before) => {
    for (const name of VIEWS) {
      $(`#${name}`).hidden = name !== state.view;
      const tab = $(`nav a[data-view=${name}]`);
      tab.href = address({ view: name });
      if (name === state.view) tab.setAttribute("aria-current", "page");
      else tab.removeAttribute("aria-current");
    }
    $("#table").value = state.table;
    $("#color").value = state.color;
    $("#layout").value = state.layout;
    document.title = `${state.word && state.view !== "scores" ? `${state.word} · ` : ""}wordstill`;
    if (state.view === "map") showMap(views.map, state, before);
    else {
      views[state.view].show(state, before);
      document.documentElement.dataset.ready = state.view;
    }
  };
  listen(show);
  joinHolder();
  document.addEventListener("themechange", () => views.map.recolor());
  show(get(), null);
}

// Inside the frame of a notebook: whoever holds it is told of the word, and may choose another one.
function joinHolder() {
  if (parent === window) return;
  listen((state, before) => state.word !== before.word && tellHolder({ word: state.word }));
  addEventListener("message", ({ source, data }) => {
    const word = data?.wordstill?.word;
    if (source === parent && typeof word === "string" && word !== get().word) go({ word, at: "", view: get().view === "word" ? "word" : "map" });
  });
  tellHolder({ ready: true });
}

async function showMap(view, state, before) {
  view.resize();
  await view.load();
  if (!before) return;
  if (before.word !== state.word || before.table !== state.table) view.select(state.word, { move: !state.at });
  if (before.color !== state.color || before.list !== state.list) view.recolor();
  if (before.view !== "map" && !before.at && state.at) view.camera.text = state.at;
  view.draw();
}

function showTables(contents) {
  const select = $("#table");
  fill(select, contents.tables.map((table) => h("option", { value: table.name }, table.name)));
  select.addEventListener("change", () => go({ table: select.value, at: "" }));
  $("#table-box").hidden = contents.tables.length < 2;
  const facts = contents.tables.map((table) => {
    const parts = [`${number(table.words)} words × ${table.dimensions}`, table.teacher && `from ${table.teacher}`, table.on_map < table.words && `map of the ${number(table.on_map)} most frequent`];
    return `${table.name}: ${parts.filter(Boolean).join(", ")}`;
  });
  $("#facts").textContent = facts.join(" · ") + (contents.text_words ? ` · text of ${number(contents.text_words)} words` : "") + (contents.note ? ` · ${contents.note}` : "");
}

function showChoices(contents) {
  fill($("#layout"), contents.layouts.map((name) => h("option", { value: name }, { tsne: "t-SNE", umap: "UMAP", pca: "PCA" }[name])));
  $("#layout-box").hidden = contents.layouts.length < 2;
  $("#layout").addEventListener("change", (event) => go({ layout: event.target.value, at: "" }));
  $("#color").addEventListener("change", (event) => go({ color: event.target.value }));
}

function startTheme() {
  const root = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)");
  let chosen = null;
  try {
    chosen = localStorage.getItem("theme");
  } catch {
    // A page from disk may have no storage.
  }
  const apply = () => {
    root.dataset.theme = chosen ?? (system.matches ? "dark" : "light");
    $("#theme").setAttribute("aria-label", root.dataset.theme === "dark" ? "Light colors" : "Dark colors");
    document.dispatchEvent(new Event("themechange"));
  };
  system.addEventListener("change", apply);
  $("#theme").addEventListener("click", () => {
    chosen = root.dataset.theme === "dark" ? "light" : "dark";
    try {
      localStorage.setItem("theme", chosen);
    } catch {
      // The choice then lasts as long as the page.
    }
    apply();
  });
  apply();
}

function startSearch(api) {
  const [input, list] = [$("#search"), $("#found")];
  let words = [];
  let active = -1;
  let turn = 0;
  const close = () => {
    // An answer that is still on its way must not open the list again.
    turn += 1;
    list.hidden = true;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
    active = -1;
  };
  const choose = (word) => {
    close();
    input.value = "";
    input.blur();
    go({ word, at: "", view: get().view === "word" ? "word" : "map" });
  };
  // The words found may be those of an earlier, shorter text.
  const fitting = () => words.length && words[0].score >= 0 && words[0].word.toLowerCase().includes(input.value.trim().toLowerCase());
  const mark = (place) => {
    active = (place + words.length) % words.length;
    [...list.children].forEach((item, number) => item.setAttribute("aria-selected", String(number === active)));
    input.setAttribute("aria-activedescendant", `found-${active}`);
  };
  const search = async () => {
    const mine = ++turn;
    if (!input.value.trim()) return close();
    const { words: found } = await api.ask("search", { q: input.value, table: get().table, limit: 10 });
    if (mine !== turn) return;
    words = found;
    const near = found.length && found[0].score < 0;
    fill(
      list,
      found.map(({ word, count }, place) => h("li", { role: "option", id: `found-${place}`, "aria-selected": "false", onpointerdown: (event) => (event.preventDefault(), choose(word)) }, h("span", { class: "word" }, word), count === null ? null : h("small", {}, number(count)))),
      found.length ? null : h("li", { class: "none", role: "option", "aria-disabled": "true", "aria-selected": "false" }, "No such word in this table"),
    );
    list.hidden = false;
    input.setAttribute("aria-expanded", "true");
    active = -1;
    say(near ? `No such word. Near it in spelling: ${found.map((one) => one.word).join(", ")}` : `${found.length} words found`);
  };
  input.addEventListener("input", search);
  input.addEventListener("focus", () => input.value && search());
  input.addEventListener("blur", close);
  input.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" && words.length) mark(active + 1);
    else if (event.key === "ArrowUp" && words.length) mark(active < 0 ? words.length - 1 : active - 1);
    else if (event.key === "Enter") {
      const typed = input.value.trim();
      if (active >= 0) choose(words[active].word);
      else if (typed) choose(words.find(({ word }) => word === typed)?.word ?? (fitting() ? words[0].word : typed));
    } else if (event.key === "Escape") input.blur();
    else return;
    event.preventDefault();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && !/^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement.tagName)) {
      event.preventDefault();
      input.focus();
    }
  });
}

start();
