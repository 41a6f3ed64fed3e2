import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path/posix";
import { fileURLToPath } from "node:url";
import ts from "typescript";

/** One fenced block of a document: where its first line is, and what it says. */
export interface Block {
  readonly document: string;
  readonly line: number;
  /** As the fence has it; empty where it has none. */
  readonly language: string;
  readonly code: string;
  /** The declaration whose doc comment it is in. */
  readonly owner?: string;
}

export const root = fileURLToPath(new URL("../..", import.meta.url));

/** The blocks of a Markdown text that begins at the given line of its document. */
export function markdownBlocks(document: string, text: string, firstLine = 1): Block[] {
  const blocks: Block[] = [];
  let open: { fence: string; indent: number; block: Block; lines: string[] } | undefined;
  text.split(/\r?\n/).forEach((line, at) => {
    const fence = /^(\s*)(`{3,}|~{3,})\s*([^\s`]*)/.exec(line);
    if (open === undefined) {
      if (fence === null) return;
      const block = { document, line: firstLine + at + 1, language: fence[3]!, code: "" };
      open = { fence: fence[2]!, indent: fence[1]!.length, block, lines: [] };
    } else if (fence?.[2]?.startsWith(open.fence) && fence[3] === "") {
      blocks.push({ ...open.block, code: open.lines.join("\n") });
      open = undefined;
    } else {
      open.lines.push(line.slice(Math.min(open.indent, line.length - line.trimStart().length)));
    }
  });
  if (open !== undefined) throw new Error(`${document}: a code block is not closed`);
  return blocks;
}

/** The blocks of the doc comments of a TypeScript file. */
export function commentBlocks(document: string, text: string): Block[] {
  const file = ts.createSourceFile(document, text, ts.ScriptTarget.Latest, true);
  const comments = new Map<number, { comment: string; owner?: string }>();
  const visit = (node: ts.Node): void => {
    const owner = (node as { name?: ts.Node }).name?.getText(file);
    for (const range of ts.getLeadingCommentRanges(text, node.getFullStart()) ?? []) {
      const comment = text.slice(range.pos, range.end);
      if (!comment.startsWith("/**")) continue;
      const known = comments.get(range.pos);
      if (known?.owner === undefined) comments.set(range.pos, { comment, ...(owner && { owner }) });
    }
    for (const child of node.getChildren(file)) visit(child);
  };
  visit(file);
  return [...comments].flatMap(([position, { comment, owner }]) => {
    const prose = comment.replace(/^\/\*\*|\*\/$/g, "").replace(/^[ \t]*\* ?/gm, "");
    const line = file.getLineAndCharacterOfPosition(position).line + 1;
    return markdownBlocks(document, prose, line).map((block) => ({ ...block, ...(owner && { owner }) }));
  });
}

/** The files below a folder of the project, by the end of their names. */
export function filesBelow(folder: string, ending: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(ending))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)));
}

export const read = (path: string) => readFileSync(join(root, path), "utf8");

/** All blocks of the doc comments of the library. */
export const sourceBlocks = () => filesBelow("src", ".ts").flatMap((path) => commentBlocks(path, read(path)));
