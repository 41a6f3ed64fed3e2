import { describe, expect, it } from "vitest";
import { Cuts, emptied, withoutOlder } from "./cuts.js";
import { answerOf } from "./exchanges.js";

const START = Date.UTC(2024, 0, 1);
const at = (minute: number) => new Date(START + minute * 60_000).toISOString();
/** Newest first, as most services answer. */
const ROWS = [4, 3, 2, 1, 0].map((minute) => ({ timestamp: at(minute) }));
const PAGE = JSON.stringify({ cursor: "more", page: 1, result: ROWS });
const URL =
  "http://localhost/token/mainnet/pairs/pair/ohlcv?timeframe=1min&currency=usd&fromDate=60&toDate=360";

const rowsOf = (body: string | undefined) => (JSON.parse(body ?? "{}") as { result?: unknown[] }).result;

describe("an answer that is cut", () => {
  it("lacks the older of its rows in whatever order, and shows no cursor", () => {
    expect(JSON.parse(withoutOlder(PAGE, 0.5)!)).toEqual({ cursor: null, page: 1, result: ROWS.slice(0, 2) });
    const shuffled = [ROWS[3], ROWS[0], ROWS[4], ROWS[1], ROWS[2]];
    expect(rowsOf(withoutOlder(JSON.stringify({ result: shuffled }), 0))).toEqual(
      shuffled.filter((row) => row !== ROWS[4]),
    );
  });

  it("keeps its newest row, and a single one stays", () => {
    expect(rowsOf(withoutOlder(PAGE, 0.999))).toEqual(ROWS.slice(0, 1));
    expect(withoutOlder(JSON.stringify({ result: ROWS.slice(0, 1) }), 0.5)).toBeUndefined();
  });

  it("leaves what is no page", () => {
    for (const body of ["<html>", "null", '{"message":"no"}']) {
      expect(withoutOlder(body, 0.5)).toBeUndefined();
      expect(emptied(body)).toBeUndefined();
    }
  });
});

describe("cuts", () => {
  const strike = async (cuts: Cuts, kind: "cut slice" | "cut walk", url: string) => {
    const told: string[] = [];
    const answer = await cuts.strike(kind, url, answerOf(200, PAGE), (struck) => told.push(struck));
    return { told, rows: rowsOf(await answer.text())?.length };
  };

  it("strike a range once, and the one after it not at all", async () => {
    const cuts = new Cuts(1);
    const later = URL.replace("fromDate=60", "fromDate=120");
    expect((await strike(cuts, "cut slice", URL)).told).toEqual(["cut slice"]);
    expect(await strike(cuts, "cut slice", later)).toEqual({ told: [], rows: 5 });
    expect((await strike(cuts, "cut slice", later)).told).toEqual(["cut slice"]);
    await strike(cuts, "cut slice", later);
    expect(await strike(cuts, "cut slice", URL)).toEqual({ told: [], rows: 5 });
  });

  it("end a walk where a cursor has led, or its first page", async () => {
    const further = `${URL}&cursor=more`;
    expect(await strike(new Cuts(1), "cut walk", further)).toEqual({ told: ["cut walk"], rows: 0 });
    expect(await strike(new Cuts(1), "cut walk", URL)).toEqual({ told: [], rows: 5 });
    expect(await strike(new Cuts(1), "cut slice", further)).toEqual({ told: [], rows: 5 });
  });
});
