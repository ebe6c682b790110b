// Record the functions that regl compiles, so that the page needs no eval: npm run record, with a Chromium on this machine.

import { build, transform } from "esbuild";
import { writeFile } from "node:fs/promises";
import { chromium } from "playwright-core";

const FLAGS = ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist"];
const SCRIPT = `
  import { webglPainter } from "./src/map/webgl-painter.js";
  const functions = {};
  const painter = webglPainter(document.querySelector("canvas"), { force: true, functions });
  const count = 500;
  const random = () => Float32Array.from({ length: count }, () => 2 * Math.random() - 1);
  const camera = { x: 0, y: 0, scale: 300, width: 600, height: 600 };
  const wait = (time) => new Promise((resolve) => setTimeout(resolve, time));
  async function record() {
    if (!painter) throw new Error("This Chromium has no WebGL.");
    painter.resize(600, 600, 1);
    painter.setPoints({ x: random(), y: random(), order: Int32Array.from({ length: count }, (_, place) => place) });
    for (const palette of [["#aa0000", "#00aa00", "#0000aa"], ["#123456", "#654321"]]) {
      painter.setColors(Uint8Array.from({ length: count }, (_, place) => place % palette.length), palette, "#ffffff");
      for (const radius of [1, 3, 0.5]) {
        painter.draw(camera, radius);
        camera.scale *= 1.5;
        await wait(300);
      }
    }
    painter.resize(400, 500, 1);
    painter.draw(camera, 2);
    await wait(300);
    return Object.fromEntries(Object.entries(functions).map(([hash, made]) => [hash, made.toString()]));
  }
  window.recorded = record();
`;
const bundle = await build({ stdin: { contents: SCRIPT, resolveDir: "." }, bundle: true, write: false, format: "iife", alias: { regl: "@plotly/regl" } });
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: FLAGS });
const page = await browser.newPage();
page.on("pageerror", (error) => console.error(error));
await page.setContent("<canvas></canvas>");
await page.addScriptTag({ content: bundle.outputFiles[0].text });
const functions = await page.evaluate("window.recorded");
await browser.close();

const text = [];
for (const [hash, made] of Object.entries(functions).sort(([one], [other]) => (one < other ? -1 : 1))) {
  const { code } = await transform(`made = ${made.replace("function anonymous", "function")}`, { minify: true });
  text.push(`  "${hash}": ${code.trim().replace(/^made=/, "").replace(/;$/, "")},\n`);
}
await writeFile("src/map/regl-functions.js", `// Made by record.mjs from what regl writes. Do not edit.\nexport const recorded = {\n${text.join("")}};\n`);
console.log(`${text.length} functions recorded`);
