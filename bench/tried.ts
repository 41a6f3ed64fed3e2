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

**A year of polls.** Of a poll's time the service takes a third, collection 7 %, its text and rows 9 %, the
signal of its request 6 %, what an answer teaches about the clock 3 %. The rest are some thirty awaits and short functions,
none above 4 %. What was dear were copies of objects with ten fields and more: each now makes one, or none.

**Looks as async generators.** Two of them, one within the other, took 5 % of a poll, and stayed suspended for each series:
without them it takes 0.9 kB less. A look now calls a function for each step. The walk along cursors stays one: calls may come at once.

**An unchanged poll.** Turns of the bench's own clock take 4 µs of it, not more. A signal, a timeout, a look at the headers,
and rows that are checked make a bare call 1.3 times as long: the goal of 1.2 is below what no poll can do without.

**No abort signal.** It makes a bare call 1.13 times as long, made by a getter or at once, and every \`fetch\` asks for it.
An object by the name of the class would do for cross-fetch on Node alone, and a signal used again may keep listeners.

**No second parse of a text that is the same.** \`JSON.parse\` and the check of four rows take 4 % of a poll, and the text
would be kept for each series, which is 0.9 kB of the 13 that a series may take.

**Sent earlier for a closing.** A request that goes out 3/4 of a round trip early, and not half, arrives 25 ms sooner at 100
ms. Where clocks drift by 20 ms in 1,000 s, twice as many closings are asked for again: 4.7 % in place of 2.3 %.

**Closings where \`settle\` is no whole second.** They take 1.0 requests each, with 0.5, 1.234 and 1.999 s and four
networks. One in ten minutes goes out up to 0.8 s later, so that its \`Date\` checks the clock.

**The download.** Left out, a part of \`createClient\` and \`watchCandles\` saves, in kB: the store 4.6, the search for the
key in errors 2.6, one call with its retries 6.4, the book and its poll 5.0, ranges and their witnesses 3.7, checks of
options 3.5, readers of answers 2.9, history 2.4, when to poll 2.3, limits 1.6, the service's clock 1.2. Without store and
search it would be 28: the goal of 22 is older than both.`;
