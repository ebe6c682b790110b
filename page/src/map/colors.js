// What the points are colored by. A coloring is an index per point into a palette, and a legend.

export const MUTED = 0;
const CLUSTER = ["#c2571a", "#2f7fb8", "#3f8f4f", "#8a5fb0", "#c23f5e", "#1d9a93", "#a5861c", "#5b6fd0", "#d07a9f", "#6c8f2f", "#b36a3c", "#3a9bc9", "#9a4f8f", "#4f9f7a", "#d0912f", "#7a7f92"];
const CLUSTER_DARK = ["#f08a4b", "#66b2e8", "#74c584", "#bd98e0", "#f07a94", "#58cfc7", "#dcbc52", "#94a5f5", "#f0aecb", "#a5c866", "#dd9c6f", "#77cdf5", "#d18bc8", "#86d1b0", "#f5bf66", "#aab0c2"];
const RAMP = ["#cfd8d3", "#a9c4c0", "#7fadb0", "#58939f", "#3b778c", "#2a5b76", "#1f425f", "#182e48"];
const RAMP_DARK = ["#2d3640", "#2f4b5a", "#336375", "#3e7f8d", "#559c9f", "#7cb9ae", "#b0d4bf", "#ecedd2"];
const FOUND = ["#c2571a", "#2f7fb8", "#3f8f4f", "#8a5fb0", "#c23f5e", "#1d9a93"];

const muted = (dark) => (dark ? "#2b3138" : "#d9d6cd");

export function coloring(kind, points, { dark, lists, cluster }) {
  const count = points.words.length;
  const indices = new Uint8Array(count);
  if (kind === "frequency" && points.counts) {
    const ramp = dark ? RAMP_DARK : RAMP;
    const most = Math.log(1 + Math.max(...points.extent));
    for (let point = 0; point < count; point++) {
      indices[point] = 1 + Math.min(ramp.length - 1, Math.floor((Math.log(1 + points.counts[point]) / most) * ramp.length));
    }
    const bounds = ramp.map((_, step) => Math.max(step ? 1 : 0, Math.ceil(Math.exp((step / ramp.length) * most) - 1)));
    return { indices, palette: [muted(dark), ...ramp], legend: ramp.map((color, step) => ({ color, text: `${bounds[step].toLocaleString("en-US")}+`, index: step + 1 })), ramp: true };
  }
  if (kind === "list" && lists.length) {
    const groups = lists.map(({ words }) => new Set(words.map((word) => word.toLowerCase())));
    const found = groups.map(() => 0);
    points.words.forEach((word, point) => {
      const group = groups.findIndex((some) => some.has(word.toLowerCase()));
      if (group >= 0) {
        indices[point] = 1 + (group % FOUND.length);
        found[group]++;
      }
    });
    const palette = [muted(dark), ...(dark ? CLUSTER_DARK.slice(0, 6) : FOUND)];
    return { indices, palette, legend: lists.map(({ name }, group) => ({ color: palette[1 + (group % FOUND.length)], text: name, index: 1 + (group % FOUND.length), count: found[group] })) };
  }
  if (kind === "group" && points.groups) {
    const colors = dark ? CLUSTER_DARK : CLUSTER;
    const found = points.groupNames.map(() => 0);
    points.groups.forEach((own, point) => {
      if (own < 0) return;
      indices[point] = 1 + (own % colors.length);
      found[own]++;
    });
    return { indices, palette: [muted(dark), ...colors], legend: points.groupNames.map((text, own) => ({ color: colors[own % colors.length], text, count: found[own] })) };
  }
  if (kind === "cluster" && points.clusters) {
    const colors = dark ? CLUSTER_DARK : CLUSTER;
    for (let point = 0; point < count; point++) {
      const own = points.clusters[point];
      indices[point] = cluster === null || cluster === own ? 1 + (own % colors.length) : MUTED;
    }
    return { indices, palette: [muted(dark), ...colors], legend: points.clusterNames.map((text, own) => ({ color: colors[own % colors.length], text, cluster: own, off: cluster !== null && cluster !== own })).filter(({ text }) => text) };
  }
  indices.fill(1);
  return { indices, palette: [muted(dark), dark ? "#8fa3b5" : "#5d7385"], legend: [] };
}
