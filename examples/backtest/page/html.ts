import { readFile } from "node:fs/promises";

/** A whole page in the style of this folder, which needs nothing else, and asks nobody for anything. */
export async function documentOf({
  title,
  subject,
  tools = "",
  body,
}: {
  title: string;
  subject: readonly string[];
  /** In the header, beside the title. */
  tools?: string;
  body: string;
}): Promise<string> {
  const files = ["../../page/tokens.css", "../../page/parts.css", "page.css"].map(
    (path) => new URL(path, import.meta.url),
  );
  const styles = await Promise.all(files.map((file) => readFile(file, "utf8")));
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:">
<title>${escaped(title)}</title>
<style>
${styles.join("")}</style>
</head>
<body>
<header>
<h1>${escaped(title)}</h1>
${subject.map((line) => `<p>${escaped(line)}</p>`).join("\n")}
${tools}</header>
${body}
</body>
</html>
`;
}

/** Of a list. */
export function items(texts: readonly string[]): string {
  return texts.map((text) => `<li>${escaped(text)}</li>`).join("\n");
}

const ENTITIES: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

/** Text, for a page. */
export function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (character) => ENTITIES[character]!);
}
