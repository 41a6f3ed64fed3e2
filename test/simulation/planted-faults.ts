import { CONVERGENCE_FAULTS } from "./planted/convergence.js";
import { ECONOMY_FAULTS } from "./planted/economy.js";
import type { PlantedFault } from "./planted/planted-fault.js";
import { RECORDS_FAULTS } from "./planted/records.js";
import { STATUS_FAULTS } from "./planted/status.js";

export type { PlantedFault };

/** Bugs that the field has, or that somebody might bring in; the simulation is good for what of them it catches. */
export const PLANTED_FAULTS: readonly PlantedFault[] = [
  {
    name: "drops candles that turn up late",
    file: "candles/read/comparison.ts",
    find: "if (change !== undefined) changes.push(change);",
    replace:
      'if (change?.type === "new" && candle.timestamp < before.covered.at(-1)!.to) return;\n' +
      "    if (change !== undefined) changes.push(change);",
    seeds: [32, 9],
  },
  {
    name: "closes by the machine's clock",
    file: "candles/read/pages.ts",
    find: "first ??= { at: observedAt, epoch };",
    replace: "first ??= { at: this.#core.scheduler.now(), epoch };",
    seeds: [12, 11],
  },
  {
    name: "forgets the revision window",
    file: "candles/rules.ts",
    find: "frames.shift(frames.start(instant), -revisionWindow)",
    replace: "frames.start(instant)",
    seeds: [3, 5],
  },
  {
    name: "sends unchanged candles again",
    file: "candles/read/book.ts",
    find: "if (status === entry.status && isSame(candle, previous)) return undefined;",
    replace:
      "if (status === entry.status && isSame(candle, previous) && candle.swaps % 3 !== 0) return undefined;",
    seeds: [3, 9],
  },
  {
    name: "removes on the first absence",
    file: "candles/read/comparison.ts",
    find: "else if (missedAt !== undefined && isGone(rules, page, timestamp, missedAt)) {",
    replace: "else if (true) {",
    seeds: [44, 62],
  },
  {
    name: "takes copies of one answer for two where a candle is missing",
    file: "candles/read/evidence.ts",
    find: "mayLag ? lag : APART",
    replace: "0",
    seeds: [1, 23],
  },
  {
    name: "removes the newest candles after a second",
    file: "candles/read/evidence.ts",
    find: "mayLag ? lag : APART",
    replace: "APART",
    seeds: [1, 23],
  },
  {
    name: "counts what nobody asked for as absent",
    file: "candles/live/poll-candles.ts",
    find: `const asked = isFirst
      ? await this.#pages.ask(wanted, options)
      : await this.#walk.next(known, wanted, options);`,
    replace:
      "const running = this.#rules.intervals.start(serviceNow(this.#core));\n" +
      'const asksLess = options.priority !== "close" && running > wanted.from && running < wanted.to;\n' +
      "const short = asksLess ? { ...wanted, from: running, anchors: [] } : wanted;\n" +
      "const told = await this.#pages.ask(short, options);\n" +
      "const asked = { ...told, from: wanted.from };",
    seeds: [9, 6],
  },
  {
    name: "counts as covered what is in doubt",
    file: "candles/read/judge.ts",
    find: "Math.min(settledEnd, isSilentThroughout ? reach : to, hold)",
    replace: "Math.min(settledEnd, isSilentThroughout ? reach : to)",
    seeds: [75],
  },
  {
    name: "makes final what follows a candle in doubt",
    file: "candles/read/judge.ts",
    find: "Math.min(windowFrom, reach, hold)",
    replace: "Math.min(windowFrom, reach)",
    seeds: [19, 44],
  },
  {
    name: "never asks again",
    file: "poll/poller.ts",
    find: "if (again !== undefined) return Math.ceil(now + again);",
    replace: "if (again !== undefined) return undefined;",
    seeds: [24, 75, 1],
  },
  {
    name: "gives a candle twice where two parts of a history meet",
    file: "candles/read/backward.ts",
    find: "parts.unshift(onPart({ from: start, to, candles: inRange, ...common }));",
    replace: "parts.unshift(onPart({ from: intervals.end(start), to, candles: inRange, ...common }));",
    seeds: [2, 4],
  },
  {
    name: "loses what happens while history is read",
    file: "candles/view/view.ts",
    find: "for (const change of changes) hold(this.#held, change);",
    replace: "if (this.#held.size === 0) for (const change of changes) hold(this.#held, change);",
    seeds: [322],
  },
  {
    name: "gives a newcomer what is older than its interval",
    file: "candles/view/history-reading.ts",
    find: ": (since ?? running)",
    replace: ": (since ?? running - 1e12)",
    seeds: [3, 8],
  },
  {
    name: "fills what is not covered yet",
    file: "candles/view/gap-filler.ts",
    find: "timestamp >= from && timestamp < to",
    replace: "timestamp >= from && timestamp <= to",
    seeds: [128, 116],
  },
  {
    name: "leaves events unfrozen",
    file: "candles/event.ts",
    find: "return Object.freeze(",
    replace: "return Object.seal(",
    seeds: [3, 6],
  },
  {
    name: "stays live through an outage",
    file: "poll/poller.ts",
    find: "isFresh: false, isLate: true, failures, lastError: failure",
    replace: "isFresh: false, isLate: this.update.isLate, failures, lastError: failure",
    seeds: [61, 26],
  },
  {
    name: "stalls half a second after a poll was due",
    file: "poll/poller.ts",
    find: "Math.max(this.#slotFollowing(due).at, due + PATIENCE)",
    replace: "due + 500",
    seeds: [1, 4],
  },
  {
    name: "goes on after the last has left",
    file: "poll/shared-poll.ts",
    find: "      poller.stop();\n",
    replace: "",
    seeds: [3, 5],
  },
  {
    name: "sleeps on when the machine's clock is set back",
    file: "poll/poller.ts",
    find: "if (scheduler.now() < due) this.start();\n" + "      else this.#startWhenDue(epoch);",
    replace: "this.#startWhenDue(epoch);",
    seeds: [107],
  },
  {
    name: "counts retries apart from the rate limit",
    file: "client/send/request.ts",
    find: "await start(ask.priority, ask.signal, (now, end) =>\n        this.#attempt(ask, attempt, now, end, refused),\n      )",
    replace:
      "await (attempt > 1\n" +
      "        ? this.#attempt(ask, attempt, scheduler.now(), () => {}, undefined)\n" +
      "        : start(ask.priority, ask.signal, (now, end) => this.#attempt(ask, attempt, now, end, undefined)))",
    seeds: [79],
  },
  {
    name: "counts a request only from when it is sent",
    file: "client/send/request.ts",
    find: "leave(answer?.headAt ?? received);",
    replace: "leave(sent);",
    seeds: [53],
  },
  {
    name: "waits as after a failure before it sends again what a closed connection has lost",
    file: "client/send/request.ts",
    find: "const isResent = refused !== undefined || (isStale === true && resends < MOST_RESENDS);",
    replace: "const isResent = refused !== undefined;",
    seeds: [5, 11, 21],
  },
  {
    name: "counts as an attempt what a closed connection has lost",
    file: "client/send/request.ts",
    find: "if (isResent) resends += 1;",
    replace: "if (isResent) {\n        resends += 1;\n        attempt += 1;\n      }",
    seeds: [5, 11, 21],
  },
  {
    name: "forgets the stop of a 429",
    file: "client/send/request.ts",
    find: "this.#budget.pause(at + pause);",
    replace: "",
    seeds: [11, 79],
  },
  {
    name: "shows the key in errors",
    file: "client/send/failure.ts",
    find: "redact.quote(beginning(text, LONGEST_BODY), LONGEST_BODY)",
    replace: "answer.text.slice(0, LONGEST_BODY)",
    seeds: [107, 101],
  },
  {
    name: "shows the key as HTML and JSON escape it",
    file: "client/send/find-secret.ts",
    find: "reading = now.replace(escapes, this.#decoded);",
    replace: "reading = now.replace(/(?:%[0-7][\\da-f])+/g, decodeURIComponent);",
    seeds: [160],
  },
  {
    name: "sets a timer for a month",
    file: "client/timers.ts",
    find: "return Math.min(left, Math.max(SHORT_TIMER, Math.ceil(left / 100)));",
    replace: "return left;",
    seeds: [158, 235, 81],
  },
  {
    name: "removes wallets on their first absence",
    file: "snipers/diff.ts",
    find: "if (sniper === undefined && isGone(listedFrom, known.missedAt, evidence)) {",
    replace: "if (sniper === undefined) {",
    seeds: [180],
  },
  {
    name: "looks for the beginning of a series for ever",
    file: "candles/read/pages.ts",
    find: "searched.pause = Math.min(2 * searched.pause, searched.longest);",
    replace: "",
    seeds: [7],
    hours: 3,
  },
  {
    name: "polls for each subscriber",
    file: "poll/shared-poll.ts",
    find: "if (running !== undefined) return running;",
    replace: "",
    seeds: [3, 2, 5],
  },
  {
    name: "polls for each way to write one schedule",
    file: "candles/options.ts",
    find: "[pollPrefixOf(series), every, settle",
    replace: "[pollPrefixOf(series), pace, settle",
    seeds: [2, 3],
  },
  {
    name: "gives a young pair up after three answers, however soon",
    file: "poll/missing.ts",
    find: "const ENOUGH = { answers: 3, time: 60_000 };",
    replace: "const ENOUGH = { answers: 3, time: 0 };",
    seeds: [21, 132],
  },
  {
    name: "never gives a pair up that is not known",
    file: "poll/missing.ts",
    find: "if (isWaitedFor) this.#pause",
    replace: "this.isOver = false;\n    if (isWaitedFor) this.#pause",
    seeds: [21, 100],
  },
  {
    name: "fails all who share a poll when one of them gives up",
    file: "poll/shared-poll.ts",
    find: "if (view.isOver) throw",
    replace: "if ([...views].some(({ isOver }) => isOver)) throw",
    seeds: [17, 21],
  },
  {
    name: "polls for those who wait as for those who do not",
    file: "poll/poller.ts",
    find: "if (view.isHasty) due = Math.min(due, slotDue);",
    replace: "due = Math.min(due, slotDue);",
    seeds: [21, 25],
  },
  {
    name: "lets one who joins wait out the pause of the others",
    file: "poll/shared-poll.ts",
    find: "poller?.hurry();",
    replace: "",
    seeds: [21],
  },
  {
    name: "asks again at once when all attempts have failed",
    file: "poll/failure.ts",
    find: "Math.min(LONGEST_WAIT, delay));",
    replace: "Math.min(50, delay));",
    seeds: [26, 119, 14],
  },
  {
    name: "walks through a silence in slices that do not grow",
    file: "candles/read/stride.ts",
    find: "const GROWTH = 8;",
    replace: "const GROWTH = 1;",
    seeds: [105],
  },
  {
    name: "ends a walk well at an empty page under a cursor",
    file: "client/send/walk.ts",
    find: "expectOnward(trail, page.facts);\n        return page;",
    replace:
      "const facts = { ...page.facts, ...(page.facts.rows === 0 && { cursor: undefined }) };\n" +
      "        expectOnward(trail, facts);\n        return { ...page, facts };",
    seeds: [327, 509],
  },
  {
    name: "ends a walk well at a cursor that was used",
    file: "client/send/walk.ts",
    find: "expectOnward(trail, page.facts);\n        return page;",
    replace:
      "const isUsed = trail.cursors.includes(page.facts.cursor!);\n" +
      "        const facts = { ...page.facts, ...(isUsed && { cursor: undefined }) };\n" +
      "        expectOnward(trail, facts);\n        return { ...page, facts };",
    seeds: [540, 312],
  },
  {
    name: "walks on without end, along rows that it has read",
    file: "client/send/walk.ts",
    find: 'isPlaced && !goesFurther\n          ? "has led back to rows that were read"\n          : pages >= mostPages',
    replace: "false",
    seeds: [74, 4],
  },
  {
    name: "asks for no anchors",
    file: "candles/read/judge.ts",
    find: "anchors = anchorsAfter(",
    replace: "anchors = ((..._: unknown[]) => [])(",
    seeds: [37],
  },
  {
    name: "holds answers to the newest anchor alone",
    file: "candles/read/book.ts",
    find: "const ANCHORS = 4;",
    replace: "const ANCHORS = 1;",
    seeds: [1483, 467],
  },
  {
    name: "sends past the rate limit what a closed connection has lost",
    file: "client/send/request.ts",
    find: "await start(ask.priority, ask.signal, (now, end) =>\n        this.#attempt(ask, attempt, now, end, refused),\n      )",
    replace:
      "await (resends > 0\n" +
      "        ? this.#attempt(ask, attempt, scheduler.now(), () => {}, undefined)\n" +
      "        : start(ask.priority, ask.signal, (now, end) => this.#attempt(ask, attempt, now, end, undefined)))",
    seeds: [1132],
  },
  {
    name: "believes an answer that lacks its anchors",
    file: "candles/read/judge.ts",
    find: "const gone = anchorsGone(rules, book, page, lacking);",
    replace: "const gone = new Set(lacking.keys());",
    seeds: [90559, 62895],
  },
  {
    name: "asks again at once, and counts copies as two answers",
    file: "poll/apart.ts",
    find: "export const APART = 1_000;",
    replace: "export const APART = 0;",
    seeds: [1, 19],
  },
  {
    name: "asks for a history once more at once",
    file: "candles/read/forward.ts",
    find: "const pause = (ms: number) => sleepUntil(scheduler, scheduler.now() + ms, options.signal);",
    replace: "const pause = (_: number) => sleepUntil(scheduler, scheduler.now(), options.signal);",
    seeds: [244, 326],
  },
  // None is planted where a range hides the first candle, which has been shown before (`shown` of a live book): neither of the two long
  // runs that showed the like in the old engine shows it.
  {
    name: "lets an answer of the same breath confirm that a wallet is gone",
    file: "snipers/diff.ts",
    find: "isApart(at, missedAt, made < newest ? APART : LONGEST_LAG);",
    replace: "at >= missedAt;",
    seeds: [214],
  },
  {
    name: "takes back the newest sale as soon as any other",
    file: "snipers/diff.ts",
    find: "made < newest ? APART : LONGEST_LAG",
    replace: "APART",
    seeds: [586, 5735],
  },
  {
    name: "believes the first empty answer",
    file: "candles/read/judge.ts",
    find: "const isConfirmed = confirmedUntil >= silenceEnd;",
    replace: "const isConfirmed = confirmedUntil >= silenceEnd || silenceEnd >= to;",
    seeds: [25],
  },
  {
    name: "covers a silence that one answer has shown",
    file: "candles/read/judge.ts",
    find: "Math.min(settledEnd, isSilentThroughout ? reach : to, hold)",
    replace: "Math.min(settledEnd, to, hold)",
    seeds: [25, 39],
  },
  {
    name: "believes one answer about the silence that a history begins with",
    file: "candles/read/forward.ts",
    find: "await judged(pages, rules, book, page, options);",
    replace: "await judged(pages, rules, { ...book, silence: { until: page.to, at: 0 } }, page, options);",
    seeds: [203],
  },
  // None is planted where an answer of the same breath would confirm that all was silent: no seed that was tried shows it.
  // test/candles/read/book.properties plays copies of one answer.
  {
    name: "never makes final a closed candle whose row breaks",
    file: "candles/read/comparison.ts",
    find: 'else if (status === "closed")',
    replace: "else if (false)",
    seeds: [411],
  },
  {
    name: "takes an error with status 200 for an empty report",
    file: "contract/wire.ts",
    find: "if (rows === null && Object.values(envelope).every((value) => value === null)) {",
    replace: "if (false) {",
    seeds: [600, 387, 209],
  },
  {
    name: "looks for candles of a silent pair with every poll",
    file: "candles/read/pages.ts",
    find: "Math.abs(page.at - searched.at) < searched.pause) return page;",
    replace: "searched.pause < 0) return page;",
    seeds: [7, 14],
  },
  {
    name: "asks for what was before 1970",
    file: "contract/routes.ts",
    find: "Math.max(0, Math.floor(query.from / 1_000))",
    replace: "Math.floor(query.from / 1_000)",
    seeds: [5, 6, 7],
  },
  {
    name: "takes a second machine for a clock that has jumped",
    file: "client/service-clock.ts",
    find: "const isFar = gapBetween(known, seen) > SKEW;",
    replace: "const isFar = true;",
    seeds: [1, 4, 13],
  },
  {
    name: "takes the answer of a cache for one that was made just now",
    file: "client/service-clock.ts",
    find: "- (age === undefined ? 0 : (age + 1) * 1_000);",
    replace: ";",
    seeds: [316, 349, 381],
  },
  {
    name: "proves an instant that is no whole second by a Date alone",
    file: "client/service-clock.ts",
    find: "if (target % 1_000 === 0 && isAlone) return",
    replace: "if (isAlone) return",
    seeds: [24, 75],
  },
  {
    name: "takes any number of rows",
    file: "contract/wire.ts",
    find: "if (count > most) throw",
    replace: "if (false) throw",
    seeds: [231],
  },
  {
    name: "follows a cursor of any length",
    file: "contract/wire.ts",
    find: "({ length }) => length <= LONGEST_CURSOR",
    replace: "() => true",
    seeds: [78, 51, 103],
  },
  {
    name: "calls every close of an answer live, not only the newest",
    file: "candles/view/view.ts",
    find: "        yield* overtaken(waiting);\n        waiting",
    replace: "        yield* waiting;\n        waiting",
    seeds: [50, 69],
  },
  {
    name: "says of what somebody joins how late it was when it was read",
    file: "candles/watch.ts",
    find: "isRemembered ? serviceTime(core.serviceClock(), joinedAt) : book.observedAt",
    replace: "book.observedAt",
    seeds: [46, 57],
  },
  {
    name: "takes a final candle for due when it should have closed",
    file: "candles/lateness.ts",
    find: 'if (status === "closed" || isFirstClose) return end + settle;',
    replace: 'if (status !== "open") return end + settle;',
    seeds: [1, 2],
  },
  {
    name: "calls a close live that is handed over long after it was read",
    file: "candles/view/history-reading.ts",
    find: 'type: "history-end", received: serviceNow(this.#core) }',
    replace: 'type: "history-end", received: 0 }',
    seeds: [1, 2],
  },
  {
    name: "writes by the window of its caller",
    file: "adapters/store/keeping/stored-past.ts",
    find: "const LEAST_WINDOW = 2;",
    replace: "const LEAST_WINDOW = 0;",
    seeds: [13, 4, 6, 9],
  },
  {
    name: "covers in the store what has not become final",
    file: "adapters/store/keeping/final-recorder.ts",
    find: "to: book.finalUntil, candles }",
    replace: "to: book.covered.at(-1)!.to, candles }",
    seeds: [6],
  },
  {
    name: "covers what becomes final without its candle",
    file: "adapters/store/keeping/final-recorder.ts",
    find: 'type !== "removed" && status === "final" ? [candle] : [],',
    replace: 'type === "new" && status === "final" ? [candle] : [],',
    seeds: [1, 4],
  },
  {
    name: "covers the first interval of a span without its candle",
    file: "adapters/store/keeping/stored-series.ts",
    find: "timestamp >= from && timestamp < to);",
    replace: "timestamp > from && timestamp < to);",
    seeds: [1, 4],
  },
  {
    name: "keeps to itself that a store fails",
    file: "adapters/store/keeping/stored-series.ts",
    find: "this.tell(operation, key, span, troubleOf(cause));",
    replace: "",
    seeds: [1, 9],
  },
  {
    name: "writes nothing of what a poll makes final",
    file: "adapters/store/keeping/final-recorder.ts",
    find: "this.#stored.write({",
    replace: "({ write: (..._: unknown[]) => {} }).write({",
    seeds: [1, 4],
  },
  {
    name: "covers intervals whose rows could not be read",
    file: "adapters/store/keeping/stored-series.ts",
    find: "const unknown = [...except].filter(",
    replace: "const unknown = ([] as number[]).filter(",
    seeds: [477, 491, 588],
  },
  {
    name: "lets go of what a store has not taken",
    file: "adapters/store/keeping/stored-series.ts",
    find: "this.#underWay.delete(entry) && !written[at]);",
    replace: "this.#underWay.delete(entry) && !written[at] && written.length === 0);",
    seeds: [1, 4],
  },
  ...CONVERGENCE_FAULTS,
  ...STATUS_FAULTS,
  ...ECONOMY_FAULTS,
  ...RECORDS_FAULTS,
];

/** Two processes that each play a half take about as long as each other. */
export const HALF = Math.floor(PLANTED_FAULTS.length / 2);
