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
