// What a word means in parts of the text: its senses, and its uses in each group.

import { h, link, number, svg } from "./dom.js";

const percent = (share) => `${Math.round(100 * share)} %`;
const words = (near) => h("ul", { class: "near-words" }, near.map(({ word, fresh }) => h("li", { class: fresh ? "fresh" : null }, link({ view: "word", word, other: "" }, { class: "word" }, word))));
const marked = ({ before, word, after }) => [before, h("mark", {}, word), after];

export function senseCard({ senses, kept, total, strength, groups, note }) {
  if (!senses.length) return null;
  const uses = `${number(kept)} of ${number(total)} uses`;
  if (senses.length === 1) {
    const why = note ?? `The ${uses} that were kept do not fall into groups of meaning (prediction strength ${strength.toFixed(2)}, 0.70 or more would).`;
    return h("section", { class: "card senses", "aria-label": "Senses" }, h("h2", {}, "One sense"), h("p", { class: "quiet" }, why));
  }
  return h(
    "section",
    { class: "card senses", "aria-label": "Senses" },
    h("h2", {}, `${senses.length} senses`),
    h("ol", {}, senses.map((sense) => senseRow(sense, groups, senses))),
    h("p", { class: "quiet" }, `Found in ${uses}; half of them predict the senses of the other half at ${strength.toFixed(2)} (1 is perfect, 0.5 is chance).`),
  );
}

function senseRow({ label, share, neighbors, uses, by_group: byGroup }, groups, senses) {
  const [, name] = label.split("|");
  return h(
    "li",
    {},
    h("div", { class: "sense-head" }, h("strong", { class: "word" }, name ?? label), h("span", { class: "share" }, h("i", { style: { width: `${100 * share}%` } })), h("small", {}, percent(share))),
    words(neighbors.filter(({ word }) => word !== name)),
    uses.length ? h("p", { class: "use" }, marked(uses[0])) : null,
    byGroup.length ? h("ul", { class: "by-group", "aria-label": "Share in each group" }, groups.map((group, place) => groupShare(group, byGroup[place], senses.reduce((sum, other) => sum + other.by_group[place], 0)))) : null,
  );
}

function groupShare(group, count, all) {
  const share = all ? count / all : 0;
  return h("li", { title: `${count} of ${all} kept uses in ${group}` }, h("span", { class: "share" }, h("i", { style: { width: `${100 * share}%` } })), h("small", {}, group, " ", all ? percent(share) : "–"));
}

export function timelineCard({ groups, note }) {
  if (!groups.length) return note ? h("section", { class: "card timeline", "aria-label": "Groups" }, h("h2", {}, "In each group"), h("p", { class: "quiet" }, note)) : null;
  const most = Math.max(...groups.map((one) => one.per_million), 1e-9);
  let before = null;
  const columns = groups.map((one) => {
    const known = before;
    before = new Set(one.neighbors.map(({ word }) => word));
    return h(
      "li",
      {},
      h("strong", {}, one.group),
      h("span", { class: "share", "aria-hidden": "true" }, h("i", { style: { width: `${(100 * one.per_million) / most}%` } })),
      h("small", {}, `${number(one.count)} times, ${number(Math.round(one.per_million))} in a million`),
      one.neighbors.length ? words(one.neighbors.map((near) => ({ ...near, fresh: known && !known.has(near.word) }))) : h("p", { class: "quiet" }, "not used here"),
    );
  });
  return h(
    "section",
    { class: "card timeline", "aria-label": "Groups" },
    h("h2", {}, "In each group of the text"),
    distanceChart(groups),
    h("ol", { class: "groups", style: { gridTemplateColumns: `repeat(${groups.length}, minmax(7.2rem, 1fr))` } }, columns),
    h("p", { class: "quiet" }, `Nearest words as the word is used in each group; colored ones were not among the nearest in the group before.`),
  );
}

// How far the word is from its use in the first group, with what that could be in other texts of this size.
function distanceChart(groups) {
  const far = groups.slice(1).filter(({ distance }) => distance !== null);
  if (!far.length) return h("p", { class: "quiet" }, "Too rare in these groups to say how far its meaning moved.");
  const [width, height, left, right, top, bottom] = [640, 150, 44, 12, 12, 126];
  const high = Math.max(0.1, ...far.map((one) => one.high));
  const low = Math.min(0, ...far.map((one) => Math.max(-0.1, one.low)));
  const y = (value) => bottom - ((Math.max(low, value) - low) / (high - low)) * (bottom - top);
  const step = (width - left - right) / groups.length;
  const x = (place) => left + step * (place + 0.5);
  const spots = groups.map((one, place) => ({ ...one, x: x(place), value: place ? one.distance : 0 })).filter(({ value }) => value !== null);
  const label = far.map((one) => `${one.group} ${one.distance.toFixed(2)} (${one.low.toFixed(2)} to ${one.high.toFixed(2)})`).join(", ");
  return h(
    "figure",
    {},
    svg(
      "svg",
      { viewBox: `0 0 ${width} ${height}`, class: "distances", role: "img", "aria-label": `Distance from ${groups[0].group}: ${label}` },
      [0, high / 2, high].map((value) => [svg("line", { x1: left, x2: width - right, y1: y(value), y2: y(value), class: "grid" }), svg("text", { x: left - 8, y: y(value) + 4, "text-anchor": "end" }, value.toFixed(2))]),
      svg("polyline", { points: spots.map((spot) => `${spot.x},${y(spot.value)}`).join(" ") }),
      spots.filter(({ low: from }) => typeof from === "number").map((spot) => svg("line", { x1: spot.x, x2: spot.x, y1: y(spot.low), y2: y(spot.high), class: "whisker" })),
      spots.map((spot) => svg("circle", { cx: spot.x, cy: y(spot.value), r: 5 })),
      groups.map((one, place) => svg("text", { x: x(place), y: height - 6, "text-anchor": "middle" }, one.group)),
    ),
    h("figcaption", { class: "quiet" }, `Distance from its use in ${groups[0].group}: 0 is the same, the lines are what it could be in another text of this size.`),
  );
}
