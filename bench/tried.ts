/** Why events have no faster way than one by one: the end of the page for users, written by hand. */
export const EVENTS_ONE_BY_ONE = `## Events one by one

\`withIndicators\` computes candle by candle, over a history, too. A prototype computed chunks of columns ahead of
\`replayCandles\`, by turns with the plain form in one process. Over 5,000 candles it saved 5 to 10 % of the time, over
50,000 with five indicators 3 %, and with three it took half as long again: most of the work is to make events and
values, in both forms. For whole series take \`indicatorColumns\`.`;

/** What was tried, and what parts take by themselves: the end of the page of goals, written by hand. */
export const TRIED = `## What was tried

**Push and peek written once,** with a flag. V8 then inlines only one average of a chain, and in a program of few
indicators MACD, PPO, DEMA, TEMA and TRIX take up to twice as long. They are written twice.

**The book at a window of two.** A loop that only compares, with the same changes and entries, takes 0.57 of its time. Of
the rest, the array of changes was the largest part, and now has its own size. Arrays of entries of a known length were
slower.

**A year of polls.** Of a poll's time the service takes a third, collection a seventh, what an answer teaches about the
clock 6 %, its text and rows 5 %, the book 3 %, the subscriber's event 3 %, signals and timers 5 %. The rest are some
thirty awaits and short functions, none above 2 %. An answer from the same process asks for no abort signal, and gets
none.

**An unchanged poll.** Turns of the bench's own clock take 4 µs of it, not more. What is ours is that of a year of polls.
With much other work on the machine it took 2.8 to 3.2 times as long as bare cross-fetch, and the code from before the
columns took as long beside it.

**Closings where \`settle\` is no whole second.** They take 1.0 requests each, with 0.5, 1.234 and 1.999 s and four
networks. One in ten minutes goes out up to 0.8 s later, so that its \`Date\` checks the clock.

**The download.** Left out, a part of \`createClient\` and \`watchCandles\` saves, in kB: the store 4.6, the search for the
key in errors 2.6, one call with its retries 6.4, the book and its poll 5.0, ranges and their witnesses 3.7, checks of
options 3.5, readers of answers 2.9, history 2.4, when to poll 2.3, limits 1.6, the service's clock 1.2. Without store and
search it would be 28: the goal of 22 is older than both.`;
