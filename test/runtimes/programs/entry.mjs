// The program with the doors of the package, as ES modules; bundled or compiled where a runtime needs that.
import * as root from "pairstream";
import * as service from "pairstream/service";
import * as sse from "pairstream/sse";
import * as rxjs from "rxjs";
import { run } from "./program.mjs";

export const result = () => run({ root, service, sse, rxjs });
