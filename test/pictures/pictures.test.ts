import { deflateSync } from "node:zlib";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readPng, writePalettePng } from "./palette-png.js";
import { terminalSvg } from "./terminal-svg.js";

describe("pictures of the documents", () => {
  it("keep their colours where there are few, and are PNGs that end", () => {
    const side = 24;
    const pixels = fc.array(fc.constantFrom(0x000000, 0xffffff, 0x0b7a5c, 0x0b7a5d, 0xc0362c), {
      minLength: side * side,
      maxLength: side * side,
    });
    fc.assert(
      fc.property(pixels, (colours) => {
        const rgb = Uint8Array.from(colours.flatMap((one) => [one >> 16, (one >> 8) & 255, one & 255]));
        const png = writePalettePng({ width: side, height: side, rgb });
        expect(png.subarray(-8).toString("latin1")).toContain("IEND");
        const used = png.readUInt32BE(33) / 3;
        expect(used).toBe(new Set(colours).size);
      }),
      { numRuns: 20 },
    );
  });

  it("are read whichever filter a line has", () => {
    const [width, height] = [3, 5];
    const plain = Array.from({ length: height }, (_, y) =>
      Uint8Array.from({ length: width * 3 }, (_, at) => (y * 37 + at * 11) % 256),
    );
    const predict = (y: number, at: number) => {
      const left = at < 3 ? 0 : plain[y]![at - 3]!;
      const up = y === 0 ? 0 : plain[y - 1]![at]!;
      const corner = y === 0 || at < 3 ? 0 : plain[y - 1]![at - 3]!;
      const sum = left + up - corner;
      const [nearest] = [left, up, corner].sort((a, b) => Math.abs(sum - a) - Math.abs(sum - b));
      return [0, left, up, Math.floor((left + up) / 2), nearest!][y]!;
    };
    const lines = plain.flatMap((line, y) => [y, ...line.map((one, at) => one - predict(y, at))]);
    const header = Buffer.alloc(25);
    header.writeUInt32BE(13, 0);
    header.write("IHDR", 4, "latin1");
    header.writeUInt32BE(width, 8);
    header.writeUInt32BE(height, 12);
    header.set([8, 2, 0, 0, 0], 16);
    const body = deflateSync(Uint8Array.from(lines));
    const data = Buffer.alloc(body.length + 12);
    data.writeUInt32BE(body.length, 0);
    data.write("IDAT", 4, "latin1");
    body.copy(data, 8);
    const png = Buffer.concat([Buffer.alloc(8), header, data]);
    expect([...readPng(png).rgb]).toEqual(plain.flatMap((line) => [...line]));
  });

  it("of a terminal have its text, its colours, and nothing that is markup", () => {
    const svg = terminalSvg(["\u001b[2m12:00\u001b[22m \u001b[31m<b>\u001b[39m plain"], "A & B");
    expect(svg).toContain('class="dim">12:00</tspan>');
    expect(svg).toContain('class="red">&lt;b&gt;</tspan>');
    expect(svg).toContain("<title>A &amp; B</title>");
    expect(svg).not.toContain("\u001b");
  });
});
