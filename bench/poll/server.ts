// The service of the bench `poll`, in a process of its own: the same page again and again.
import { createServer } from "node:http";
import { PAGE, POLLED, START } from "./exchange.js";

const EVERY = 1_000;

let polls = 0;
const server = createServer((request, response) => {
  // The client learns the time from `Date`, and its own passes with its polls.
  if (request.url?.startsWith(POLLED)) polls += 1;
  response.setHeader("date", new Date(START + polls * EVERY).toUTCString());
  response.setHeader("content-type", "application/json; charset=utf-8");
  response.setHeader("content-length", Buffer.byteLength(PAGE));
  response.setHeader("x-request-weight", "150");
  response.end(PAGE);
});
process.on("disconnect", () => process.exit());
server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  if (typeof address === "object") process.send?.(address?.port);
});
