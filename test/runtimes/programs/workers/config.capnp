using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (services = [
  (name = "site", worker = .site),
  (name = "market", worker = .market),
  (name = "viewers", worker = .viewers),
]);
const site :Workerd.Worker = (
  modules = [(name = "worker", esModule = embed "site.js")],
  compatibilityDate = "2026-01-01",
  bindings = [
    (name = "FEED", durableObjectNamespace = "Feed"),
    (name = "API_KEY", text = "key"),
  ],
  durableObjectNamespaces = [(className = "Feed", uniqueKey = "feed")],
  durableObjectStorage = (inMemory = void),
  globalOutbound = "market",
);
const market :Workerd.Worker = (
  modules = [(name = "worker", esModule = embed "market.js")],
  compatibilityDate = "2026-01-01",
);
const viewers :Workerd.Worker = (
  modules = [(name = "worker", esModule = embed "viewers.js")],
  compatibilityDate = "2026-01-01",
  bindings = [(name = "SITE", service = "site")],
);
