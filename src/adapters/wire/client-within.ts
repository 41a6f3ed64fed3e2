import { type BudgetPart, type Client, type ClientCore, clientOf, coreOf } from "../../client/core.js";

/** The same client, all of whose requests also need a place in a part of its budget; with `more` of its own. */
export function clientWithin(client: Client, part: BudgetPart, more: Partial<ClientCore> = {}): Client {
  const whole = coreOf(client);
  const send: ClientCore["send"] = (ask) => whole.send({ ...ask, within: part });
  return clientOf({ ...client }, { ...whole, ...more, send });
}
