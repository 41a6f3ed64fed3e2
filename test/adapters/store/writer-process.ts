// Writes to the SQLite file at a path without end, from a seed, until it is killed; says so once it has begun.
import Libsql from "libsql";
import { sqliteStore } from "pairstream/store";
import { drawKnown, WRITTEN_KEYS } from "./written.js";

async function main(): Promise<void> {
  const [, , path, seed] = process.argv;
  const store = sqliteStore(new Libsql(path!));
  let state = Number(seed);
  const random = () => {
    // The constants of Numerical Recipes.
    state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32;
    return state / 2 ** 32;
  };
  for (let writes = 0; ; writes++) {
    const batch = Array.from({ length: 1 + Math.floor(random() * 4) }, () => {
      const key = WRITTEN_KEYS[Math.floor(random() * WRITTEN_KEYS.length)]!;
      const known = drawKnown(random);
      const isForgotten = random() < 0.1;
      return isForgotten ? store.forget(key, known.from, known.to) : store.write(key, known);
    });
    // A disk that is full is no end: what was written before still stands.
    await Promise.allSettled(batch);
    if (writes === 0) process.stdout.write("begun\n");
    await new Promise((resolve) => setImmediate(resolve));
  }
}

main();
