/** Dots of a character and a line. */
const [WIDE, HIGH] = [7.8, 18];
const MARGIN = 14;

const CLASSES: Readonly<Record<number, string>> = {
  ...{ 1: "bold", 2: "dim", 4: "line", 31: "red", 32: "green", 33: "yellow", 34: "blue", 36: "cyan" },
};
/** What ends which. */
const ENDS: Readonly<Record<number, readonly string[]>> = {
  ...{ 0: Object.values(CLASSES), 22: ["bold", "dim"], 24: ["line"] },
  39: ["red", "green", "yellow", "blue", "cyan"],
};

const STYLE =
  "rect{fill:#14171c}text{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,'Liberation Mono',monospace;fill:#e4e7ec;white-space:pre}" +
  ".bold{font-weight:700}.dim{fill:#9ba5b4}.line{text-decoration:underline}.red{fill:#f79088}.green{fill:#3fc79f}" +
  ".yellow{fill:#f0b04d}.blue{fill:#8ab1ff}.cyan{fill:#6fd3e3}";

/** Lines of a terminal, with their colours, as a picture. */
export function terminalSvg(lines: readonly string[], title: string): string {
  const texts = lines.map(partsOf);
  const columns = Math.max(...texts.map((parts) => parts.reduce((sum, { text }) => sum + text.length, 0)));
  const [width, height] = [Math.ceil(columns * WIDE + 2 * MARGIN), lines.length * HIGH + 2 * MARGIN];
  const rows = texts.map((parts, at) => {
    let column = 0;
    const spans = parts.map(({ text, classes }) => {
      const place = `x="${(MARGIN + column * WIDE).toFixed(1)}" textLength="${(text.length * WIDE).toFixed(1)}"`;
      column += text.length;
      const look = classes.length === 0 ? "" : ` class="${classes.join(" ")}"`;
      return text.trim() === "" ? "" : `<tspan ${place}${look}>${escaped(text)}</tspan>`;
    });
    return `<text y="${MARGIN + at * HIGH + 13}" xml:space="preserve">${spans.join("")}</text>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img">
<title>${escaped(title)}</title>
<style>${STYLE}</style>
<rect width="${width}" height="${height}" rx="8"/>
${rows.join("\n")}
</svg>
`;
}

/** The text of a line in parts of one look each. */
function partsOf(line: string): { text: string; classes: readonly string[] }[] {
  const on = new Set<string>();
  return line.split("\u001b[").flatMap((piece, at) => {
    const end = at === 0 ? 0 : piece.indexOf("m") + 1;
    for (const code of piece
      .slice(0, Math.max(0, end - 1))
      .split(";")
      .map(Number)) {
      for (const name of at === 0 ? [] : (ENDS[code] ?? [])) on.delete(name);
      const name = at === 0 ? undefined : CLASSES[code];
      if (name !== undefined) on.add(name);
    }
    const text = piece.slice(end);
    return text === "" ? [] : [{ text, classes: [...on] }];
  });
}

function escaped(text: string): string {
  return text.replace(/[&<>]/g, (sign) => ({ "&": "&amp;", "<": "&lt;" })[sign] ?? "&gt;");
}
