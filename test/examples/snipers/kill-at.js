// Loaded before a program: ends it with SIGKILL at its step number KILL_AT, before that step is done. A step is whatever others can
// see of it: what it does to files, what it prints, what it sends, and what it hears of that.
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";

const fatal = Number(process.env.KILL_AT);
let steps = 0;

function step() {
  steps += 1;
  if (steps === fatal) process.kill(process.pid, "SIGKILL");
}

for (const name of ["openSync", "writeSync", "renameSync"]) {
  const original = fs[name];
  fs[name] = (...args) => {
    step();
    return original(...args);
  };
}
syncBuiltinESMExports();

const { write } = process.stdout;
process.stdout.write = (...args) => {
  step();
  return write.apply(process.stdout, args);
};

const { fetch } = globalThis;
globalThis.fetch = async (...args) => {
  step();
  const response = await fetch(...args);
  step();
  return response;
};
