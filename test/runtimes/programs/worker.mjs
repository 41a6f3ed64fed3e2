// On workerd, which calls `test`.
import { result } from "./entry.mjs";

export default {
  async test() {
    console.log(`RESULT ${JSON.stringify(await result())}`);
  },
};
