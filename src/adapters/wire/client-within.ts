import { type BudgetPart, type Client, type ClientCore, clientOf, coreOf } from "../../client/core.js";
import { walkOf } from "../../client/send/walk.js";

/** The same client, all of whose requests also need a place in a part of its budget; with `more` of its own. */
export function clientWithin(client: Client, part: BudgetPart, more: Partial<ClientCore> = {}): Client {
  const whole = coreOf(client);
  const core: ClientCore = {
    ...whole,
    ...more,
    send: (ask) => whole.send({ ...ask, within: part }),
    walk: (walk) => walkOf(core.send, walk),
  };
  return clientOf({ ...client }, core);
}
