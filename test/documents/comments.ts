import ts from "typescript";
import { type Block, markdownBlocks } from "./blocks.js";
import { filesBelow, read } from "./files.js";

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

/** All blocks of the doc comments of the library. */
export const sourceBlocks = () => filesBelow("src", ".ts").flatMap((path) => commentBlocks(path, read(path)));
