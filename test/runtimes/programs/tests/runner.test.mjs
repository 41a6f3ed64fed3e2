// In vitest and jest, whose `test` is a global.
import { result } from "../entry.mjs";

test("the program", async () => {
  console.log(`RESULT ${JSON.stringify(await result())}`);
}, 60_000);
