// In a page, and in whatever bundlers make for one.
import { result } from "./entry.mjs";

globalThis.result = () => result();
