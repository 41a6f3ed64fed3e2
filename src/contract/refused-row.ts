import { ContractError } from "../errors.js";

/** The first rule that a row breaks, and the path of the value within the row. */
export interface Flaw {
  readonly path: readonly (string | number)[];
  readonly issue: string;
}

/**
 * A row that breaks the contract. `key` identifies the row across reads, if it can be read. The error is created on
 * access: there may be thousands of such rows, and only one is reported.
 */
export class RefusedRow<Key> {
  constructor(
    readonly key: Key | undefined,
    private readonly index: number,
    private readonly flaw: Flaw,
  ) {}

  get error(): ContractError {
    return new ContractError(["result", this.index, ...this.flaw.path], this.flaw.issue);
  }
}
