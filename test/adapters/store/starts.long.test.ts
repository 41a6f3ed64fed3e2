import { expect, it } from "vitest";
import { startCosts } from "../../../bench/store/requests.js";
import { read } from "../../documents/files.js";

/** The rows of the table of starts in docs/budget.md, without their names. */
function documented(): number[][] {
  const section = read("docs/budget.md").split("\n## What a restart costs\n")[1]?.split("\n## ")[0] ?? "";
  const rows = section.split("\n").filter((line) => /^\|.*\d/.test(line));
  return rows.map((row) =>
    row
      .split("|")
      .slice(2, -1)
      .map((cell) => Number(cell.replaceAll(",", ""))),
  );
}

it("each start costs what docs/budget.md says: what is missing, and one request more a series at most", async () => {
  const costs = await startCosts(500);
  expect(documented()).toEqual(
    costs.map(({ requests, units, missing, without }) => [requests, units, missing, without]),
  );
  for (const { requests, missing, series } of costs) expect(requests).toBeLessThanOrEqual(missing + series);
});
