// The evaluation: a row of bars with intervals for each set, the papers' rows, and the pairs that went wrong.

import { $, csv, download, fill, h, link, number, problem } from "./dom.js";
import { get } from "./state.js";

const COLORS = ["var(--accent)", "#2f7fb8", "#3f8f4f", "#8a5fb0", "#c23f5e", "#1d9a93"];
const ITEMS = { similarity: "Pairs", analogy: "Questions" };
const FILLED_IN = ["similarity", "analogy", "categorisation"];
const METRICS = { spearman: "Spearman", pearson: "Pearson", accuracy: "accuracy" };

export class ScoresView {
  constructor(api, contents) {
    this.api = api;
    this.contents = contents;
  }

  async show({ table }) {
    const box = $("#scores");
    if (this.shown === table) return;
    let found;
    try {
      found = await this.api.ask("scores");
    } catch (error) {
      fill(box, problem(error));
      return;
    }
    this.shown = table;
    if (!found.evaluation) {
      fill(box, h("div", { class: "empty" }, h("h1", {}, "Scores"), h("p", {}, found.note)));
      return;
    }
    const tables = Object.entries(found.evaluation.tables);
    const sets = Object.keys(found.titles);
    fill(
      box,
      h("header", { class: "title" }, h("h1", {}, "Scores"), h("button", { class: "button", onclick: () => download("scores.csv", rows(tables)) }, "CSV")),
      h("ul", { class: "key" }, tables.map(([name], place) => h("li", {}, h("i", { style: { background: COLORS[place % COLORS.length] } }), name)), h("li", {}, h("i", { class: "paper" }), "papers, best row")),
      h("div", { class: "sets" }, sets.map((set) => this.set(set, found, tables))),
      h("p", { class: "quiet" }, found.evaluation.protocol?.description ?? ""),
      h("p", { class: "quiet" }, "Scores × 100; the thin line is the 95 % bootstrap interval over items. Published scores come from other evaluators, words and rules: they are for orientation only."),
    );
  }

  set(set, { titles, published }, tables) {
    const own = tables.map(([name, { scores }]) => [name, scores.find((score) => score.dataset === set)]);
    const papers = published.filter((row) => set in row.scores).sort((one, other) => other.scores[set] - one.scores[set]);
    const first = own.find(([, score]) => score)?.[1];
    const errors = h("div");
    return h(
      "article",
      { class: "card set" },
      h("h2", {}, titles[set], h("small", {}, METRICS[first?.metric] ?? first?.metric ?? "")),
      own.map(([name, score], place) => (score ? bar(name, score, COLORS[place % COLORS.length]) : null)),
      papers.length ? paperBar(papers[0], set) : null,
      covered(own.filter(([, score]) => score)).map((text) => h("p", { class: "quiet" }, text)),
      papers.length ? h("details", {}, h("summary", {}, `${papers.length} published rows`), h("div", { class: "rows", tabindex: "0", role: "region", "aria-label": `Published rows of ${titles[set]}` }, h("table", {}, h("tbody", {}, papers.map((row) => h("tr", {}, h("td", {}, row.model), h("td", {}, h("small", {}, row.source)), h("td", { class: "figure" }, row.scores[set].toFixed(1)))))))) : null,
      ITEMS[first?.task] ? h("details", { ontoggle: (event) => event.target.open && this.errors(set, tables.map(([name]) => name), errors) }, h("summary", {}, `${ITEMS[first.task]} that went wrong`), errors) : null,
    );
  }

  async errors(dataset, names, box) {
    const loaded = this.contents.tables.map((table) => table.name);
    const table = names.includes(get().table) ? get().table : (names.find((name) => loaded.includes(name)) ?? loaded[0]);
    try {
      const { pairs, answers, note } = await this.api.ask("errors", { dataset, table, limit: 12 });
      if (answers.length) return fill(box, h("p", { class: "quiet" }, `Some wrong answers of ${table}.`), wrongAnswers(answers));
      fill(box, note ? h("p", { class: "quiet" }, note) : [h("p", { class: "quiet" }, `In ${table}: people and cosines rank these pairs most differently.`), h("table", {}, h("thead", {}, h("tr", {}, ["pair", "people", "cosine", "ranked"].map((text) => h("th", {}, text)))), h("tbody", {}, pairs.map((pair) => h("tr", {}, h("td", {}, link({ view: "word", word: pair.first, other: pair.second, table }, { class: "word" }, `${pair.first} · ${pair.second}`)), h("td", { class: "figure" }, pair.human.toFixed(1)), h("td", { class: "figure" }, pair.cosine.toFixed(2)), h("td", {}, pair.error > 0 ? "too near" : "too far")))))]);
    } catch (error) {
      fill(box, problem(error));
    }
  }
}

const wrongAnswers = (answers) => h("table", {}, h("thead", {}, h("tr", {}, ["question", "expected", "answer"].map((text) => h("th", {}, text)))), h("tbody", {}, answers.map(({ a, b, c, expected, given }) => h("tr", {}, h("td", {}, `${a} : ${b} = ${c} : ?`), h("td", {}, expected), h("td", {}, given)))));

// How many items scores are over: one line where it is the same for all tables, else a line for each.
function covered(own) {
  const texts = own.map(([name, score]) => [name, coverage(score)]);
  const same = texts.every(([, text]) => text === texts[0][1]);
  return same ? texts.slice(0, 1).map(([, text]) => text) : texts.map(([name, text]) => `${name}: ${text}`);
}

function coverage({ coverage: { used, total }, n = used, task, protocol = "" }) {
  const filled = FILLED_IN.includes(task) && protocol.includes("oov=backoff") && n !== used;
  return filled ? `${number(n)} of ${number(total)} items scored, ${number(used)} of them without back-offs` : `${number(used)} of ${number(total)} items covered`;
}

const clip = (value) => `${Math.max(0, Math.min(100, value))}%`;

function bar(name, score, color) {
  if (score.value === null) return h("p", { class: "quiet" }, `${name}: no score, ${score.problem}`);
  const [low, high] = Array.isArray(score.interval) ? score.interval : [score.interval.low, score.interval.high];
  return h("div", { class: "score", title: `${name}: ${score.value.toFixed(1)} [${low.toFixed(1)}, ${high.toFixed(1)}]` }, h("span", { class: "name" }, name), h("span", { class: "track" }, h("i", { style: { width: clip(score.value), background: color } }), h("b", { style: { left: clip(low), width: clip(high - low) } })), h("span", { class: "value" }, score.value.toFixed(1)));
}

const paperBar = (row, set) => h("div", { class: "score", title: row.source }, h("span", { class: "name" }, row.model), h("span", { class: "track" }, h("i", { class: "paper", style: { width: clip(row.scores[set]) } })), h("span", { class: "value" }, row.scores[set].toFixed(1)));

const rows = (tables) => csv([["table", "set", "metric", "score", "scored", "covered", "items"], ...tables.flatMap(([name, { scores }]) => scores.map((score) => [name, score.dataset, score.metric, score.value ?? "", score.n ?? "", score.coverage.used, score.coverage.total]))]);
