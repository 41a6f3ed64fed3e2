// Prints the messages that a user can meet, each with what causes it: `npm run messages`; `npm run messages -- --sites` also
// lists the places in `src` whose message is in no line.
import { CAUSES } from "./causes.js";
import { messageOf } from "./provoke.js";
import { siteOf, sitesOfErrors } from "./sites.js";

const seen = new Set<string>();
for (const { cause, provoke } of CAUSES) {
  const error = await messageOf(provoke);
  const site = error && siteOf(error);
  if (site !== undefined) seen.add(site);
  console.log(
    `| ${cause} | ${error === undefined ? "(nothing)" : `${error.name}: ${error.message}`.replaceAll("|", "\\|")} |`,
  );
}
if (process.argv.includes("--sites")) {
  for (const site of sitesOfErrors()) if (!seen.has(site)) console.log(site);
}
process.exit(0);
