/*
 * Aggregates over the last n numbers in constant time, without subtraction (van Herk; Gil and Werman).
 *
 * The numbers are cut into blocks of n − 1. Two things are stored: for each place of the previous block, the aggregate
 * from that place to the end of the block; for the current block, the aggregate so far. A window is one aggregate of
 * the previous block, the aggregate so far, and the newest number. No number is ever subtracted, so a number that left
 * the window leaves no rounding error behind.
 *
 * One array serves both blocks: a place is read for the last time just before the current block writes its number
 * there. When the block is full it *turns*: its numbers are replaced by their aggregates, from the end. The last place
 * holds the aggregate of nothing, for n = 1, whose blocks are empty.
 *
 * Sums of prices are relative to an *anchor*, the last number of the previous block, which lies in every window of the
 * current block. So only numbers of the window can cancel out: equal numbers have exactly their mean, and exactly no
 * variance.
 *
 * Each window is a class with its own loops, and each block an array of doubles from the start. Shared methods and
 * arrays of mixed kinds would cost more than all of the arithmetic. A typed array is as fast, but takes five times
 * longer to fork.
 */

/** The previous block while there is none: NaN, so that every result is NaN. The last place holds `nothing`. */
export function emptyBlock(n: number, width: number, nothing: number): number[] {
  return new Array<number>(n * width).fill(Number.NaN).fill(nothing, (n - 1) * width);
}
