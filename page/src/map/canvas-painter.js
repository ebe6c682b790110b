// Points without WebGL: stamped into the pixels of one image, which a software canvas shows faster than shapes.

export class CanvasPainter {
  kind = "canvas";

  constructor(canvas) {
    this.context = canvas.getContext("2d", { alpha: false });
    this.canvas = canvas;
    this.image = null;
    this.stamps = new Map();
  }

  resize(width, height, ratio) {
    this.ratio = ratio;
    this.canvas.width = Math.max(1, Math.round(width * ratio));
    this.canvas.height = Math.max(1, Math.round(height * ratio));
    this.image = this.context.createImageData(this.canvas.width, this.canvas.height);
    this.pixels = new Uint32Array(this.image.data.buffer);
  }

  setPoints(points) {
    this.points = points;
  }

  setColors(indices, palette, background) {
    this.indices = indices;
    this.palette = Uint32Array.from(palette, packed);
    this.background = packed(background);
  }

  draw(camera, radius) {
    const { pixels, points, palette, indices } = this;
    pixels.fill(this.background);
    const { width, height } = this.canvas;
    const { offsets, alphas, reach } = this.stamp(Math.round(radius * this.ratio * 4) / 4, width);
    const scale = camera.scale * this.ratio;
    const left = width / 2 - camera.x * scale;
    const top = height / 2 + camera.y * scale;
    const { x, y, order } = points;
    for (let turn = 0; turn < order.length; turn++) {
      const point = order[turn];
      const across = (left + x[point] * scale) | 0;
      const down = (top - y[point] * scale) | 0;
      if (across < reach || down < reach || across >= width - reach || down >= height - reach) continue;
      const middle = down * width + across;
      const color = palette[indices[point]];
      const redBlue = color & 0xff00ff;
      const green = color & 0x00ff00;
      for (let place = 0; place < offsets.length; place++) {
        const spot = middle + offsets[place];
        const alpha = alphas[place];
        if (alpha === 256) {
          pixels[spot] = color;
          continue;
        }
        const under = pixels[spot];
        const rest = 256 - alpha;
        pixels[spot] =
          0xff000000 |
          ((((redBlue * alpha + (under & 0xff00ff) * rest) >>> 8) & 0xff00ff) | (((green * alpha + (under & 0x00ff00) * rest) >>> 8) & 0x00ff00));
      }
    }
    this.context.putImageData(this.image, 0, 0);
  }

  // Pixels of a disc with soft edges, as offsets into the image.
  stamp(radius, width) {
    const key = `${radius}|${width}`;
    if (this.stamps.has(key)) return this.stamps.get(key);
    const reach = Math.ceil(radius + 0.5);
    const offsets = [];
    const alphas = [];
    for (let down = -reach; down <= reach; down++) {
      for (let across = -reach; across <= reach; across++) {
        const alpha = Math.min(1, Math.max(0, radius + 0.5 - Math.hypot(across, down)));
        if (alpha > 0.05) {
          offsets.push(down * width + across);
          alphas.push(alpha > 0.97 ? 256 : Math.round(alpha * 256));
        }
      }
    }
    const made = { offsets: Int32Array.from(offsets), alphas: Int32Array.from(alphas), reach: reach + 1 };
    this.stamps.set(key, made);
    return made;
  }

  destroy() {}
}

// "#rrggbb" as a pixel in memory, where red comes first.
function packed(color) {
  const value = parseInt(color.slice(1), 16);
  return (0xff000000 | ((value & 0xff) << 16) | (value & 0xff00) | (value >> 16)) >>> 0;
}
