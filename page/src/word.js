// A word: its neighbors in every table, and the sentences behind it.

import { $, fill, h, link, number, problem, say } from "./dom.js";
import { neighborList } from "./map/map-view.js";
import { senseCard, timelineCard } from "./meanings.js";
import { get } from "./state.js";

const PAGE = 12;
const BY_WORDS =
  "One sentence with each word, paired by how alike their other words are in this table (cosine of weighted means). Tables made with --occurrences 50 compare what the language model made of the two words, if both are frequent.";

export class WordView {
  constructor(api, contents) {
    this.api = api;
    this.contents = contents;
  }

  async show({ word, other, table }) {
    const box = $("#word");
    if (!word) {
      fill(box, h("div", { class: "empty" }, h("h1", {}, "Look up a word"), h("p", {}, "Type it into the box above, or press ", h("kbd", {}, "/"), "."), this.examples()));
      return;
    }
    let report;
    try {
      report = await this.api.ask("word", { word, topn: 15 });
    } catch (error) {
      fill(box, h("h1", { class: "headword" }, word), problem(error));
      return;
    }
    if (get().word !== word) return;
    const own = report.tables[table] ?? Object.values(report.tables).find(Boolean);
    fill(
      box,
      h(
        "header",
        { class: "title" },
        h("h1", { class: own.word.length > 40 ? "headword long" : "headword" }, own.word),
        h("p", { class: "quiet" }, [own.count === null ? "" : `${number(own.count)} times in the text · `, `row ${number(own.rank)} of ${number(this.contents.tables.find(({ name }) => name === own.table).words)}`].join("")),
        link({ view: "map", at: "" }, { class: "button" }, "Show on the map"),
      ),
      h("div", { class: Object.keys(report.tables).length > 1 ? "columns several" : "columns" }, this.tables(report, other), h("div", { class: "stack" }, this.sentenceBox(), h("div", { id: "senses-box" }), h("div", { id: "groups-box" }))),
    );
    say(`${own.word}, ${Object.keys(report.tables).length} tables`);
    this.showSentences(own.word, other, table, 0);
    this.showSure(report, other);
    if (report.tables[table]) this.showMeanings(own.word, table);
  }

  // Senses and groups, where the table has them.
  async showMeanings(word, table) {
    const card = this.contents.tables.find(({ name }) => name === table);
    const shows = [card.has_senses && ["senses", "#senses-box", senseCard], card.groups.length > 1 && ["timeline", "#groups-box", timelineCard]].filter(Boolean);
    for (const [question, box, made] of shows) {
      try {
        const found = made(await this.api.ask(question, { word, table }));
        if (get().view === "word" && get().word.toLowerCase() === word.toLowerCase() && get().table === table) fill($(box), found);
      } catch (error) {
        fill($(box), problem(error));
      }
    }
  }

  // How sure the neighbors are takes a moment: it comes after them.
  async showSure(report, other) {
    const able = this.contents.tables.filter(({ name, has_folds: folds }) => folds && report.tables[name]);
    if (!able.length) return;
    const answers = await Promise.all(able.map(({ name }) => this.api.ask("sure", { word: report.tables[name].word, table: name, topn: 15 })));
    if (get().view !== "word" || get().word !== report.word) return;
    for (const { table, neighbors, note } of answers) {
      const sure = new Map(neighbors.map((near) => [near.word, near]));
      for (const near of report.tables[table].neighbors) Object.assign(near, pick(sure.get(near.word)));
      report.tables[table].sureNote = note;
    }
    // Longer lists above the sentences must not push them away from a reader.
    const place = () => $("#sentences-title").getBoundingClientRect().top;
    const before = place();
    $("#word .tables").replaceWith(this.tables(report, other));
    if (before < innerHeight) $("main").scrollBy(0, place() - before);
  }

  examples() {
    return h("p", {}, this.contents.examples?.length ? ["For example ", this.contents.examples.map((word) => link({ word }, { class: "word chip" }, word))] : "");
  }

  tables(report, other) {
    const several = Object.keys(report.tables).length > 1;
    return h(
      "section",
      { class: "tables", "aria-label": "Nearest words" },
      Object.entries(report.tables).sort(([one], [other]) => (other === get().table) - (one === get().table)).map(([name, standing]) =>
        h(
          "article",
          { class: "card" },
          h("h2", {}, several ? `Nearest in ${name}` : "Nearest words"),
          standing
            ? neighborList(standing.neighbors, {
                href: (near) => ({ view: "word", word: near.word, other: "" }),
                extra: (near) => [
                  several && report.shared[near.word] === 1 ? h("span", { class: "only", role: "img", "aria-label": "only in this table", title: "Only in this table" }) : null,
                  this.contents.has_text ? link({ view: "word", other: near.word, table: name }, { class: `why${near.word === other ? " on" : ""}`, "aria-label": `Sentences behind ${standing.word} and ${near.word}`, title: "The sentences behind this pair" }, "why?") : null,
                ],
              })
            : h("p", { class: "quiet" }, "This table does not have the word."),
          standing?.sureNote ? h("p", { class: "quiet" }, standing.sureNote) : null,
        ),
      ),
      this.tablesKey(Object.values(report.tables).flatMap((standing) => standing?.neighbors ?? []), several && report.shared),
    );
  }

  tablesKey(neighbors, shared) {
    return [
      shared && neighbors.some(({ word }) => shared[word] === 1) ? h("p", { class: "quiet" }, h("span", { class: "only" }), " among the nearest in this table only") : null,
      neighbors.some(({ low }) => typeof low === "number") ? h("p", { class: "quiet" }, "The line is where the cosine could lie in another text of this size. A percentage marks doubt: how often the word is among the nearest when the text is resampled, where that is below 95 %. Words in too few folds have neither.") : null,
    ];
  }

  sentenceBox() {
    return h("section", { class: "card sentences", "aria-label": "Sentences" }, h("h2", { id: "sentences-title" }, "Sentences"), h("div", { id: "lines", "aria-live": "polite" }, h("p", { class: "quiet" }, "Looking…")));
  }

  async showSentences(word, other, table, offset) {
    let found;
    try {
      found = await this.api.ask("sentences", { word, other, table, limit: PAGE, offset });
    } catch (error) {
      fill($("#lines"), problem(error));
      return;
    }
    if (get().word.toLowerCase() !== word.toLowerCase() || (get().other || "") !== (other || "")) return;
    const title = other ? ["Sentences behind ", h("em", {}, word), " and ", h("em", {}, other)] : "Sentences";
    fill($("#sentences-title"), title);
    if (other) this.showPair(found, word, other);
    else this.showLines(found, word, table, offset);
  }

  showLines(found, word, table, offset) {
    const pages = Math.ceil((found.held ?? found.total) / PAGE);
    fill(
      $("#lines"),
      found.note ? h("p", { class: "quiet" }, found.note) : null,
      found.lines.length ? h("ul", { class: "kwic" }, found.lines.map(kwic)) : null,
      found.total
        ? h(
            "p",
            { class: "quiet pager" },
            `${number(found.lines.length)} of ${number(found.total)} occurrences${found.held === undefined ? ", spread over the text" : ""}.`,
            pages > 1 && found.lines.length ? h("button", { class: "button", onclick: () => this.showSentences(word, "", table, (offset + 1) % pages) }, "Show others") : null,
          )
        : null,
    );
  }

  showPair(found, word, other) {
    fill(
      $("#lines"),
      found.note ? h("p", { class: "quiet" }, found.note) : null,
      h("p", {}, link({ other: "" }, { class: "button" }, `← All sentences with ${word}`)),
      found.together.length ? [h("h3", {}, "With both words"), h("ul", { class: "prose" }, found.together.map((line) => h("li", {}, both(line, [word, other]))))] : found.note ? null : h("p", { class: "quiet" }, "No sentence has both words."),
      found.alike.length
        ? [
            h("h3", {}, found.by_states ? "Most alike uses" : "Most alike sentences"),
            h("p", { class: "quiet" }, found.by_states ? "One use of each word, paired by the cosine of what the language model made of the two words there." : BY_WORDS),
            h("ul", { class: "pairs" }, found.alike.map((pair) => h("li", {}, h("span", { class: "cosine" }, pair.likeness.toFixed(2)), h("p", {}, marked(pair.first)), h("p", {}, marked(pair.second))))),
          ]
        : null,
    );
    // On a phone the sentences are below the lists.
    const title = $("#sentences-title");
    if (title.getBoundingClientRect().top > innerHeight / 2) title.scrollIntoView();
  }
}

const pick = (near) => (near ? { low: near.low, high: near.high, share: near.share } : {});
const marked = ({ before, word, after }) => [before, h("mark", {}, word), after];
const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
function both({ before, word, after }, words) {
  const found = new RegExp(`(?<![\\p{L}\\p{N}])(${words.map(escaped).join("|")})(?![\\p{L}\\p{N}])`, "iu");
  // Every second part is a word.
  const parts = (text) => text.split(found).map((part, place) => (place % 2 ? h("mark", {}, part) : part));
  return [parts(before), h("mark", {}, word), parts(after)];
}
const kwic = ({ before, word, after }) =>
  h("li", {}, h("button", { "aria-expanded": "false", title: "Show the whole sentence", onclick: ({ currentTarget: line }) => line.setAttribute("aria-expanded", String(line.getAttribute("aria-expanded") === "false")) }, h("span", { class: "before" }, h("bdi", {}, before.trimEnd())), " ", h("span", { class: "after" }, h("mark", {}, word), after)));
