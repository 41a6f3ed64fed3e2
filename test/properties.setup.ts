import fc from "fast-check";

// In CI the properties draw the same cases each time, so that a build fails for what was changed, not for what was drawn.
// Elsewhere they draw others; `SEED` names the seed.
const { CI, SEED } = process.env;
if (SEED || CI) fc.configureGlobal({ seed: Number(SEED || 1) });
