// The map: points, labels, the selected word with its neighbors, pan, zoom, lasso.

import { $, calm, csv, download, fill, h, number, problem, say, tellHolder, wordLink } from "../dom.js";
import { get, go, note } from "../state.js";
import { Camera, clamp } from "./camera.js";
import { CanvasPainter } from "./canvas-painter.js";
import { coloring } from "./colors.js";
import { Grid } from "./grid.js";
import { Labels } from "./labels.js";
import { webglPainter } from "./webgl-painter.js";

const LABEL_FONT = '500 12.5px "Iowan Old Style", "Palatino Linotype", Palatino, Georgia, serif';
const STRONG_FONT = '700 15px "Iowan Old Style", "Palatino Linotype", Palatino, Georgia, serif';
const NEAR_FONT = '600 13.5px "Iowan Old Style", "Palatino Linotype", Palatino, Georgia, serif';
const NEIGHBORS = 20;
const LISTED = 300;
const COMMON = 150;
const SURE = 0.95;

export class MapView {
  constructor(api, contents) {
    this.api = api;
    this.contents = contents;
    this.camera = new Camera();
    this.camera.text = get().at;
    this.stage = $("#stage");
    this.points = null;
    this.near = [];
    this.selected = -1;
    this.hovered = -1;
    this.held = -1;
    this.chosen = null;
    this.cluster = null;
    this.lassoing = false;
    this.trail = [];
    this.own = [];
    this.listed = [];
    this.dirty = false;
    const { painter } = get();
    this.painter = (painter === "canvas" ? null : webglPainter($("#points"), { force: painter === "webgl" })) ?? new CanvasPainter(fresh($("#points")));
    document.documentElement.dataset.painter = this.painter.kind;
    this.labels = new Labels($("#labels"));
    if (innerWidth < 760 || innerHeight < 720) $("#settings").open = false;
    new ResizeObserver(() => this.resize()).observe(this.stage);
    this.listen();
    this.resize();
  }

  // ---- data

  async load() {
    const { table, layout } = get();
    const asked = `${table}|${layout}`;
    if (this.asked === asked) return;
    this.asked = asked;
    const started = { table, method: layout };
    let reply;
    try {
      reply = await this.api.ask("map", started, { fresh: true });
    } catch (error) {
      fill($("#progress"), problem(error));
      $("#progress").hidden = false;
      this.asked = null;
      return;
    }
    if (this.asked !== asked) return;
    this.points = pointsOf(reply);
    this.grid = new Grid(this.points);
    this.painter.setPoints(this.points);
    this.chosen = null;
    this.cluster = null;
    await this.loadGroups(table);
    this.recolor();
    await this.select(get().word, { move: !get().at });
    this.showProgress(reply);
    this.follow(reply, started, asked);
  }

  // A text with groups: the group that uses a word most for its size.
  async loadGroups(table) {
    const grouped = this.contents.tables.find(({ name }) => name === table)?.groups?.length > 1;
    $("#color-group").hidden = !grouped;
    if (!grouped) return;
    const { groups, words } = await this.api.ask("groups", { table });
    Object.assign(this.points, { groups: words, groupNames: groups });
  }

  // While a map is computed its points move towards their places.
  async follow(reply, started, asked) {
    let clusters = reply.clusters;
    while (!reply.done && this.asked === asked) {
      await new Promise((resolve) => setTimeout(resolve, 1200));
      if (get().view !== "map") continue;
      try {
        reply = await this.api.ask("map", { ...started, places_only: 1 }, { fresh: true });
      } catch {
        return;
      }
      if (this.asked !== asked) return;
      if (reply.clusters && !clusters) {
        clusters = reply.clusters;
        this.points.clusters = clusters;
        this.points.clusterNames = reply.cluster_names;
        this.recolor();
      }
      this.showProgress(reply);
      this.moveTo(Float32Array.from(reply.x), Float32Array.from(reply.y));
    }
  }

  showProgress({ done, progress, problem: text, method }) {
    const box = $("#progress");
    box.hidden = done && !text;
    const name = { tsne: "t-SNE", umap: "UMAP" }[method] ?? "map";
    fill(box, text ? text : [h("span", {}, `Computing ${name}… ${Math.round(progress * 100)} %`), h("progress", { max: 1, value: progress, "aria-label": "Progress of the map" })]);
    document.documentElement.dataset.map = done ? "done" : "computing";
  }

  moveTo(x, y) {
    const from = { x: this.points.x.slice(), y: this.points.y.slice() };
    const start = performance.now();
    const time = calm() ? 1 : 900;
    const step = (now) => {
      const part = clamp((now - start) / time, 0, 1);
      const eased = part * part * (3 - 2 * part);
      const { camera, held, points } = this;
      const before = [points.x[held], points.y[held]];
      for (let point = 0; point < x.length; point++) {
        this.points.x[point] = from.x[point] + (x[point] - from.x[point]) * eased;
        this.points.y[point] = from.y[point] + (y[point] - from.y[point]) * eased;
      }
      // The camera stays with the word that it flew to, until someone moves it.
      if (held >= 0) {
        camera.x += points.x[held] - before[0];
        camera.y += points.y[held] - before[1];
      }
      this.painter.setPoints(this.points);
      this.paint();
      if (part < 1) return requestAnimationFrame(step);
      this.grid = new Grid(this.points);
      if (this.held >= 0) this.flyTo(this.held);
    };
    requestAnimationFrame(step);
  }

  async select(word, { move = true } = {}) {
    this.near = [];
    this.held = -1;
    this.selected = word && this.points ? this.points.rowOf(word) : -1;
    this.draw();
    const panel = $("#map-panel");
    if (!word) {
      this.showStart();
      return;
    }
    try {
      const found = await this.api.ask("neighbors", { word, table: get().table, topn: NEIGHBORS });
      if (get().word !== word) return;
      if (this.points) {
        this.selected = this.points.rowOf(found.word);
        this.near = found.neighbors.map((near) => ({ ...near, point: this.points.rowOf(near.word) })).filter(({ point }) => point >= 0);
      }
      this.showWord(found);
      if (move && this.selected >= 0) this.flyTo(this.selected);
    } catch (error) {
      panel.hidden = false;
      this.started = true;
      fill(panel, this.closer(() => go({ word: "" })), problem(error));
    }
    this.draw();
  }

  // What one may do here, until one does it.
  showStart() {
    const panel = $("#map-panel");
    const { examples } = this.contents;
    panel.hidden = this.started || !examples.length;
    if (panel.hidden) return;
    fill(
      panel,
      this.closer(() => this.leaveStart()),
      h("h2", {}, "Every word is a point"),
      h("p", {}, "Words that are used alike lie close together. Click one to see its nearest words, or look one up:"),
      h("p", { class: "chips" }, examples.map((word) => h("a", { class: "word chip", href: linkOf({ word, at: "" }) }, word))),
      h("p", { class: "quiet" }, `Drag to move, ${matchMedia("(pointer: coarse)").matches ? "pinch" : "scroll"} to zoom, draw around words with the lasso.`),
    );
  }

  leaveStart() {
    this.started = true;
    if (!get().word && !this.chosen) $("#map-panel").hidden = true;
  }

  showWord(found) {
    this.started = true;
    const panel = $("#map-panel");
    panel.hidden = false;
    const off = this.selected < 0 ? h("p", { class: "quiet" }, "This word is in the table but not on the map, which shows the most frequent ones.") : null;
    fill(
      panel,
      this.closer(() => go({ word: "" })),
      h("h2", { class: "headword" }, found.word),
      h("p", { class: "quiet" }, [found.count !== null ? `${number(found.count)} times in the text · ` : "", `row ${number(found.rank)} of ${number(this.contents.tables.find(({ name }) => name === found.table).words)}`].join("")),
      off,
      h("h3", {}, "Nearest words"),
      neighborList(found.neighbors, {
        href: (near) => ({ word: near.word, at: "" }),
        enter: (near) => this.hover(this.points?.rowOf(near.word) ?? -1),
        leave: () => this.hover(-1),
      }),
      h("p", { class: "actions" }, h("a", { class: "button", href: linkOf({ view: "word" }) }, "Sentences and tables →")),
    );
    say(`${found.word}: nearest words ${found.neighbors.slice(0, 5).map((near) => near.word).join(", ")}`);
  }

  showSelection() {
    const panel = $("#map-panel");
    panel.hidden = false;
    const words = this.chosen.map((point) => this.points.words[point]);
    fill(
      panel,
      this.closer(() => {
        this.chosen = null;
        panel.hidden = true;
        this.draw();
      }),
      h("h2", {}, `${number(words.length)} ${words.length === 1 ? "word" : "words"}`),
      h(
        "p",
        { class: "actions" },
        h("button", { class: "button", onclick: () => navigator.clipboard?.writeText(words.join("\n")).then(() => say("Copied.")) }, "Copy"),
        h("button", { class: "button", onclick: () => download("words.csv", csv([["word", "count"], ...this.chosen.map((point) => [this.points.words[point], this.points.counts?.[point] ?? ""])])) }, "CSV"),
        h("button", { class: "button", onclick: () => this.colorChosen(words) }, "Color them"),
      ),
      h("ul", { class: "plain-words" }, words.slice(0, LISTED).map((word) => h("li", {}, wordLink(word)))),
      words.length > LISTED ? h("p", { class: "quiet" }, `and ${number(words.length - LISTED)} more; the CSV has all.`) : null,
    );
    say(`${words.length} words selected`);
    tellHolder({ words });
  }

  colorChosen(words) {
    this.own = [{ name: "selection", words }];
    this.chosen = null;
    go({ color: "list", list: "" });
    this.recolor();
  }

  closer(close) {
    return h("button", { class: "close", "aria-label": "Close", onclick: close }, "×");
  }

  // ---- colors

  lists() {
    const typed = get().list ? [{ name: "your words", words: get().list.split(",").map((word) => word.trim()) }] : [];
    const given = Object.entries(this.contents.lists).map(([name, words]) => ({ name, words }));
    return [...typed, ...this.own, ...given];
  }

  recolor() {
    if (!this.points) return;
    const dark = document.documentElement.dataset.theme === "dark";
    const style = getComputedStyle(document.documentElement);
    this.ink = style.getPropertyValue("--ink").trim();
    this.ground = style.getPropertyValue("--ground").trim();
    this.accent = style.getPropertyValue("--accent").trim();
    this.strong = style.getPropertyValue("--strong").trim();
    this.colored = coloring(get().color, this.points, { dark, lists: this.lists(), cluster: this.cluster });
    this.listed = get().color === "list" ? Array.from(this.points.importance).filter((point) => this.colored.indices[point] > 0).slice(0, 2000) : [];
    this.painter.setColors(this.colored.indices, this.colored.palette, this.ground);
    this.showLegend();
    this.draw();
  }

  showLegend() {
    const { legend, ramp } = this.colored;
    const box = $("#legend");
    if (get().color === "group" && this.points.groups) {
      const rows = legend.map(({ color, text, count }) => h("li", {}, h("i", { style: { background: color } }), `${text} (${number(count)})`));
      fill(box, rows, h("li", { class: "quiet" }, "Words that a group uses at least twice as often as the rest of the text."));
    } else if (get().color === "list") {
      fill(
        box,
        legend.map(({ color, text, count }) => h("li", {}, h("i", { style: { background: color } }), `${text} (${number(count)})`)),
        h("li", { class: "typed" }, h("form", { onsubmit: (event) => (event.preventDefault(), go({ list: event.target.elements.list.value })) }, h("label", { for: "own-list" }, "Words to color, with commas between"), h("input", { id: "own-list", name: "list", value: get().list, placeholder: "river, lake, sea", autocomplete: "off" }))),
      );
    } else if (ramp) {
      fill(box, h("li", { class: "ramp" }, legend.map(({ color, text }) => h("span", { style: { background: color }, title: text })), h("small", {}, "rare"), h("small", {}, "frequent")));
    } else {
      fill(
        box,
        legend.map(({ color, text, cluster, off }) =>
          h("li", {}, h("button", { class: off ? "off" : "", "aria-pressed": String(this.cluster === cluster), onclick: () => ((this.cluster = this.cluster === cluster ? null : cluster), this.recolor()) }, h("i", { style: { background: color } }), h("bdi", { title: text }, text))),
        ),
        !legend.length && get().color === "cluster" ? h("li", { class: "quiet" }, "Clusters appear once they are computed.") : null,
      );
    }
  }

  // ---- drawing

  resize() {
    const { width, height } = this.stage.getBoundingClientRect();
    if (!width || !height) return;
    const ratio = Math.min(2, window.devicePixelRatio || 1);
    Object.assign(this.camera, { width, height });
    this.painter.resize(width, height, ratio);
    this.labels.resize(width, height, ratio);
    this.draw();
  }

  draw() {
    if (this.dirty) return;
    this.dirty = true;
    requestAnimationFrame(() => {
      this.dirty = false;
      this.paint();
    });
  }

  paint() {
    if (!this.points || !this.colored || get().view !== "map") return;
    const { camera } = this;
    const radius = clamp(1.5 * Math.min(1.6, (20000 / this.points.words.length) ** 0.35) * camera.zoom ** 0.4, 0.75, 5.5);
    this.painter.draw(camera, radius);
    this.paintLabels();
    if (document.documentElement.dataset.ready !== "map") document.documentElement.dataset.ready = "map";
  }

  paintLabels() {
    const { labels, camera, points } = this;
    labels.clear();
    const { context } = labels;
    const at = (point) => [camera.screenX(points.x[point]), camera.screenY(points.y[point])];
    const halo = this.ground;
    for (const point of this.listed) dot(context, ...at(point), 4, this.colored.palette[this.colored.indices[point]], halo);
    if (this.selected >= 0) {
      const [x, y] = at(this.selected);
      context.strokeStyle = this.accent;
      context.lineWidth = 1;
      for (const { point, score } of this.near) {
        context.globalAlpha = clamp(score, 0.15, 0.9);
        context.beginPath();
        context.moveTo(x, y);
        context.lineTo(...at(point));
        context.stroke();
      }
      context.globalAlpha = 1;
      for (const { point } of this.near) dot(context, ...at(point), 3.5, this.accent, halo);
      dot(context, x, y, 6, this.accent, halo);
      labels.one(points.words[this.selected], x, y, { font: STRONG_FONT, color: this.strong, halo });
      for (const { point } of this.near) labels.one(points.words[point], ...at(point), { font: NEAR_FONT, color: this.strong, halo, force: false });
    }
    const most = Math.round(((camera.width * camera.height) / 11000) * (this.selected >= 0 ? 0.5 : 1));
    const inked = get().color === "list" || (get().color === "group" && points.groups) || this.cluster !== null ? (point) => this.colored.indices[point] > 0 : null;
    context.globalAlpha = this.selected >= 0 ? 0.6 : 1;
    this.shown = labels.place(points, camera, { most, font: LABEL_FONT, color: this.ink, halo, only: inked });
    context.globalAlpha = 1;
    if (this.hovered >= 0) {
      const [x, y] = at(this.hovered);
      dot(context, x, y, 5, this.strong, halo);
      labels.one(points.words[this.hovered], x, y, { font: STRONG_FONT, color: this.strong, halo });
    }
    this.paintLasso(context);
    clearTimeout(this.listing);
    this.listing = setTimeout(() => this.listShown(), 300);
  }

  paintLasso(context) {
    const path = this.trail.length ? this.trail : (this.chosen?.polygon ?? []).map(([x, y]) => [this.camera.screenX(x), this.camera.screenY(y)]);
    if (path.length < 2) return;
    context.beginPath();
    path.forEach(([x, y], place) => (place ? context.lineTo(x, y) : context.moveTo(x, y)));
    context.closePath();
    context.fillStyle = this.accent;
    context.globalAlpha = 0.12;
    context.fill();
    context.globalAlpha = 1;
    context.strokeStyle = this.accent;
    context.lineWidth = 1.5;
    context.setLineDash([5, 4]);
    context.stroke();
    context.setLineDash([]);
  }

  // The labels as a list, for those who cannot see the map.
  listShown() {
    const details = $("#in-view");
    if (!details.open) return;
    fill($("#in-view-words"), (this.shown ?? []).slice(0, 60).map((point) => h("li", {}, h("a", { class: "word", href: linkOf({ word: this.points.words[point], at: "" }) }, this.points.words[point]))));
  }

  // The zoom that spreads the closest neighbors over half of the screen: on a map some may lie far away.
  fitting(point) {
    const { x, y } = this.points;
    const away = this.near.map(({ point: near }) => Math.hypot(x[near] - x[point], y[near] - y[point])).sort((one, other) => one - other);
    return away.length ? clamp(0.5 / (away[Math.floor(away.length * 0.4)] + 1e-6), 2.5, 16) : 5;
  }

  flyTo(point) {
    const { camera } = this;
    const zoomed = this.fitting(point);
    // On a phone the panel covers the lower half.
    const lift = camera.width < 760 ? (0.25 * camera.height) / ((camera.scale / camera.zoom) * zoomed) : 0;
    const aim = () => [this.points.x[point], this.points.y[point] - lift];
    const [x, y] = aim();
    const seen = !lift && Math.abs(camera.screenX(x) - camera.width / 2) < camera.width * 0.3 && Math.abs(camera.screenY(y) - camera.height / 2) < camera.height * 0.35;
    if (seen && camera.zoom > zoomed / 2 && camera.zoom < zoomed * 2) {
      this.noteCamera(point);
      return;
    }
    const from = { x: camera.x, y: camera.y, zoom: camera.zoom };
    const start = performance.now();
    const time = calm() ? 1 : 700;
    const step = (now) => {
      const part = clamp((now - start) / time, 0, 1);
      const eased = 1 - (1 - part) ** 3;
      const [x, y] = aim();
      camera.x = from.x + (x - from.x) * eased;
      camera.y = from.y + (y - from.y) * eased;
      camera.zoom = from.zoom * (zoomed / from.zoom) ** eased;
      this.paint();
      if (part < 1) requestAnimationFrame(step);
      else this.noteCamera(point);
    };
    requestAnimationFrame(step);
  }

  noteCamera(held = -1) {
    this.held = held;
    clearTimeout(this.noting);
    this.noting = setTimeout(() => get().view === "map" && note({ at: this.camera.text }), 250);
  }

  hover(point) {
    if (point === this.hovered) return;
    this.hovered = point;
    this.stage.style.cursor = point >= 0 ? "pointer" : "";
    this.draw();
  }

  // ---- hands

  listen() {
    const { stage, camera } = this;
    stage.addEventListener("pointerdown", () => this.leaveStart());
    const pointers = new Map();
    let moved = 0;
    const place = (event) => {
      const box = stage.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    };
    const under = (x, y) => (this.grid ? this.grid.nearest(...camera.world(x, y), 12 / camera.scale) : -1);
    stage.addEventListener("pointerdown", (event) => {
      if (event.button) return;
      stage.focus({ preventScroll: true });
      stage.setPointerCapture(event.pointerId);
      pointers.set(event.pointerId, place(event));
      moved = 0;
      this.trail = this.lassoing || event.shiftKey ? [place(event)] : [];
    });
    stage.addEventListener("pointermove", (event) => {
      const now = place(event);
      const before = pointers.get(event.pointerId);
      if (!before) return this.hover(event.pointerType === "mouse" ? under(...now) : -1);
      moved += Math.hypot(now[0] - before[0], now[1] - before[1]);
      if (this.trail.length) this.trail.push(now);
      else if (pointers.size === 2) {
        const other = [...pointers].find(([id]) => id !== event.pointerId)[1];
        const spread = ([x, y]) => Math.hypot(x - other[0], y - other[1]);
        camera.zoomAt(spread(now) / (spread(before) || 1), (now[0] + other[0]) / 2, (now[1] + other[1]) / 2);
        camera.pan((now[0] - before[0]) / 2, (now[1] - before[1]) / 2);
      } else camera.pan(now[0] - before[0], now[1] - before[1]);
      pointers.set(event.pointerId, now);
      this.draw();
    });
    const up = (event) => {
      if (!pointers.delete(event.pointerId)) return;
      if (this.trail.length > 3 && moved > 12) this.closeLasso();
      else if (moved < 6 && event.type === "pointerup") {
        const point = under(...place(event));
        if (point >= 0) go({ word: this.points.words[point], at: camera.text });
      }
      this.trail = [];
      this.noteCamera();
      this.draw();
    };
    stage.addEventListener("pointerup", up);
    stage.addEventListener("pointercancel", up);
    stage.addEventListener("pointerleave", () => this.hover(-1));
    stage.addEventListener("wheel", (event) => (event.preventDefault(), this.zoom(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0016)), ...place(event))), { passive: false });
    stage.addEventListener("dblclick", (event) => this.zoom(2, ...place(event)));
    stage.addEventListener("keydown", (event) => this.key(event));
    $("#zoom-in").addEventListener("click", () => this.zoom(1.6));
    $("#zoom-out").addEventListener("click", () => this.zoom(1 / 1.6));
    $("#zoom-all").addEventListener("click", () => this.showAll());
    $("#lasso").addEventListener("click", () => this.setLasso(!this.lassoing));
    $("#in-view").addEventListener("toggle", () => this.listShown());
  }

  key(event) {
    const step = 60;
    const moves = { ArrowLeft: [step, 0], ArrowRight: [-step, 0], ArrowUp: [0, step], ArrowDown: [0, -step] };
    if (moves[event.key]) this.camera.pan(...moves[event.key]);
    else if (event.key === "+" || event.key === "=") this.camera.zoomAt(1.3);
    else if (event.key === "-") this.camera.zoomAt(1 / 1.3);
    else if (event.key === "0") this.showAll();
    else if (event.key === "l") this.setLasso(!this.lassoing);
    else if (event.key === "Escape") go({ word: "" });
    else return;
    event.preventDefault();
    this.noteCamera();
    this.draw();
  }

  zoom(factor, x, y) {
    this.camera.zoomAt(factor, x, y);
    this.noteCamera();
    this.draw();
  }

  showAll() {
    Object.assign(this.camera, { x: 0, y: 0, zoom: 1 });
    this.noteCamera();
    this.draw();
  }

  setLasso(on) {
    this.lassoing = on;
    $("#lasso").setAttribute("aria-pressed", String(on));
    this.stage.classList.toggle("lassoing", on);
  }

  closeLasso() {
    const polygon = this.trail.map(([x, y]) => this.camera.world(x, y));
    const points = this.grid.inside(polygon);
    const rank = this.points.counts ? (one, other) => this.points.counts[other] - this.points.counts[one] : (one, other) => one - other;
    this.chosen = Object.assign(points.sort(rank), { polygon });
    this.setLasso(false);
    this.showSelection();
  }
}

let linkOf = () => "#";
export const setMapLinks = (make) => (linkOf = make);

export function neighborList(neighbors, { href, enter, leave, extra }) {
  const top = Math.max(...neighbors.map((near) => near.score), 1e-6);
  return h(
    "ol",
    { class: "neighbors" },
    neighbors.map((near) =>
      h(
        "li",
        { onmouseenter: () => enter?.(near), onmouseleave: () => leave?.(near) },
        h("span", { class: "bar", style: { width: `${clamp(near.score / top, 0, 1) * 100}%` } }),
        range(near, top),
        h("a", { class: "word", href: linkOf(href(near)), onfocus: () => enter?.(near), onblur: () => leave?.(near) }, near.word),
        extra?.(near),
        typeof near.share !== "number" || near.share >= SURE ? null : h("span", { class: `sure${near.share < 0.5 ? " doubtful" : ""}`, title: "Of resamples of the text in which it is among the nearest" }, `${Math.round(near.share * 100)} %`),
        h("span", { class: "cosine", title: cosineTitle(near) }, near.score.toFixed(2)),
      ),
    ),
  );
}

// What the cosine could be in another text of the same size, as a line over the bar.
function range({ low, high }, top) {
  if (typeof low !== "number") return null;
  const [left, right] = [low, high].map((cosine) => clamp(cosine / top, 0, 1) * 100);
  return h("span", { class: "range", "aria-hidden": "true", style: { left: `${left}%`, width: `${right - left}%` } });
}

function cosineTitle({ count, low, high }) {
  const parts = ["cosine", typeof low === "number" && `${low.toFixed(2)} to ${high.toFixed(2)} in another text of this size`, typeof count === "number" && `${number(count)} times in the text`];
  return parts.filter(Boolean).join("; ");
}

function pointsOf({ words, counts, x, y, clusters, cluster_names: clusterNames }) {
  const rows = new Map(words.map((word, row) => [word, row]));
  const all = words.map((_, row) => row);
  // Function words and numbers say little on a map: short and very frequent words come after the others.
  const telling = (row) => words[row].length > 3 && /^\p{L}+$/u.test(words[row]);
  const often = counts ? (one, other) => counts[other] - counts[one] || one - other : (one, other) => one - other;
  const sorted = all.slice().sort(often);
  const common = new Set(counts ? sorted.slice(0, Math.min(COMMON, words.length / 50)) : []);
  const weight = (row) => (telling(row) ? (common.has(row) ? 1 : 2) : 0);
  const importance = Int32Array.from([2, 1, 0].flatMap((kind) => sorted.filter((row) => weight(row) === kind)));
  const extent = counts ? [counts[sorted[0]], counts[sorted[sorted.length - 1]]] : [1, 1];
  return {
    words,
    counts,
    x: Float32Array.from(x),
    y: Float32Array.from(y),
    clusters,
    clusterNames,
    importance,
    extent,
    order: Int32Array.from(sorted.reverse()),
    rowOf: (word) => rows.get(word) ?? rows.get(word.toLowerCase()) ?? -1,
  };
}

function dot(context, x, y, radius, color, halo) {
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
  context.fillStyle = color;
  context.fill();
  context.lineWidth = 1.5;
  context.strokeStyle = halo;
  context.stroke();
}

// A canvas that was asked for WebGL never gives 2D: it is replaced by a new one.
function fresh(canvas) {
  const other = canvas.cloneNode();
  canvas.replaceWith(other);
  return other;
}
