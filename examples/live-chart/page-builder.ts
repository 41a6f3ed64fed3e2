// Builds the page for the process that has forked this one, and ends with it.
import { buildPage } from "./page-files.js";

process.on("disconnect", () => process.exit());
const files = await buildPage();
process.send?.(files, () => process.disconnect());
