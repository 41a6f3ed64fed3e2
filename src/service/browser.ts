// What `pairstream/service` is in bundles for browsers and workers, by conditions in package.json: it imports no server.

export * from "./everywhere.js";
export { listen } from "./listen.browser.js";
export type { Listening, ListenOptions } from "./listen.js";
