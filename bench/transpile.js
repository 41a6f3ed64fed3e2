// For `node --import`: runs TypeScript as it is shipped, in workers, too. tsx would have every function told its name
// whenever it is made, as often as one within another is, and what it takes to do so would be measured, too.
import { register } from "node:module";

register("./transpile-hooks.js", import.meta.url);
