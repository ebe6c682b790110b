// The same answers as the server's, computed from the data inside a page: int8 unit vectors, a map, some sentences.

const MOST = 200;

function bytes(text) {
  const raw = atob(text);
  const array = new Uint8Array(raw.length);
  for (let place = 0; place < raw.length; place++) array[place] = raw.charCodeAt(place);
  return array;
}

async function unpacked(text) {
  const stream = new Blob([bytes(text)]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).json();
}

function unknown(word) {
  return Object.assign(new Error(`'${word}' is not in this table.`), { unknown: true });
}

class Table {
  constructor(data) {
    Object.assign(this, data);
    this.numbers = new Int8Array(bytes(data.numbers).buffer);
    this.scales = new Float32Array(bytes(data.scales).buffer);
    this.rows = new Map(this.words.map((word, row) => [word, row]));
  }

  row(word) {
    const given = word.trim();
    for (const form of [given, given.toLowerCase(), given[0]?.toUpperCase() + given.slice(1).toLowerCase(), given.toUpperCase()]) {
      if (this.rows.has(form)) return this.rows.get(form);
    }
    throw unknown(given);
  }

  listed(text) {
    const words = text.split(",").map((part) => part.trim()).filter(Boolean);
    if (!words.length || words.length > MOST) throw new Error(`Expected 1 to ${MOST} words with commas between, got ${words.length}.`);
    return words.map((word) => this.row(word));
  }

  unit(row) {
    const vector = new Float32Array(this.dim);
    for (let place = 0; place < this.dim; place++) vector[place] = this.numbers[row * this.dim + place] * this.scales[row];
    return normalized(vector);
  }

  mean(rows) {
    const sum = new Float32Array(this.dim);
    for (const row of rows) this.unit(row).forEach((value, place) => (sum[place] += value / rows.length));
    return sum;
  }

  cosines(vector) {
    const { dim, numbers, scales } = this;
    const found = new Float32Array(this.words.length);
    for (let row = 0, start = 0; row < found.length; row++, start += dim) {
      let sum = 0;
      for (let place = 0; place < dim; place++) sum += numbers[start + place] * vector[place];
      found[row] = sum * scales[row];
    }
    return found;
  }

  best(scores, count, without) {
    const banned = new Set(without);
    const kept = [];
    for (let row = 0; row < scores.length; row++) {
      if (banned.has(row)) continue;
      if (kept.length === count && scores[row] <= scores[kept[count - 1]]) continue;
      let place = kept.length;
      while (place > 0 && scores[kept[place - 1]] < scores[row]) place--;
      kept.splice(place, 0, row);
      if (kept.length > count) kept.pop();
    }
    return kept.map((row) => this.near(row, scores[row]));
  }

  near(row, score) {
    return { word: this.words[row], score: Math.round(score * 1e4) / 1e4, count: this.counts ? this.counts[row] : null };
  }
}

function normalized(vector) {
  let sum = 0;
  for (const value of vector) sum += value * value;
  const length = Math.sqrt(sum) || 1;
  return vector.map((value) => value / length);
}

const dot = (first, second) => first.reduce((sum, value, place) => sum + value * second[place], 0);

export class LocalTables {
  static async open(data) {
    const made = new LocalTables();
    const content = await unpacked(data.content);
    Object.assign(made, content);
    made.tablesByName = new Map();
    for (const [place, table] of content.loaded.entries()) {
      const { numbers, scales } = data.vectors[place];
      made.tablesByName.set(table.name, new Table({ ...table, numbers, scales }));
    }
    return made;
  }

  async ask(name, parameters = {}) {
    return this[name](parameters);
  }

  table(name) {
    return this.tablesByName.get(name) ?? this.tablesByName.values().next().value;
  }

  tables() {
    return this.contents;
  }

  map({ table }) {
    const { map, words, counts, name } = this.table(table);
    return { table: name, done: true, progress: 1, problem: null, words, counts, ...map };
  }

  search({ q, table, limit = 12 }) {
    const asked = q.trim().toLowerCase();
    const groups = [[], [], []];
    const chosen = this.table(table);
    if (asked) {
      chosen.words.forEach((word, row) => {
        const place = word.toLowerCase().indexOf(asked);
        if (place < 0) return;
        const kind = word.length === asked.length ? 0 : place ? 2 : 1;
        if (groups[kind].length < limit) groups[kind].push(row);
      });
    }
    const words = groups.flatMap((group, kind) => group.map((row) => chosen.near(row, 2 - kind)));
    return { query: q, words: words.slice(0, limit) };
  }

  neighbors({ word, table, topn = 20 }) {
    const chosen = this.table(table);
    const row = chosen.row(word);
    const neighbors = chosen.best(chosen.cosines(chosen.unit(row)), Math.min(+topn, MOST), [row]);
    return { table: chosen.name, word: chosen.words[row], count: chosen.counts?.[row] ?? null, rank: chosen.ranks[row], neighbors };
  }

  word({ word, topn = 10 }) {
    const tables = {};
    const shared = {};
    for (const name of this.tablesByName.keys()) {
      try {
        tables[name] = this.neighbors({ word, table: name, topn });
        for (const near of tables[name].neighbors) shared[near.word] = (shared[near.word] ?? 0) + 1;
      } catch (error) {
        if (!error.unknown) throw error;
        tables[name] = null;
      }
    }
    if (!Object.values(tables).some(Boolean)) throw unknown(word);
    return { word, tables, shared };
  }

  groups({ table }) {
    const { name, groups } = this.table(table);
    return { table: name, groups: this.contents.tables.find((card) => card.name === name).groups, words: groups };
  }

  sentences({ word, other = "", table, limit = 12, offset = 0 }) {
    const chosen = this.table(table);
    word = chosen.words[chosen.row(word)];
    const reply = { word, other: other || null, total: 0, lines: [], together: [], alike: [], by_states: false, note: this.sentences_note };
    if (!this.lines) return reply;
    const own = this.lines.places[word] ?? [];
    reply.total = this.lines.totals[word] ?? 0;
    reply.held = own.length;
    const line = ([sentence, start, length]) => {
      const text = this.lines.texts[sentence];
      return { sentence, before: text.slice(0, start), word: text.slice(start, start + length), after: text.slice(start + length) };
    };
    if (!other) return { ...reply, lines: own.slice(offset * limit, offset * limit + +limit).map(line) };
    const others = new Set((this.lines.places[chosen.words[chosen.row(other)]] ?? []).map(([sentence]) => sentence));
    return { ...reply, together: own.filter(([sentence]) => others.has(sentence)).map(line) };
  }

  // Senses and groups were computed for the most frequent words only.
  senses({ word, table }) {
    return this.meanings[this.table(table).name].senses[word] ?? { word, senses: [], note: null };
  }

  timeline({ word, table }) {
    return this.meanings[this.table(table).name].timelines[word] ?? { word, groups: [], note: "This file has the groups of 1,500 words; wordstill explore has those of all." };
  }

  changed({ before, after, table }) {
    const { changed } = this.meanings[this.table(table).name];
    if (changed.before !== before || changed.after !== after) throw new Error(`This file compares ${changed.before} with ${changed.after} only; wordstill explore compares any two groups.`);
    return changed;
  }

  analogy({ a, b, c, table, topn = 10 }) {
    const chosen = this.table(table);
    const [first, second, third] = [chosen.listed(a), chosen.listed(b), [chosen.row(c)]];
    const [from, to, start] = [first, second, third].map((rows) => chosen.mean(rows));
    const target = normalized(to.map((value, place) => value - from[place] + start[place]));
    return { answers: chosen.best(chosen.cosines(target), Math.min(+topn, MOST), [...first, ...second, ...third]) };
  }

  odd({ words, table }) {
    const chosen = this.table(table);
    const rows = chosen.listed(words);
    if (rows.length < 3) throw new Error(`The odd one out needs three words or more, got ${rows.length}.`);
    const middle = normalized(chosen.mean(rows));
    const scored = rows.map((row) => chosen.near(row, dot(chosen.unit(row), middle))).sort((x, y) => x.score - y.score);
    return { odd: scored[0].word, words: scored };
  }

  axis({ low, high, words = "", table }) {
    const chosen = this.table(table);
    const poles = [low, high].map((text) => chosen.listed(text));
    const [from, to] = poles.map((rows) => chosen.mean(rows));
    const direction = normalized(to.map((value, place) => value - from[place]));
    const along = chosen.cosines(direction);
    const frequent = chosen.words.map((_, row) => row).slice(0, 5000).filter((row) => /^\p{L}+$/u.test(chosen.words[row]));
    frequent.sort((x, y) => along[x] - along[y]);
    const near = (row) => chosen.near(row, along[row]);
    const placed = words.trim() ? chosen.listed(words).map(near).sort((x, y) => x.score - y.score) : [];
    const [lowWords, highWords] = poles.map((rows) => rows.map((row) => chosen.words[row]));
    return { low: lowWords, high: highWords, words: placed, low_end: frequent.slice(0, 12).map(near), high_end: frequent.slice(-12).reverse().map(near) };
  }

  compare({ first, second }) {
    const found = this.comparisons?.find((one) => one.first === first && one.second === second);
    if (!found) throw new Error("A comparison needs two different tables.");
    return found;
  }

  arrows({ pairs, table }) {
    const chosen = this.table(table);
    const split = pairs.split(",").filter((pair) => pair.trim()).map((pair) => pair.split(":").map((part) => part.trim()));
    if (split.some((pair) => pair.length !== 2 || !pair.every(Boolean))) throw new Error("Pairs are written man:woman,king:queen, three pairs or more.");
    const missing = [];
    const known = split.filter((pair) => pair.every((word) => {
      try {
        return chosen.row(word) >= 0;
      } catch {
        missing.push(word);
        return false;
      }
    }));
    if (known.length < 3) throw new Error(`Arrows need three pairs whose words the table has; missing: ${missing.join(", ") || "none"}.`);
    const places = alongRelation(known.flat().map((word) => chosen.unit(chosen.row(word))));
    return { missing, pairs: known.map(([first, second], pair) => ({ first, second, start: places[2 * pair], end: places[2 * pair + 1] })) };
  }

  scores() {
    return this.score_reply;
  }

  errors({ dataset, table }) {
    return this.item_errors?.[`${dataset}|${this.table(table).name}`] ?? { dataset, pairs: [], answers: [], note: "Not in this file; open the page with wordstill explore." };
  }
}

// Pairs on their mean difference, and on the first component of the rest by power iteration on products of rows.
function alongRelation(rows) {
  const difference = rows[0].map((_, place) => rows.reduce((sum, row, number) => sum + (number % 2 ? row[place] : -row[place]), 0));
  const direction = normalized(difference);
  const mean = rows[0].map((_, place) => rows.reduce((sum, row) => sum + row[place], 0) / rows.length);
  const centered = rows.map((row) => row.map((value, place) => value - mean[place]));
  const across = centered.map((row) => dot(row, direction));
  const rest = centered.map((row, number) => row.map((value, place) => value - across[number] * direction[place]));
  const products = rest.map((one) => rest.map((other) => dot(one, other)));
  let up = normalized(rest.map((_, place) => Math.sin(1 + place * 1.7)));
  let size = 0;
  for (let step = 0; step < 500; step++) {
    const next = products.map((row) => dot(row, up));
    size = Math.sqrt(dot(next, next));
    up = normalized(next);
  }
  const largest = up.reduce((best, value) => (Math.abs(value) > Math.abs(best) ? value : best), 0);
  return across.map((place, row) => [place, Math.sign(largest || 1) * up[row] * Math.sqrt(size)]);
}
