import { crc32, deflateSync, inflateSync } from "node:zlib";

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const MOST_COLOURS = 256;

/** The pixels of a picture, three bytes each, row by row. */
export interface Pixels {
  readonly width: number;
  readonly height: number;
  readonly rgb: Uint8Array;
}

/** Reads a PNG as browsers write it: 8 bits a channel, RGB or RGBA, not interlaced; opacity is left out. */
export function readPng(png: Uint8Array): Pixels {
  const bytes = Buffer.from(png);
  const data: Buffer[] = [];
  let [width, height, channels] = [0, 0, 0];
  for (let at = SIGNATURE.length; at < bytes.length; ) {
    const length = bytes.readUInt32BE(at);
    const type = bytes.toString("latin1", at + 4, at + 8);
    const body = bytes.subarray(at + 8, at + 8 + length);
    if (type === "IHDR") {
      [width, height] = [body.readUInt32BE(0), body.readUInt32BE(4)];
      channels = { 2: 3, 6: 4 }[body[9]!] ?? 0;
      if (body[8] !== 8 || channels === 0 || body[12] !== 0) throw new Error("Not such a PNG");
    }
    if (type === "IDAT") data.push(body);
    at += length + 12;
  }
  const lines = inflateSync(Buffer.concat(data));
  const stride = width * channels;
  const rgb = new Uint8Array(width * height * 3);
  let above = new Uint8Array(stride);
  for (let y = 0; y < height; y += 1) {
    const start = y * (stride + 1);
    const line = unfiltered(lines[start]!, lines.subarray(start + 1, start + 1 + stride), above, channels);
    for (let x = 0; x < width; x += 1)
      rgb.set(line.subarray(x * channels, x * channels + 3), (y * width + x) * 3);
    above = line;
  }
  return { width, height, rgb };
}

function unfiltered(
  filter: number,
  line: Uint8Array,
  above: Uint8Array,
  channels: number,
): Uint8Array<ArrayBuffer> {
  const out = new Uint8Array(line.length);
  for (let at = 0; at < line.length; at += 1) {
    const left = at < channels ? 0 : out[at - channels]!;
    const up = above[at]!;
    const corner = at < channels ? 0 : above[at - channels]!;
    const guess = [0, left, up, (left + up) >> 1, paeth(left, up, corner)][filter]!;
    out[at] = line[at]! + guess;
  }
  return out;
}

function paeth(left: number, up: number, corner: number): number {
  const [a, b, c] = [Math.abs(up - corner), Math.abs(left - corner), Math.abs(left + up - 2 * corner)];
  if (a <= b && a <= c) return left;
  return b <= c ? up : corner;
}

/** Writes a PNG of at most 256 colours, which is a fraction of the size. */
export function writePalettePng({ width, height, rgb }: Pixels): Buffer {
  const counts = new Map<number, number>();
  for (let at = 0; at < rgb.length; at += 3) {
    const colour = (rgb[at]! << 16) | (rgb[at + 1]! << 8) | rgb[at + 2]!;
    counts.set(colour, (counts.get(colour) ?? 0) + 1);
  }
  const { palette, places } = paletteOf(counts);
  const lines = Buffer.alloc(height * (width + 1));
  for (let y = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1) {
      const at = (y * width + x) * 3;
      lines[y * (width + 1) + 1 + x] = places.get((rgb[at]! << 16) | (rgb[at + 1]! << 8) | rgb[at + 2]!)!;
    }
  }
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 3, 0, 0, 0], 8);
  return Buffer.concat([
    SIGNATURE,
    chunk("IHDR", header),
    chunk(
      "PLTE",
      Buffer.from(palette.flatMap((colour) => [colour >> 16, (colour >> 8) & 255, colour & 255])),
    ),
    chunk("IDAT", deflateSync(lines, { level: 9, memLevel: 9 })),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

/** The most frequent colours as they are, and for each other one the nearest of these. */
function paletteOf(counts: ReadonlyMap<number, number>) {
  const byCount = [...counts].sort((a, b) => b[1] - a[1]).map(([colour]) => colour);
  const palette: number[] = [];
  // Colours that are all but those of the palette would crowd out rarer ones that are not.
  for (const apart of [24, 12, 6, 0]) {
    for (const colour of byCount) {
      if (palette.length === MOST_COLOURS) break;
      if (palette.every((one) => one !== colour && distance(one, colour) >= apart * apart))
        palette.push(colour);
    }
  }
  const places = new Map(byCount.map((colour) => [colour, nearest(palette, colour)]));
  return { palette, places };
}

function nearest(palette: readonly number[], colour: number): number {
  let [best, least] = [0, Number.POSITIVE_INFINITY];
  for (const [at, one] of palette.entries()) {
    const far = distance(one, colour);
    if (far < least) [best, least] = [at, far];
  }
  return best;
}

function distance(a: number, b: number): number {
  const [red, green, blue] = [
    (a >> 16) - (b >> 16),
    ((a >> 8) & 255) - ((b >> 8) & 255),
    (a & 255) - (b & 255),
  ];
  return red * red + green * green + blue * blue;
}

function chunk(type: string, body: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(type, "latin1"), body]);
  const framed = Buffer.alloc(named.length + 8);
  framed.writeUInt32BE(body.length, 0);
  named.copy(framed, 4);
  framed.writeUInt32BE(crc32(named), named.length + 4);
  return framed;
}
