import { beginning } from "../src/contract/quote.js";
import * as wire from "../src/contract/wire.js";

type OhlcvReader = typeof wire.readOhlcvBody;

/** The readers of bodies, where there is no key that a quotation could show. */
export const readSniperBody = (text: string) => wire.readSniperBody(text, beginning);
export const readOhlcvBody = (
  text: string,
  asked: Parameters<OhlcvReader>[1],
  isStart: Parameters<OhlcvReader>[2],
  most?: number,
) => wire.readOhlcvBody(text, asked, isStart, beginning, most);
