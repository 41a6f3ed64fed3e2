import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path/posix";
import {
  Application,
  type Comment,
  type DeclarationReflection,
  type ProjectReflection,
  ReflectionKind,
  type SomeType,
  TSConfigReader,
  TypeDocReader,
} from "typedoc";
import { beforeAll, describe, expect, it } from "vitest";
import { filesBelow, read, root } from "../documents/files.js";

const DOORS = [
  "pairstream",
  "pairstream/backtest",
  "pairstream/lightweight-charts",
  "pairstream/nats",
  "pairstream/otel",
  "pairstream/react",
  "pairstream/service",
  "pairstream/sse",
  "pairstream/store",
  "pairstream/tradingview",
];

/** Told with `FAULT_KINDS`, each of them. */
const TOLD_ELSEWHERE = /^pairstream\/service\.FaultOptions\.rates\./;

/** What a number is: its unit, what it counts, or its range. */
const UNIT =
  /\bms\b|US dollars|tokens|coin\b|percent|fraction|units?\b|currency|price|HTTP status|\bbytes\b|\bnumber\b|how (many|likely)|counted from|polls that|first attempt|attempt that|share of|\d to [\d,]+|100 where|from \d/i;
/** Said of all numbers of an interface at once. */
const UNIT_OF_ALL = /\ball (in the unit|of them prices|from 0)|, from 0, .* to 100/;

let app: Application;
let reference: ProjectReflection;

beforeAll(async () => {
  app = await Application.bootstrapWithPlugins({ options: join(root, "typedoc.json"), logLevel: "Warn" }, [
    new TypeDocReader(),
    new TSConfigReader(),
  ]);
  reference = (await app.convert())!;
});

/** Every exported name, where it is declared. */
function exported(kinds = ReflectionKind.All): DeclarationReflection[] {
  const names = reference.children!.flatMap(({ children }) => children!);
  return names.filter(({ kind }) => kind !== ReflectionKind.Reference && (kind & kinds) !== 0);
}

/** What the doc comment of a name says, of each signature where it has some. */
function textOf({ comment, signatures = [], getSignature }: DeclarationReflection): string {
  const comments = [comment, getSignature?.comment, ...signatures.map((signature) => signature.comment)];
  return comments.map(wholeOf).join("\n");
}

function wholeOf(comment: Comment | undefined): string {
  if (comment === undefined) return "";
  const parts = [...comment.summary, ...comment.blockTags.flatMap(({ content }) => content)];
  return parts.map(({ text }) => text).join("");
}

const nameOf = (reflection: DeclarationReflection) => reflection.getFullName();
const problemOf = (member: DeclarationReflection) => `${nameOf(member)}: ${textOf(member).trim()}`;

describe("the reference", () => {
  it("has the doors by their names", () => {
    expect(reference.children!.map(({ name }) => name).sort()).toEqual(DOORS);
  });

  it("holds every guide, by its heading and in the README's order", () => {
    const guides = filesBelow("docs", ".md").map((path) => /^# ([^:\n]+)/.exec(read(path))![1]);
    const titles = reference.documents!.map(({ name }) => name);
    expect(titles).toEqual(expect.arrayContaining([...guides, "Examples", "Contributing"]));
    expect(titles.slice(0, 3)).toEqual(["Start", "Candles and their life", "Glossary"]);
  });

  it("is built without a warning", async () => {
    app.validate(reference);
    const folder = mkdtempSync(join(tmpdir(), "reference-"));
    await app.generateDocs(reference, folder);
    rmSync(folder, { recursive: true });
    expect({ errors: app.logger.errorCount, warnings: app.logger.warningCount }).toEqual({
      errors: 0,
      warnings: 0,
    });
  });

  it("begins with a sentence about every door and every exported name", () => {
    const names = [...reference.children!, ...exported()];
    expect(names.filter((name) => !/^\s*\S[\s\S]*?[.;:](\s|$)/.test(textOf(name))).map(nameOf)).toEqual([]);
  });

  it("shows an example of every function and class", () => {
    const names = exported(ReflectionKind.Function | ReflectionKind.Class);
    expect(names.filter((name) => !textOf(name).includes("```ts\n")).map(nameOf)).toEqual([]);
  });

  it("draws the marbles of every function that gives an Observable or an operator", () => {
    const names = exported(ReflectionKind.Function).filter(({ signatures }) =>
      signatures!.some(({ type }) => isStream(type)),
    );
    expect(names.map(({ name }) => name)).toEqual(expect.arrayContaining(["closes", "resample", "collect"]));
    expect(names.filter((name) => !textOf(name).includes("```marbles\n")).map(nameOf)).toEqual([]);
  });

  it("tells of every member, but for what a call takes and gives", () => {
    expect(
      members()
        .filter((member) => textOf(member).trim() === "")
        .map(nameOf),
    ).toEqual([]);
  });

  it("tells the unit of every number, or what it counts", () => {
    const numbers = members().filter(({ type }) => holdsNumber(type));
    expect(numbers.length).toBeGreaterThan(100);
    expect(
      numbers
        .filter((member) => !UNIT.test(textOf(member)) && !UNIT_OF_ALL.test(textOf(ownerOf(member))))
        .map(problemOf),
    ).toEqual([]);
  });

  it("has its tables of fields name every field, and no other", () => {
    const fieldsOf = (name: string) =>
      exported()
        .find((found) => found.name === name)!
        .children!.map((field) => field.name);
    const rows = read("docs/reference.md").split("\n");
    const tableOf = (head: string) => {
      const begin = rows.findIndex((row) => row.startsWith(`| ${head} `)) + 2;
      return rows.slice(begin, rows.indexOf("", begin)).map((row) => row.split(" | ").map(namesIn));
    };
    const firsts = (head: string) => tableOf(head).flatMap(([names]) => names!);
    const event = [...fieldsOf("CandleEventBase"), "type", "previous"];
    expect(firsts("field of `CandleEvent`").sort()).toEqual(event.sort());
    expect(firsts("field of `FeedStatus`").sort()).toEqual(fieldsOf("FeedStatus").sort());
    const activities = tableOf("`type` of `ClientActivity`");
    const { type: union } = exported().find(({ name }) => name === "ClientActivity")!;
    const kinds = union?.type === "union" ? union.types.map(String) : [];
    expect(activities.flatMap(([type]) => type!).sort()).toEqual(
      kinds.map((name) => name.replace("Activity", "").toLowerCase()).sort(),
    );
    for (const [[type], fields] of activities as [[string], string[]][]) {
      const name = `${type[0]!.toUpperCase()}${type.slice(1)}Activity`;
      expect([...fields, "at", "type"].sort(), name).toEqual(fieldsOf(name).sort());
    }
  });

  it("tells the default of every option", () => {
    const options = members().filter(
      (member) => member.flags.isOptional && /Options$|Watch$|Query$|Quirks$/.test(ownerOf(member).name),
    );
    expect(options.length).toBeGreaterThan(40);
    expect(
      options.filter((option) => !/default|absent:|in place of/i.test(textOf(option))).map(problemOf),
    ).toEqual([]);
  });
});

const namesIn = (cell: string) => [...cell.matchAll(/`(\w+)`/g)].map(([, name]) => name!);

function isStream(type: SomeType | undefined): boolean {
  return type?.type === "reference" && /^(Observable|(MonoType)?OperatorFunction)$/.test(type.name);
}

/** The exported name that a member belongs to, however deep within. */
function ownerOf(member: DeclarationReflection): DeclarationReflection {
  let owner = member;
  while (owner.parent !== undefined && !owner.parent.kindOf(ReflectionKind.SomeModule)) {
    owner = owner.parent as DeclarationReflection;
  }
  return owner;
}

/** Properties, methods and accessors of all that is exported, and of the objects in them. */
function members(): DeclarationReflection[] {
  const found: DeclarationReflection[] = [];
  const look = ({ children = [], type }: DeclarationReflection): void => {
    for (const member of children) {
      const isOwn = member.inheritedFrom === undefined && !member.kindOf(ReflectionKind.Constructor);
      if (isOwn && !isTag(member.type) && !TOLD_ELSEWHERE.test(nameOf(member))) found.push(member);
      look(member);
    }
    for (const object of objectsIn(type)) look(object);
  };
  exported().forEach(look);
  return found;
}

function objectsIn(type: SomeType | undefined): DeclarationReflection[] {
  if (type?.type === "union" || type?.type === "intersection") return type.types.flatMap(objectsIn);
  return type?.type === "reflection" && type.declaration.signatures === undefined ? [type.declaration] : [];
}

/** Whether a property only tells one variant from the others, of which the variant's comment tells. */
function isTag(type: SomeType | undefined): boolean {
  return type?.type === "literal" || (type?.type === "union" && type.types.every(isTag));
}

function holdsNumber(type: SomeType | undefined): boolean {
  if (type?.type === "union") return type.types.some(holdsNumber);
  return type?.type === "intrinsic" && type.name === "number";
}
