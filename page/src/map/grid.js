// Which word is under the pointer, and which are inside a polygon.

const SIDE = 256;

export class Grid {
  constructor({ x, y }) {
    this.x = x;
    this.y = y;
    const cells = new Int32Array(SIDE * SIDE + 1);
    const of = (point) => cell(x[point]) + SIDE * cell(y[point]);
    for (let point = 0; point < x.length; point++) cells[of(point) + 1]++;
    for (let place = 0; place < SIDE * SIDE; place++) cells[place + 1] += cells[place];
    this.starts = cells.slice();
    this.points = new Int32Array(x.length);
    for (let point = 0; point < x.length; point++) this.points[cells[of(point)]++] = point;
  }

  nearest(x, y, radius) {
    let best = -1;
    let least = radius * radius;
    for (let row = cell(y - radius); row <= cell(y + radius); row++) {
      for (let column = cell(x - radius); column <= cell(x + radius); column++) {
        const place = column + SIDE * row;
        for (let at = this.starts[place]; at < this.starts[place + 1]; at++) {
          const point = this.points[at];
          const distance = (this.x[point] - x) ** 2 + (this.y[point] - y) ** 2;
          if (distance < least) [best, least] = [point, distance];
        }
      }
    }
    return best;
  }

  inside(polygon) {
    const found = [];
    for (let point = 0; point < this.x.length; point++) if (within(polygon, this.x[point], this.y[point])) found.push(point);
    return found;
  }
}

const cell = (value) => Math.min(SIDE - 1, Math.max(0, Math.floor(((value + 1.5) / 3) * SIDE)));

function within(polygon, x, y) {
  let inside = false;
  for (let place = 0, last = polygon.length - 1; place < polygon.length; last = place++) {
    const [ax, ay] = polygon[place];
    const [bx, by] = polygon[last];
    if (ay > y !== by > y && x < ((bx - ax) * (y - ay)) / (by - ay) + ax) inside = !inside;
  }
  return inside;
}
