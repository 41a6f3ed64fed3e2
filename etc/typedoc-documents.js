// Puts the guides into the reference: named by their headings and not by their files, in the order of the README's table.
import { readFileSync } from "node:fs";
import { Converter } from "typedoc";

const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8");
const HEADING = /^# (.+)\n+/;

/** @param {import("typedoc").Application} app */
export function load(app) {
  /** @type {Map<import("typedoc").Reflection, number>} */
  const places = new Map();
  app.converter.on(Converter.EVENT_CREATE_DOCUMENT, (_context, document) => {
    const place = readme.lastIndexOf(`(${document.name}.md)`);
    places.set(document, place === -1 ? readme.length : place);
    const title = HEADING.exec(document.content[0]?.text ?? "")?.[1];
    if (title !== undefined) document.name = title.replaceAll("`", "").replace(/:.*/, "");
  });

  app.converter.on(Converter.EVENT_RESOLVE_BEGIN, ({ project }) => {
    for (const list of [project.documents, project.childrenIncludingDocuments]) {
      list?.sort((one, other) => (places.get(one) ?? Infinity) - (places.get(other) ?? Infinity) || 0);
    }
  });

  // The first page has a title of its own.
  app.converter.on(Converter.EVENT_RESOLVE_END, ({ project }) => {
    const [first] = project.readme ?? [];
    if (first !== undefined) first.text = first.text.replace(HEADING, "");
  });
}
