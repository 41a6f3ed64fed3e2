// For `node --import`, after tsx: with some releases of Node, tsx leaves the TypeScript of workers alone.
import { isMainThread } from "node:worker_threads";
import { register } from "tsx/esm/api";

if (!isMainThread) register();
