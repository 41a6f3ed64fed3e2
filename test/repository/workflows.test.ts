import { describe, expect, it } from "vitest";
import { filesBelow, read } from "../documents/files.js";

const workflows = filesBelow(".github/workflows", ".yml");
const release = read(".github/workflows/release.yml");

describe("the workflows", () => {
  it("take every action by its commit, with the version beside it", () => {
    const used = workflows.flatMap((path) =>
      [...read(path).matchAll(/uses: (.*)/g)].map(([, action]) => action!),
    );
    expect(used.length).toBeGreaterThan(3);
    expect(used.filter((action) => !/^[\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(action))).toEqual(
      [],
    );
  });

  it("may read and no more, but for the signature of a release", () => {
    for (const path of workflows) expect(read(path), path).toContain("\npermissions:\n  contents: read\n");
    const more = workflows.filter((path) => /: write$/m.test(read(path)));
    expect(more).toEqual([".github/workflows/release.yml"]);
    expect(release.match(/[\w-]+: write/g)).toEqual(["id-token: write"]);
  });
});

describe("a release", () => {
  it("is checked as a change is, and published with its provenance", () => {
    const steps = [...release.matchAll(/^ {6}- run: (.*)$/gm)].map(([, command]) => command!);
    const order = [".ci/run --one-node", "npm publish --provenance --access public"];
    expect(steps.filter((command) => order.includes(command))).toEqual(order);
  });
});
