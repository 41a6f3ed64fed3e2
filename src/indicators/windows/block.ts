/*
 * Aggregates of the last n numbers in constant time, without subtraction (van Herk; Gil and Werman).
 *
 * The numbers are cut into blocks of n − 1. Of the block before, the aggregate from each of its places to its end is
 * kept; of the running block, the aggregate so far. A window is one of the former, the latter, and the newest number:
 * never is a number taken away again, so nothing of it stays behind as rounding once it has left.
 *
 * One array serves both blocks: a place is read for the last time just before the running block writes its number
 * there. When the block is full it *turns*: its numbers give way to their aggregates, from the end. Its last place,
 * the aggregate of nothing, is there for n = 1, whose blocks are empty.
 *
 * Sums of prices are taken about an *anchor*, the last number of the block before, which lies in every window that
 * it serves. So nothing cancels that the window itself does not hold, and equal numbers give their mean exactly, and
 * exactly no variance.
 *
 * Each window is a class with its own loops, and each block an array of doubles from the start: shared methods and
 * mixed arrays would cost more than all of the arithmetic. A typed array is as fast, but forks five times slower.
 */

/** What stands for the block before while there is none: NaN, which makes every answer NaN, then `nothing`. */
export function emptyBlock(n: number, width: number, nothing: number): number[] {
  return new Array<number>(n * width).fill(Number.NaN).fill(nothing, (n - 1) * width);
}
