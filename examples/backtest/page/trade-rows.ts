import { type SortOrder, sortByHeadings } from "../../page/sorted-headings.js";

/** Lets the headings of the table of trades sort its rows. A row without a figure in that column comes last. */
export function sortTrades(table: HTMLTableElement): void {
  const body = table.tBodies[0]!;
  const [first] = body.rows;
  if (first === undefined) return;
  sortByHeadings<number>(table, {
    columns: [...first.cells].map((_, at) => at),
    first: { column: 0, descending: false },
    // The number of a trade begins with the first, figures with the largest.
    startsDescending: (column) => first.cells[column]!.dataset.key !== undefined && column > 0,
    onSort: (order) => body.replaceChildren(...inOrder([...body.rows], order)),
  });
}

function inOrder(rows: readonly HTMLTableRowElement[], { column, descending }: SortOrder<number>) {
  const sign = descending ? -1 : 1;
  const cellOf = (row: HTMLTableRowElement) => row.cells[column]!;
  return [...rows].sort((a, b) => {
    const [one, other] = [cellOf(a), cellOf(b)];
    const [isOpen, isOtherOpen] = [one.textContent === "", other.textContent === ""];
    if (isOpen || isOtherOpen) return Number(isOpen) - Number(isOtherOpen);
    const [key, otherKey] = [one.dataset.key, other.dataset.key];
    if (key !== undefined && otherKey !== undefined) return sign * (Number(key) - Number(otherKey));
    return sign * one.textContent!.localeCompare(other.textContent!);
  });
}
