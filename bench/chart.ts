import type { Comparison } from "./expectations.js";

const [WIDTH, LEFT, BAR, GAP, HEAD] = [760, 210, 14, 4, 26];
const LONGEST = WIDTH - LEFT - 60;

/**
 * How many times as long others take, as bars in SVG. Their lengths are logarithms, from a half to the longest, because
 * some are level and some take a hundred times as long.
 */
export function chartOf(comparisons: readonly Comparison[]): string {
  const all = comparisons.flatMap(({ others }) => others.map(({ times }) => times));
  const octaves = (times: number) => Math.max(0, Math.log2(2 * times));
  const scale = LONGEST / Math.max(1, ...all.map(octaves));
  const parts: string[] = [];
  let y = 0;
  const bar = (name: string, times: number, kind: string) => {
    const length = (scale * octaves(times)).toFixed(1);
    parts.push(
      `<text x="${LEFT - 8}" y="${y + BAR - 3}" text-anchor="end">${escaped(name)}</text>`,
      `<rect class="${kind}" x="${LEFT}" y="${y}" width="${length}" height="${BAR}" rx="2"/>`,
      `<text x="${(LEFT + Number(length) + 6).toFixed(1)}" y="${y + BAR - 3}">${times.toFixed(times < 10 ? 2 : 1)}</text>`,
    );
    y += BAR + GAP;
  };
  for (const { name, others } of comparisons) {
    y += HEAD;
    parts.push(`<text class="head" x="0" y="${y - 8}">${escaped(name)}</text>`);
    bar("pairstream", 1, "ours");
    for (const other of [...others].sort((one, two) => one.times - two.times))
      bar(other.name, other.times, "other");
  }
  const style = [
    "text{font:12px system-ui,sans-serif;fill:#24292f}.head{font-weight:600}.ours{fill:#1a7f64}.other{fill:#9aa4b2}",
    "@media(prefers-color-scheme:dark){text{fill:#e6edf3}.other{fill:#6e7681}}",
  ];
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${y + GAP}" role="img">`,
    "<title>How many times as long others take; bars on a logarithmic scale, shorter is faster</title>",
    `<style>${style.join("")}</style>`,
    ...parts,
    "</svg>\n",
  ].join("\n");
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll("`", "");
}
