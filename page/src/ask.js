// Questions: analogies, odd one out, an axis, arrows, two tables compared.

import { $, fill, h, link, number, problem, svg, wordLink } from "./dom.js";
import { neighborList } from "./map/map-view.js";
import { get, go } from "./state.js";

const TOOLS = {
  analogy: {
    title: "Analogy",
    about: "A is to B as C is to what?",
    fields: [["a", "A", "man"], ["b", "is to B", "king"], ["c", "as C", "woman"]],
  },
  odd: { title: "Odd one out", about: "Which word does not belong to the others?", fields: [["words", "Words, with commas between", "cat, dog, horse, paris"]] },
  axis: {
    title: "Axis",
    about: "Words between two poles. A pole may be several words.",
    fields: [["low", "One pole", "poor"], ["high", "Other pole", "rich"], ["words", "Words to place", "king, farmer, doctor, village, bank"]],
  },
  arrows: { title: "Arrows", about: "Pairs in one relation, on the plane of their two principal components.", fields: [["pairs", "Pairs, such as man:woman", "man:woman, king:queen, father:mother, son:daughter, brother:sister, husband:wife"]] },
  compare: { title: "Two tables", about: "Which words have other neighbors in the other table?", fields: [] },
};

export class AskView {
  constructor(api, contents) {
    this.api = api;
    this.contents = contents;
  }

  show(state) {
    const tool = TOOLS[state.ask] ? state.ask : "analogy";
    const { title, about, fields } = TOOLS[tool];
    const given = new URLSearchParams(state.more);
    const result = h("div", { id: "answer", "aria-live": "polite" });
    fill(
      $("#ask"),
      h("nav", { class: "tools", "aria-label": "Questions" }, Object.entries(TOOLS).map(([name, one]) => link({ ask: name, more: "" }, { "aria-current": name === tool ? "true" : null }, one.title))),
      h(
        "section",
        { class: "card tool" },
        h("h1", {}, title),
        h("p", { class: "quiet" }, about),
        h(
          "form",
          { onsubmit: (event) => (event.preventDefault(), this.submit(tool, event.target)) },
          tool === "compare"
            ? ["first", "second"].map((name, place) => field(name, place ? "with" : "Compare", h("select", { id: `ask-${name}`, name }, this.contents.tables.map((table, number) => h("option", { value: table.name, selected: given.get(name) ? given.get(name) === table.name : number === place }, table.name)))))
            : fields.map(([name, label, example]) => field(name, label, h("input", { id: `ask-${name}`, name, value: given.get(name) ?? example, autocomplete: "off", spellcheck: "false" }))),
          h("button", { class: "button strong" }, "Ask"),
        ),
        result,
      ),
    );
    if (tool === "compare" && this.contents.tables.length < 2) fill(result, h("p", { class: "quiet" }, "One table is loaded. Name two: wordstill explore A B"));
    else this.answer(tool, Object.fromEntries(given), fields, result);
  }

  submit(tool, form) {
    const more = new URLSearchParams([...new FormData(form)].map(([name, value]) => [name, value.trim()]));
    go({ ask: tool, more: more.toString() });
  }

  async answer(tool, given, fields, result) {
    const asked = { ...Object.fromEntries(fields.map(([name, , example]) => [name, example])), ...given };
    if (tool === "compare") {
      const names = this.contents.tables.map((table) => table.name);
      asked.first = names.includes(asked.first) ? asked.first : names[0];
      asked.second = names.includes(asked.second) ? asked.second : names[1];
    }
    const parameters = tool === "compare" ? { first: asked.first, second: asked.second } : { ...asked, table: get().table };
    fill(result, h("p", { class: "quiet" }, tool === "compare" ? "Comparing the neighbors of some hundred words…" : "Asking…"));
    if (tool !== "compare" && !Object.keys(given).length && !(await this.knows(tool, Object.values(asked)))) {
      fill(result, h("p", { class: "quiet" }, "This table lacks some words of the example. Type your own and ask."));
      return;
    }
    try {
      const found = await this.api.ask(tool, parameters);
      if (get().view === "ask") fill(result, this[tool](found, asked));
    } catch (error) {
      fill(result, problem(error));
    }
  }

  // Whether the table has the words of an example, three pairs of them for arrows: another language may not.
  async knows(tool, texts) {
    const words = texts.flatMap((text) => text.split(/[,:]/)).map((word) => word.trim()).filter(Boolean);
    const found = await Promise.all(words.map((q) => this.api.ask("search", { q, table: get().table, limit: 1 })));
    const known = found.map(({ words: [first] }) => first?.score === 2);
    return tool === "arrows" ? known.filter((both, place) => place % 2 && both && known[place - 1]).length >= 3 : known.every(Boolean);
  }

  analogy({ answers }, { a, b, c }) {
    return [h("p", { class: "sentence" }, h("em", {}, a), " is to ", h("em", {}, b), " as ", h("em", {}, c), " is to ", h("strong", {}, answers[0] ? wordLink(answers[0].word) : "nothing found")), neighborList(answers, { href: ({ word }) => ({ view: "word", word }) })];
  }

  odd({ odd, words }) {
    return [h("p", { class: "sentence" }, h("strong", {}, wordLink(odd)), " is least like the others."), neighborList(words.slice().reverse(), { href: ({ word }) => ({ view: "word", word }) })];
  }

  axis({ low, high, words, low_end: lowEnd, high_end: highEnd }) {
    const reach = Math.max(0.05, ...words.map((one) => Math.abs(one.score)));
    const side = (title, list) => h("div", {}, h("h3", {}, title), h("ol", { class: "plain-words" }, list.map(({ word, score }) => h("li", {}, wordLink(word), h("small", {}, ` ${score.toFixed(2)}`)))));
    return [
      h("div", { class: "axis" }, h("div", { class: "pole" }, low.join(", ")), h("div", { class: "pole" }, high.join(", ")), h("ul", {}, words.map(({ word, score }, row) => h("li", { style: { left: `${50 + (score / reach) * 42}%`, top: `${row * 30 + 14}px` } }, wordLink(word), h("small", {}, score.toFixed(2)))), h("li", { class: "height", "aria-hidden": "true", style: { height: `${words.length * 30 + 30}px` } }))),
      h("div", { class: "sides" }, side(`Towards ${low.join(", ")}`, lowEnd), side(`Towards ${high.join(", ")}`, highEnd)),
    ];
  }

  arrows({ pairs, missing }) {
    const spots = pairs.flatMap(({ start, end }) => [start, end]);
    const [low, high] = [Math.min, Math.max].map((pick) => [0, 1].map((axis) => pick(...spots.map((spot) => spot[axis]))));
    const place = ([x, y]) => [95 + ((x - low[0]) / (high[0] - low[0] || 1)) * 550, 400 - ((y - low[1]) / (high[1] - low[1] || 1)) * 350];
    const marks = pairs.flatMap(({ first, second, start, end }) => {
      const [[x1, y1], [x2, y2]] = [place(start), place(end)];
      const side = x2 >= x1 ? 1 : -1;
      const anchors = side > 0 ? ["end", "start"] : ["start", "end"];
      return [
        svg("line", { x1, y1, x2, y2, class: "arrow", "marker-end": "url(#head)" }),
        svg("circle", { cx: x1, cy: y1, r: 4 }),
        svg("text", { x: x1 - 9 * side, y: y1 + 5, "text-anchor": anchors[0] }, first),
        svg("text", { x: x2 + 6 * side, y: y2 + 5, "text-anchor": anchors[1] }, second),
      ];
    });
    const head = svg("defs", {}, svg("marker", { id: "head", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" }, svg("path", { d: "M0 0 8 4 0 8z" })));
    return [
      svg("svg", { viewBox: "0 0 740 440", class: "arrows", role: "img", "aria-label": pairs.map(({ first, second }) => `${first} to ${second}`).join(", ") }, head, marks),
      missing.length ? h("p", { class: "quiet" }, `Not in this table: ${missing.join(", ")}`) : null,
    ];
  }

  compare(found, { first, second }) {
    const box = h("div", { class: "moved-word", "aria-live": "polite" });
    const open = async (word) => {
      const { tables } = await this.api.ask("word", { word, topn: 10 });
      const lists = [first, second].map((name) => h("div", {}, h("h3", {}, name), tables[name] ? neighborList(tables[name].neighbors, { href: (near) => ({ view: "word", word: near.word }) }) : h("p", {}, "not in this table")));
      fill(box, h("h2", { class: "headword" }, wordLink(word)), h("div", { class: "sides" }, lists));
    };
    const shown = found.moved.find(({ word }) => /^\p{L}{3,}$/u.test(word)) ?? found.moved[0];
    if (shown) open(shown.word);
    const percent = (share) => `${Math.round(100 * share)} %`;
    return [
      h("p", { class: "sentence" }, "The tables share ", h("strong", {}, percent(found.overlap)), ` of the ${found.topn} nearest words `, h("span", { class: "quiet" }, `(95 %: ${found.interval.map(percent).join(" to ")}; ${number(found.compared_words)} frequent words of ${number(found.shared_words)} shared; cosines correlate at ${found.cosines.toFixed(2)})`)),
      h("div", { class: "sides" }, h("div", {}, h("h3", {}, "Moved most"), h("ol", { class: "moved" }, found.moved.slice(0, 60).map(({ word, overlap }) => h("li", {}, h("button", { class: "word", onclick: () => open(word) }, word), h("span", { class: "share", title: "Shared neighbors" }, h("i", { style: { width: `${100 * overlap}%` } })), h("small", {}, percent(overlap)))))), box),
    ];
  }
}

const field = (name, label, control) => h("div", { class: "field" }, h("label", { for: `ask-${name}` }, label), control);
