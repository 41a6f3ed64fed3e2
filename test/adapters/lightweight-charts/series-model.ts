import type { Plan, Row } from "../../../src/adapters/lightweight-charts/rows.js";

/**
 * A series of the chart, as strict as its papers are: the production build checks none of this, and fails in paint, or
 * overwrites a neighbour.
 */
export class SeriesModel<R extends Row> {
  readonly rows: R[] = [];
  /** How many calls it took since it was made. */
  calls = 0;

  /** `canCorrect`: whether a row may change that newer ones follow; not so with conflation. */
  constructor(private readonly canCorrect = true) {}

  apply(plan: Plan<R>): void {
    if ("all" in plan) {
      this.setData(plan.all);
      return;
    }
    for (const { row, isOlder } of plan.corrected) this.update(row, isOlder);
    if (plan.popped !== 0) this.pop(plan.popped);
    for (const row of plan.appended) this.update(row, false);
  }

  setData(rows: readonly R[]): void {
    this.calls += 1;
    rows.forEach((row, at) => {
      const before = rows[at - 1];
      if (before !== undefined && before.timestamp >= row.timestamp) throw new Error("unordered");
    });
    this.rows.splice(0, this.rows.length, ...rows);
  }

  update(row: R, isOlder: boolean): void {
    this.calls += 1;
    const { timestamp } = row;
    const last = this.rows.at(-1);
    const at = this.rows.findIndex((one) => one.timestamp === timestamp);
    if (isOlder) {
      if (!this.canCorrect) throw new Error("no historical updates with conflation");
      if (at < 0) throw new Error("no such time: a neighbour would be overwritten");
      this.rows[at] = row;
    } else if (last === undefined || timestamp > last.timestamp) this.rows.push(row);
    else if (timestamp === last.timestamp) this.rows[this.rows.length - 1] = row;
    else throw new Error("Cannot update oldest data");
  }

  pop(count: number): void {
    this.calls += 1;
    if (!(count > 0)) throw new Error("nothing to pop");
    if (count >= this.rows.length) throw new Error("the times of the scale would stay");
    this.rows.splice(-count);
  }
}
