// Bundle the page into the package: npm ci && npm run build.

import { build } from "esbuild";
import { copyFile, readFile, writeFile } from "node:fs/promises";

const out = "../src/wordstill/explore/static";
// The script is checked in: whoever installs or runs the page needs no npm.
await build({
  entryPoints: ["src/main.js"],
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2022",
  charset: "utf8",
  legalComments: "none",
  outfile: `${out}/page.js`,
  alias: { regl: "@plotly/regl" },
});
await build({ entryPoints: ["src/page.css"], minify: true, outfile: `${out}/page.css`, logLevel: "warning" });
await copyFile("src/index.html", `${out}/index.html`);
await copyFile("src/icon.svg", `${out}/icon.svg`);
await copyFile("src/widget.js", `${out}/widget.js`);

// regl-scatterplot comes bundled with its own dependencies, so every package that is not for development is named.
const { packages } = JSON.parse(await readFile("package-lock.json", "utf8"));
const names = Object.entries(packages).filter(([path, { dev }]) => path && !dev).map(([path]) => path.replace(/^node_modules\//, ""));
const notices = ["The script of this page contains these packages.\n"];
for (const name of names.sort()) {
  const { version, license } = JSON.parse(await readFile(`node_modules/${name}/package.json`, "utf8"));
  const texts = await Promise.all(["LICENSE", "LICENSE.md", "license", "LICENCE"].map((file) => readFile(`node_modules/${name}/${file}`, "utf8").catch(() => "")));
  notices.push(`${"-".repeat(70)}\n${name} ${version} (${license})\n\n${texts.find(Boolean) ?? ""}`);
}
await writeFile(`${out}/notices.txt`, notices.join("\n"));
