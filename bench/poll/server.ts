// The service of the bench `poll`, in a process of its own: the same pages again and again.
import { createServer } from "node:http";
import { barePath, pageOf, polledPath, SIZES, START } from "./exchange.js";

const EVERY = 1_000;

const pages = SIZES.map((candles) => {
  const text = pageOf(candles);
  const length = Buffer.byteLength(text);
  return { polled: `${polledPath(candles)}/`, bare: `${barePath(candles)}/`, text, length, polls: 0 };
});
const server = createServer(({ url = "" }, response) => {
  const page = pages.find(({ polled, bare }) => url.startsWith(polled) || url.startsWith(bare))!;
  // The client learns the time from `Date`, and its own passes with its polls.
  if (url.startsWith(page.polled)) page.polls += 1;
  response.setHeader("date", new Date(START + page.polls * EVERY).toUTCString());
  response.setHeader("content-type", "application/json; charset=utf-8");
  response.setHeader("content-length", page.length);
  response.setHeader("x-request-weight", "150");
  response.end(page.text);
});
process.on("disconnect", () => process.exit());
server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  if (typeof address === "object") process.send?.(address?.port);
});
