import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  aliveSubject,
  candleSubjects,
  lastOf,
  leadsSubject,
  leaseBucket,
  sniperSubjects,
  token,
  walletToken,
} from "../../../src/adapters/nats/subjects.js";

const SERIES = { network: "mainnet", pairAddress: "83v8iPy", timeframe: "1min", currency: "usd" } as const;

describe("subjects", () => {
  it("are those that the documents name", () => {
    expect(candleSubjects("pairstream", SERIES)).toEqual({
      key: "pairstream.candles.mainnet.83v8iPy.1min.usd",
      stream: "pairstream",
      subjects: "pairstream.candles.>",
      told: "pairstream.told.candles.>",
      toldKey: "pairstream.told.candles.mainnet.83v8iPy.1min.usd",
    });
    expect(sniperSubjects("pairstream", { pairAddress: "83v8iPy" })).toEqual({
      key: "pairstream.snipers.83v8iPy.default",
      stream: "pairstream-snipers",
      subjects: "pairstream.snipers.>",
      told: "pairstream.told.snipers.>",
      toldKey: "pairstream.told.snipers.83v8iPy.default",
    });
    expect(sniperSubjects("bots", { pairAddress: "83v8iPy", blocksAfterCreation: 0 }).key).toBe(
      "bots.snipers.83v8iPy.0",
    );
    expect(aliveSubject("pairstream", "abc")).toBe("pairstream.alive.abc");
    expect(leadsSubject("pairstream", "default")).toBe("pairstream.leads.default");
    expect(leaseBucket("bots")).toMatchObject({ stream: "KV_bots-leases", key: "$KV.bots-leases" });
  });

  it("keep an address with dots in its place", () => {
    expect(candleSubjects("p", { ...SERIES, pairAddress: "a.b:c_d-e" }).key).toBe(
      "p.candles.mainnet.a%002eb:c_d-e.1min.usd",
    );
  });

  it("end with what they are about", () => {
    expect(lastOf("pairstream.candles.mainnet.83v8iPy.1min.usd.60000")).toBe("60000");
  });
});

describe("a part of a subject", () => {
  it("is one that NATS takes, whatever text it stands for", () => {
    fc.assert(
      fc.property(fc.array(fc.nat({ max: 0xffff }), { minLength: 1 }), (units) => {
        expect(token(String.fromCharCode(...units))).toMatch(/^[A-Za-z0-9_:%-]+$/);
      }),
    );
  });

  it("tells two texts apart", () => {
    const texts = fc.string({ unit: fc.constantFrom("a", "%", ".", "0", "2", "e", "\ud800", " ") });
    fc.assert(
      fc.property(texts, texts, (a, b) => {
        fc.pre(a !== b);
        expect(token(a)).not.toBe(token(b));
      }),
    );
  });

  it("is never that of the status for a wallet", () => {
    expect(walletToken("status")).toBe("%0073tatus");
    expect(walletToken("Status")).toBe("Status");
  });

  it("is refused where it would be too long for a connection", () => {
    expect(walletToken("w".repeat(256))).toHaveLength(256);
    expect(() => walletToken("w".repeat(257))).toThrow(
      expect.objectContaining({ name: "ContractError", path: ["walletAddress"] }),
    );
  });
});
