// Where the map is looked at from: a middle and a zoom. The world lies between -1 and 1.

const CLOSEST = 400;
const FARTHEST = 0.6;

export class Camera {
  constructor() {
    this.x = 0;
    this.y = 0;
    this.zoom = 1;
    this.width = 1;
    this.height = 1;
  }

  get scale() {
    return (this.zoom * Math.min(this.width, this.height) * 0.94) / 2;
  }

  screenX(x) {
    return (x - this.x) * this.scale + this.width / 2;
  }

  screenY(y) {
    return (this.y - y) * this.scale + this.height / 2;
  }

  world(screenX, screenY) {
    return [(screenX - this.width / 2) / this.scale + this.x, this.y - (screenY - this.height / 2) / this.scale];
  }

  pan(byX, byY) {
    this.x = clamp(this.x - byX / this.scale, -1.6, 1.6);
    this.y = clamp(this.y + byY / this.scale, -1.6, 1.6);
  }

  zoomAt(factor, screenX = this.width / 2, screenY = this.height / 2) {
    const [x, y] = this.world(screenX, screenY);
    this.zoom = clamp(this.zoom * factor, FARTHEST, CLOSEST);
    const [nowX, nowY] = this.world(screenX, screenY);
    this.x += x - nowX;
    this.y += y - nowY;
  }

  get text() {
    return [this.x, this.y, this.zoom].map((value) => +value.toFixed(4)).join(",");
  }

  set text(value) {
    const [x, y, zoom] = value.split(",").map(Number);
    if ([x, y, zoom].every(Number.isFinite)) Object.assign(this, { x: clamp(x, -1.6, 1.6), y: clamp(y, -1.6, 1.6), zoom: clamp(zoom, FARTHEST, CLOSEST) });
  }
}

export const clamp = (value, low, high) => Math.min(high, Math.max(low, value));
