// Points by WebGL, drawn by regl-scatterplot. The camera and the hands are the map's own: it is only told what to show.
//
// regl writes functions as text and compiles them, which a strict content policy forbids. @plotly/regl writes the same
// text on every machine and takes compiled functions by the hash of that text: record.mjs has recorded them.

import createRegl from "@plotly/regl";
import createScatterplot, { createRenderer } from "regl-scatterplot";
import { recorded } from "./regl-functions.js";

const EXTENSIONS = ["ANGLE_instanced_arrays", "OES_texture_float", "OES_element_index_uint", "WEBGL_color_buffer_float", "EXT_float_blend"];
const NEEDED = ["OES_texture_float"];

// Software that plays a GPU is slower than the plain canvas: it is used only if the address asks for it.
export function webglPainter(canvas, { force = false, functions = recorded } = {}) {
  const drawing = document.createElement("canvas");
  const gl = drawing.getContext("webgl", { antialias: true, preserveDrawingBuffer: true, failIfMajorPerformanceCaveat: !force });
  if (gl && !force && isSoftware(gl)) return null;
  if (!gl || NEEDED.some((name) => !gl.getExtension(name))) return null;
  try {
    return new WebglPainter(canvas, drawing, gl, functions);
  } catch {
    return null;
  }
}

function isSoftware(gl) {
  const names = gl.getExtension("WEBGL_debug_renderer_info");
  return names !== null && /swiftshader|llvmpipe|softpipe|software|basic render/i.test(gl.getParameter(names.UNMASKED_RENDERER_WEBGL));
}

class WebglPainter {
  kind = "webgl";

  constructor(canvas, drawing, gl, functions) {
    this.canvas = canvas;
    const extensions = EXTENSIONS.filter((name) => gl.getExtension(name));
    this.regl = createRegl({ gl, extensions, cachedCode: functions });
    this.renderer = createRenderer({ regl: this.regl, canvas: drawing, gamma: 1 });
    this.plot = createScatterplot({
      renderer: this.renderer,
      canvas,
      width: 100,
      height: 100,
      aspectRatio: 1,
      cameraIsFixed: true,
      colorBy: "valueA",
      opacity: 0.92,
      pointSize: 2,
      pointScaleMode: "constant",
      deselectOnDblClick: false,
      deselectOnEscape: false,
      lassoOnLongPress: false,
      spatialIndexUseWorker: false,
    });
    this.stale = true;
  }

  resize(width, height) {
    this.renderer.resize(width, height);
    this.renderer.refresh();
    this.plot.set({ width, height });
  }

  setPoints(points) {
    this.points = points;
    this.stale = true;
  }

  setColors(indices, palette, background) {
    this.indices = indices;
    this.plot.set({ pointColor: palette, backgroundColor: background });
    this.stale = true;
  }

  draw(camera, radius) {
    const size = Math.max(1, Math.round(radius * 8) / 4);
    if (size !== this.size) this.plot.set({ pointSize: (this.size = size) });
    const scale = camera.scale / (camera.height / 2);
    const view = [scale, 0, 0, 0, 0, scale, 0, 0, 0, 0, 1, 0, -camera.x * scale, -camera.y * scale, 0, 1];
    this.plot.view(Float32Array.from(view), { preventEvent: true });
    if (this.stale) this.upload();
  }

  // Drawing is asynchronous: while one upload is under way the next waits, and of many only the last is done.
  async upload() {
    if (this.uploading || !this.indices) return;
    this.uploading = true;
    while (this.stale) {
      this.stale = false;
      const { x, y, order } = this.points;
      const data = { x: pick(x, order), y: pick(y, order), z: pick(this.indices, order) };
      await this.plot.draw(data, { zDataType: "categorical", preventFilterReset: true });
    }
    this.uploading = false;
  }

  destroy() {
    this.plot.destroy();
    this.renderer.destroy();
  }
}

function pick(values, order) {
  const picked = new Float32Array(order.length);
  for (let place = 0; place < order.length; place++) picked[place] = values[order[place]];
  return picked;
}
