/** Why events have no faster way than one by one: the end of the page for users, written by hand. */
export const EVENTS_ONE_BY_ONE = `## Events one by one

\`withIndicators\` computes candle by candle, over a history, too. A prototype computed chunks of columns ahead of
\`replayCandles\`, by turns with the plain form in one process. Over 5,000 candles it saved 5 to 10 % of the time, over
50,000 with five indicators 3 %, and with three it took half as long again: most of the work is to make events and
values, in both forms. For whole series take \`indicatorColumns\`.`;

/** What was tried, and what parts take by themselves: the end of the page of goals, written by hand. */
export const TRIED = `## What was tried

**Kernels, append and replace.** One check a candle for a whole set, readers that are bound once, and no class around the
arithmetic made no call faster. Push and peek written once, with a flag, make MACD, PPO, DEMA, TEMA and TRIX take up to
twice as long in a program of few indicators. The arithmetic alone, with nothing checked, takes 3.3 times the loop to append
and 4.2 times to replace; ours takes 3.7 and 4.6 (\`npm run bench -- indicators\`, "What a call takes"). So both goals,
2.5 and 3, are below the floor: the loop subtracts from running sums, which drift, and makes no value that could be kept.

**Eight indicators behind one pipe.** As many frozen objects in a plain \`map\` take a third of the time of finals, and the
kernels by themselves 0.3 of it. The goal leaves 0.6, and so nothing for RxJS and for corrections. In the live sequence the
objects take a third, too, and its goal is 5 % away. An object of eight fields takes 20 ns to make and 40 more to freeze,
and each event has six: objects with room for all fields were hardly faster, and copies of one took four times as long.

**Replay of a year.** A second loop makes both events, that of the candle and that with values, and checks each candle as
\`replayCandles\` does. It takes 1.9 times as long as the first one, and ours 1.5 to 1.9 times as long as the second
(\`npm run bench -- replay\`): the goal of 2.2 loops leaves a sixth of a loop for RxJS, the state by series and the kernels.
Line by line, \`Object.freeze\` of three objects takes 28 % of a replayed candle, \`Object.isFrozen\` 7 % and RxJS 10 %. The
first event left unfrozen where an operator alone sees it took 6 to 11 % less, by turns with the plain form. It needs a register
of streams and their unfrozen twins, and so it was left. Four times tardis-dev would be 2.4 loops.

**A backtest.** The replay and the strategy take a half of its time, orders and fills a fifth, two accounts candle by candle
a sixth, as the second one is buy and hold, and the statistics 4 % (\`node --cpu-prof\`). With all of its orders left out it
still takes 1.6 to 2 times the strategy alone (a row of \`npm run bench -- backtest\`), so the goal of 2 leaves next to nothing
for orders and fills. A candle makes 717 bytes of objects, beside 440 by the strategy alone; 240 of the rest are of the RxJS
\`Subject\` that the events go through. Statistics in place took a fifth off their time, and a broker that remembers nothing for
candles without orders a tenth off the bytes.

**The book at a window of two.** Before an answer was judged as a whole (what lacks, what is silent, what a second answer has
to show), the book was 11 times as fast as ccxt's table; since then it is 2.2 to 4.5 times as fast, which is 0.5 µs for an answer
of three candles and four anchors, 0.3 % of a poll. What lacks is looked at only where something does, and anchors are looked
for from the newest row back: that took 13 % off, and 15. No line of the rest takes a tenth. The same changes told by hand, where
an answer is whole, in order and of one clock, are 12 to 16 times as fast as ccxt's table (\`npm run bench -- book\`): ten times
leaves judgement a third of that.

**A page.** \`JSON.parse\` is half of it, and reading instants a tenth. Its rows are sorted in place of being kept in a map, which
took 5 % off: they come in order nearly always. Anchors are looked for from its end, which took 3. The same frozen events built by
hand, with nothing checked, take 1.2 to 1.3 times the floor.

**A year of polls.** Of a poll's time the service takes a third. Timers and the service with a signal, a timeout, a look at the
headers and rows that are checked take 1.3 to 1.6 times as long as without (\`npm run bench -- year\`). The rest are some thirty
awaits and short functions, of which none takes 4 %. Copies by spread took 8 % and are gone. A small object in place of the abort
controller of a poll took 1 to 3 % off, for 80 bytes of download, and was left.

**Looks as async generators.** Two of them, one within the other, took 5 % of a poll, and stayed suspended for each series:
without them it takes 0.9 kB less. A look now calls a function for each step. The walk along cursors stays one: calls may come at once.

**An unchanged poll.** Turns of the bench's own clock take 1 % of it. A signal, a timeout, a look at the headers, and rows that
are checked and held against the book make a bare call 1.1 to 1.35 times as long, of the processor's time, and ours takes 1.3 to
1.5 times that. In a profile of 15,000 polls no function of ours takes 2 %, and \`JSON.parse\` 9 %.

**No abort signal.** It makes a bare call 1.13 times as long, made by a getter or at once, and every \`fetch\` asks for it.
An object by the name of the class would do for cross-fetch on Node alone, and a signal used again may keep listeners.

**No second parse of a text that is the same.** \`JSON.parse\` and the check of four rows take 4 % of a poll, and the text
would be kept for each series, which is 0.9 kB of the 12 that a series may take.

**1,000 polls at one instant.** Bare calls in a row only begin: Node opens their connections after the last one. Where each
is opened before the next call, as between two timers, they take 1.9 times as long, and with a timer of its own for each
call and its timeout 2.1 times. Ours took 1.5 times as long as those timers (processor time until the last of 300 was sent,
eight bursts of each by turns in one process; 500 for the floors).

**Closings over ways of unequal length.** No clock tells how a round trip is divided: with 20 ms there and 80 back, a
request goes out 30 ms too late, and with 80 and 20 as much too early (\`npm run bench -- closes\`, "by a perfect clock").
Where both ways take the same, the worst is 10 ms. A request that goes out 3/4 of a round trip early, and not half, arrives
25 ms sooner at 100 ms; where clocks drift by 20 ms in 1,000 s, twice as many closings are then asked for again: 4.7 % in
place of 2.3 %.

**Closings where \`settle\` is no whole second.** They take 1.0 requests each, with 0.5, 1.234 and 1.999 s and four
networks. One in ten minutes goes out up to 0.8 s later, so that its \`Date\` checks the clock.

**The download.** Of 100 kB minified, which are 38.5 compressed, reading and judging ranges take 23 %, one call with its
retries and the search for the key 16, checks of options and readers of answers 13, the client with the service's clock 12, when
to poll and what to warn of 11, each subscriber's view and history 8, limits 5, the live book 4, and the rest 8. Each of them
keeps a promise of docs/promises.md; nothing in it is compiled down. All names of properties made short would save 2.8 kB at
most, and all words of errors 1.5. For 26 kB a third of it would have to go, and promises with it. A history that keeps what
its pages have told, and a book that keeps what was covered before a row that is given up, have added 0.9 kB; the
slow-down after a 429, and what an error tells of its causes, 0.4; what a client says of polls that wait and of its store, one
listener for a signal, and a search that steps back, 0.6. All of the package
has the same parts and every operator and indicator.

**The download of one indicator.** Of 5.2 kB before compression, sources other than the close take 1.7, the average 1.3,
errors and checks 1.4, and the kernel 0.8. Without any words for errors it would be 0.11 kB less, half of what is missing:
to go below 1.75 it would have to give up a source, checks, or columns.`;
