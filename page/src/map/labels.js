// Labels that do not overlap: words in order of importance take free boxes of the screen.

const CELL = 6;
const EXAMINED = 30000;
const LONGEST = 28;

const short = (word) => (word.length > LONGEST ? `${[...word].slice(0, LONGEST - 1).join("")}…` : word);

export class Labels {
  constructor(canvas) {
    this.context = canvas.getContext("2d");
    this.canvas = canvas;
    this.widths = new Map();
  }

  resize(width, height, ratio) {
    this.width = width;
    this.height = height;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.columns = Math.ceil(width / CELL) + 1;
    this.taken = new Uint8Array(this.columns * (Math.ceil(height / CELL) + 1));
  }

  clear() {
    this.context.clearRect(0, 0, this.width, this.height);
    this.taken.fill(0);
  }

  measured(word, font) {
    const key = font + word;
    if (!this.widths.has(key)) {
      if (this.widths.size > 50000) this.widths.clear();
      this.context.font = font;
      this.widths.set(key, this.context.measureText(word).width);
    }
    return this.widths.get(key);
  }

  // Whether a box is free; if so it is taken.
  take(left, top, width, height, force = false) {
    const first = Math.max(0, Math.floor(left / CELL));
    const last = Math.min(this.columns - 1, Math.ceil((left + width) / CELL));
    const upper = Math.max(0, Math.floor(top / CELL));
    const lower = Math.min(Math.floor(this.taken.length / this.columns) - 1, Math.ceil((top + height) / CELL));
    if (!force) {
      for (let row = upper; row <= lower; row++) {
        for (let column = first; column <= last; column++) if (this.taken[row * this.columns + column]) return false;
      }
    }
    for (let row = upper; row <= lower; row++) this.taken.fill(1, row * this.columns + first, row * this.columns + last + 1);
    return true;
  }

  // Draw as many words as there is room for; returns those that were drawn.
  place(points, camera, { most, font, color, halo, only }) {
    const { x, y, words, importance } = points;
    const drawn = [];
    const { context } = this;
    context.font = font;
    context.textAlign = "center";
    context.textBaseline = "alphabetic";
    context.lineJoin = "round";
    context.lineWidth = 3.5;
    context.strokeStyle = halo;
    context.fillStyle = color;
    let examined = 0;
    for (const point of importance) {
      if (drawn.length >= most || examined > EXAMINED) break;
      if (only && !only(point)) continue;
      const across = camera.screenX(x[point]);
      const down = camera.screenY(y[point]);
      if (across < 0 || down < 10 || across > this.width || down > this.height) continue;
      examined++;
      const word = short(words[point]);
      const width = this.measured(word, font) + 14;
      if (!this.take(across - width / 2, down - 22, width, 24)) continue;
      context.strokeText(word, across, down - 6);
      context.fillText(word, across, down - 6);
      drawn.push(point);
    }
    return drawn;
  }

  one(text, across, down, { font, color, halo, force = true }) {
    const word = short(text);
    const width = this.measured(word, font) + 8;
    // Above its point, or below it where there is no room.
    const top = (force ? [down - 24] : [down - 24, down + 4]).find((some) => this.take(across - width / 2, some, width, 20, force));
    if (top === undefined) return false;
    const { context } = this;
    context.font = font;
    context.textAlign = "center";
    context.lineJoin = "round";
    context.lineWidth = 4;
    context.strokeStyle = halo;
    context.fillStyle = color;
    context.strokeText(word, across, top + 15);
    context.fillText(word, across, top + 15);
    return true;
  }
}
