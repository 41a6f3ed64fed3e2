/** By which column the rows of a table are sorted. */
export interface SortOrder<Column> {
  readonly column: Column;
  readonly descending: boolean;
}

/** What `sortByHeadings` needs to know of a table. */
export interface Sorting<Column> {
  /** One a heading. */
  readonly columns: readonly Column[];
  readonly first: SortOrder<Column>;
  /** Whether a click on a heading begins with the largest. */
  startsDescending(column: Column): boolean;
  /** Called with each order after the first. */
  onSort(order: SortOrder<Column>): void;
}

/** The order after a click on the heading of a column: at a second one the other way round. */
export function orderAfter<Column>(
  { column: now, descending }: SortOrder<Column>,
  column: Column,
  startsDescending: (column: Column) => boolean,
): SortOrder<Column> {
  return { column, descending: column === now ? !descending : startsDescending(column) };
}

/** Sorts by the button of each heading, the other way round at a second click; screen readers hear the order. */
export function sortByHeadings<Column>(table: HTMLTableElement, sorting: Sorting<Column>): void {
  const headings = [...table.tHead!.rows[0]!.cells];
  let order = sorting.first;
  const show = () => {
    for (const [at, heading] of headings.entries()) {
      const isIt = sorting.columns[at] === order.column;
      heading.ariaSort = isIt ? (order.descending ? "descending" : "ascending") : "none";
    }
  };
  for (const [at, heading] of headings.entries()) {
    heading.querySelector("button")!.addEventListener("click", () => {
      order = orderAfter(order, sorting.columns[at]!, sorting.startsDescending);
      show();
      sorting.onSort(order);
    });
  }
  show();
}
