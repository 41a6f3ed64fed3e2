import { memoryStore } from "pairstream/store";
import { describeStore } from "./conformance.js";

describeStore("memoryStore", async () => memoryStore());
