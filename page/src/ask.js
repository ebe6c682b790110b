// Questions: analogies, odd one out, an axis, arrows, two tables compared.

import { $, fill, h, joined, link, number, problem, svg, wordLink } from "./dom.js";
import { neighborList } from "./map/map-view.js";
import { get, go } from "./state.js";

// The first example whose words a table has is asked.
const TOOLS = {
  analogy: {
    title: "Analogy",
    about: "A is to B as C is to what?",
    fields: { a: "A", b: "is to B", c: "as C" },
    examples: [["man", "king", "woman"], ["france", "french", "spain"], ["large", "larger", "small"], ["year", "years", "day"]],
  },
  odd: {
    title: "Odd one out",
    about: "Which word does not belong to the others?",
    fields: { words: "Words, with commas between" },
    examples: [["cat, dog, horse, train"], ["france, spain, italy, music"], ["three, four, five, city"]],
  },
  axis: {
    title: "Axis",
    about: "Words between two poles. A pole may be several words.",
    fields: { low: "One pole", high: "Other pole", words: "Words to place" },
    examples: [["poor", "rich", "king, farmer, doctor, village, bank"], ["early", "late", "first, began, later, final, end"], ["old", "new", "history, city, modern, first, law"]],
  },
  arrows: {
    title: "Arrows",
    about: "Pairs in one relation. Arrows that point the same way and are equally long share it. Across: the mean difference of the pairs; up: what else varies most.",
    fields: { pairs: "Pairs, such as man:woman" },
    examples: [["man:woman, king:queen, father:mother, son:daughter, brother:sister, husband:wife"], ["year:years, day:days, word:words, state:states, country:countries, system:systems"]],
  },
  changed: { title: "Two groups", about: "Which words are used differently in two groups of the text?", fields: {}, examples: [] },
  compare: { title: "Two tables", about: "Which words have other neighbors in the other table?", fields: {}, examples: [] },
};

const example = (tool, place) => Object.fromEntries(Object.keys(TOOLS[tool].fields).map((name, at) => [name, TOOLS[tool].examples[place][at]]));

export class AskView {
  constructor(api, contents) {
    this.api = api;
    this.contents = contents;
  }

  show(state) {
    const tool = TOOLS[state.ask] ? state.ask : "analogy";
    const { title, about, fields } = TOOLS[tool];
    const given = new URLSearchParams(state.more);
    const choices = this.choices(tool);
    const filled = choices ? {} : { ...example(tool, 0), ...Object.fromEntries(given) };
    const result = h("div", { id: "answer", "aria-live": "polite" });
    fill(
      $("#ask"),
      h("nav", { class: "tools", "aria-label": "Questions" }, Object.entries(TOOLS).filter(([name]) => name !== "changed" || this.groups().length > 1 || tool === name).map(([name, one]) => link({ ask: name, more: "" }, { "aria-current": name === tool ? "true" : null }, one.title))),
      h(
        "section",
        { class: "card tool" },
        h("h1", {}, title),
        h("p", { class: "quiet" }, about),
        h(
          "form",
          { onsubmit: (event) => (event.preventDefault(), this.submit(tool, event.target)) },
          choices
            ? choices.names.map((name, place) => field(name, place ? "with" : "Compare", h("select", { id: `ask-${name}`, name }, choices.among.map((one) => h("option", { value: one, selected: one === (given.get(name) ?? choices.chosen[place]) }, one)))))
            : Object.entries(fields).map(([name, label]) => field(name, label, h("input", { id: `ask-${name}`, name, value: filled[name], autocomplete: "off", spellcheck: "false" }))),
          h("button", { class: "button strong" }, "Ask"),
        ),
        result,
      ),
    );
    if (choices && choices.among.length < 2) fill(result, h("p", { class: "quiet" }, choices.lack));
    else this.answer(tool, Object.fromEntries(given), filled, result);
  }

  groups() {
    return this.contents.tables.find(({ name }) => name === get().table)?.groups ?? [];
  }

  // Two of several tables or groups.
  choices(tool) {
    if (tool === "compare") {
      const among = this.contents.tables.map((table) => table.name);
      return { names: ["first", "second"], among, chosen: among.slice(0, 2), lack: "One table is loaded. Name two: wordstill explore A B" };
    }
    if (tool !== "changed") return null;
    const among = this.groups();
    return { names: ["before", "after"], among, chosen: [among[0], among.at(-1)], lack: "This table's text has no groups: wordstill prepare TEXT --group FIELD, then wordstill distill." };
  }

  submit(tool, form) {
    const more = new URLSearchParams([...new FormData(form)].map(([name, value]) => [name, value.trim()]));
    go({ ask: tool, more: more.toString() });
  }

  async answer(tool, given, filled, result) {
    let asked = { ...filled, ...given };
    const choices = this.choices(tool);
    choices?.names.forEach((name, place) => (asked[name] = choices.among.includes(asked[name]) ? asked[name] : choices.chosen[place]));
    fill(result, h("p", { class: "quiet" }, choices ? "Comparing… this takes some seconds." : "Asking…"));
    if (!choices && !Object.keys(given).length) {
      asked = await this.fitting(tool);
      if (!result.isConnected) return;
      if (!asked) return fill(result, h("p", { class: "quiet" }, "This table lacks some words of the example. Type your own and ask."));
      for (const [name, value] of Object.entries(asked)) $(`#ask-${name}`).value = value;
    }
    const parameters = tool === "compare" ? { first: asked.first, second: asked.second } : { ...asked, table: get().table };
    try {
      const found = await this.api.ask(tool, parameters);
      if (get().view === "ask") fill(result, this[tool](found, asked));
    } catch (error) {
      fill(result, problem(error));
    }
  }

  // The first example that the table has the words of; null where it has none: it may be of another language.
  async fitting(tool) {
    for (let place = 0; place < TOOLS[tool].examples.length; place++) {
      const tried = example(tool, place);
      if (await this.knows(tool, Object.values(tried))) return tried;
    }
    return null;
  }

  // Whether the table has the words of an example, three pairs of them for arrows.
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
    // At an end a word lies inside the box, at the middle around its place.
    const across = (score) => 50 + (score / reach) * 50;
    const side = (title, list) => h("div", {}, h("h3", {}, title), h("ol", { class: "plain-words" }, list.map(({ word, score }) => h("li", {}, wordLink(word), h("small", {}, ` ${score.toFixed(2)}`)))));
    return [
      h("div", { class: "axis" }, h("div", { class: "pole" }, low.join(", ")), h("div", { class: "pole" }, high.join(", ")), h("ul", {}, words.map(({ word, score }, row) => h("li", { style: { left: `${across(score)}%`, transform: `translateX(-${across(score)}%)`, top: `${row * 30 + 14}px` } }, wordLink(word), h("small", {}, score.toFixed(2)))), h("li", { class: "height", "aria-hidden": "true", style: { height: `${words.length * 30 + 30}px` } }))),
      h("div", { class: "sides" }, side(`Towards ${low.join(", ")}`, lowEnd), side(`Towards ${high.join(", ")}`, highEnd)),
    ];
  }

  arrows({ pairs, missing }) {
    const spots = pairs.flatMap(({ start, end }) => [start, end]);
    const [low, high] = [Math.min, Math.max].map((pick) => [0, 1].map((axis) => pick(...spots.map((spot) => spot[axis]))));
    // As wide as the page, so that words are as large on a phone as on a desk.
    const [width, height] = [Math.min(860, $("#answer").clientWidth), 400];
    const longest = Math.max(...pairs.flatMap(({ first, second }) => [first.length, second.length]));
    const margin = Math.min(0.36 * width, 16 + 8.5 * longest);
    const place = ([x, y]) => [margin + ((x - low[0]) / (high[0] - low[0] || 1)) * (width - 2 * margin), height - 45 - ((y - low[1]) / (high[1] - low[1] || 1)) * (height - 75)];
    const taken = [];
    // A label moves down until it covers no other one.
    const label = (x, y, anchor, text) => {
      const wide = 8.5 * text.length;
      const left = anchor === "end" ? x - wide : x;
      while (taken.some((box) => Math.abs(box.y - y) < 17 && left < box.left + box.wide && box.left < left + wide)) y += 6;
      taken.push({ left, wide, y });
      return svg("text", { x, y, "text-anchor": anchor }, text);
    };
    const lines = [];
    const words = [];
    for (const { first, second, start, end } of pairs) {
      const [[x1, y1], [x2, y2]] = [place(start), place(end)];
      const side = x2 >= x1 ? 1 : -1;
      lines.push(svg("line", { x1, y1, x2, y2, class: "arrow", "marker-end": "url(#head)" }), svg("circle", { cx: x1, cy: y1, r: 4 }));
      words.push(label(x1 - 9 * side, y1 + 5, side > 0 ? "end" : "start", first), label(x2 + 6 * side, y2 + 5, side > 0 ? "start" : "end", second));
    }
    const head = svg("defs", {}, svg("marker", { id: "head", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" }, svg("path", { d: "M0 0 8 4 0 8z" })));
    return [
      svg("svg", { viewBox: `0 0 ${width} ${height}`, class: "arrows", role: "img", "aria-label": pairs.map(({ first, second }) => `${first} to ${second}`).join(", ") }, head, words, lines),
      missing.length ? h("p", { class: "quiet" }, `Not in this table: ${missing.join(", ")}`) : null,
    ];
  }

  changed({ before, after, words, compared, note }) {
    const reach = Math.max(...words.map(({ high }) => high), 0.01);
    const at = (value) => `${(100 * Math.max(0, value)) / reach}%`;
    const only = (mine, theirs) => mine.filter((word) => !theirs.includes(word)).slice(0, 4);
    const list = (some) => joined(some.map((word) => wordLink(word)));
    const doubtful = words.filter(({ rate }) => rate !== null && rate >= 0.05).length;
    return [
      h("p", { class: "sentence" }, words.length ? ["Most different: ", h("strong", {}, wordLink(words[0].word))] : "No word is frequent enough in both groups.", " ", h("span", { class: "quiet" }, `${number(compared)} words compared; the bar is how much farther apart two uses are if they are of different groups, the line what it could be in other texts of this size`)),
      words.length
        ? h(
            "table",
            { class: "changed" },
            h("thead", {}, h("tr", {}, ["word", "difference", `nearest only in ${before}`, `nearest only in ${after}`].map((text) => h("th", { scope: "col" }, text)))),
            h("tbody", {}, words.map((one) => h("tr", { class: one.rate === null || one.rate < 0.05 ? "" : "doubtful" }, h("td", {}, wordLink(one.word)), h("td", { title: `${one.low.toFixed(2)} to ${one.high.toFixed(2)}; ${one.counts.map(number).join(" and ")} occurrences${one.rate === null ? "" : `; false discovery rate ${one.rate.toFixed(3)}`}` }, h("span", { class: "reach" }, h("i", { style: { width: at(one.difference) } }), h("b", { style: { left: at(one.low), right: `calc(100% - ${at(one.high)})` } })), h("small", {}, one.difference.toFixed(2))), h("td", { "data-group": before }, list(only(one.before, one.after))), h("td", { "data-group": after }, list(only(one.after, one.before)))))),
          )
        : null,
      h("p", { class: "quiet" }, note ? `${note[0].toUpperCase()}${note.slice(1)}.` : doubtful ? "Pale words could be chance: their false discovery rate is 5 % or more." : null),
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
      h("div", { class: "sides" }, h("div", {}, h("h3", {}, "Moved most, and the share of nearest words that both tables have"), h("ol", { class: "moved" }, found.moved.slice(0, 60).map(({ word, overlap }) => h("li", {}, h("button", { class: "word", onclick: async () => (await open(word), box.scrollIntoView({ block: "nearest" })) }, word), h("span", { class: "share", title: "Shared neighbors" }, h("i", { style: { width: `${100 * overlap}%` } })), h("small", {}, percent(overlap)))))), box),
    ];
  }
}

const field = (name, label, control) => h("div", { class: "field" }, h("label", { for: `ask-${name}` }, label), control);
