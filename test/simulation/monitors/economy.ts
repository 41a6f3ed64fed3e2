import { accountsOf } from "../economy/accounts.js";
import type { Monitor } from "./monitor.js";

/** Promise 9: no more requests than a perfect client needs, and than what each fault excuses. */
export const watchEconomy: Monitor = async (log, context) => {
  for (const account of await accountsOf(log)) {
    if (account.sent > account.most) context.breach(9, `sends ${account}`, account.lastSent);
  }
};
