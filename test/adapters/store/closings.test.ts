import { expect, it } from "vitest";
import { timeClosings } from "../../../bench/store/closings.js";

it("the closings of a minute are written in one transaction, and give the same events as without a store", async () => {
  expect(await timeClosings(100, 2)).toMatchObject({ rounds: 2, transactions: 1 });
});
