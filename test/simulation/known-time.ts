import type { Exchange } from "./exchanges.js";
import type { RunLog } from "./run-log.js";
import { serviceClockOf } from "./service-time.js";

/** A `Date` names a whole second, ms. */
const DATE_ERROR = 1_000;
/** After a lie, or a clock that was set, so many answers in a row that agree with each other tell the time again. */
const AGREEING = 2;
/** A clock that was set by less is found out as answers come, ms; one that was set by more at once. */
const SMALL_STEP = 1_300;
/** What is found out of a clock that was set, or of machines, is known as well as this, ms. */
const RESIDUE = 100;
/** So many answers in a row find that out. */
const FINDING_OUT = 4;
/** Two machines are known once so many answers of each leave no time in common by so many ms: no clock drifts as far in between. */
const TOLD_APART = { ofEach: 4, by: 400, within: 1_800_000 };
/** A machine that has answered among so many last answers is one to go by. */
const REMEMBERED = 64;
/** An answer that misses the clock of a machine by less may be its own: clocks drift, ms. */
const NEAR = 50;

/** A `Date` tells the time to a second, ms. */
const SECOND = 1_000;
/** For so long, in ms, a clock may drift before an answer shows it. */
const UNCHECKED = 60_000;

/** What lies, or the clock before it was set, say of the service's clock: how far it is ahead of what it shows, between two bounds. */
interface Ghost {
  readonly low: number;
  readonly high: number;
  /** How many answers have come since one that may be its own. */
  readonly answers: number;
  /** How many that tell the truth have contradicted it, copies left out. */
  readonly against: number;
}

/** How well the service's clock can be known, by the answers that a client has told of; `order` says how many of them. */
export class KnownTime {
  readonly #log: RunLog;
  readonly #steps: readonly { readonly at: number; readonly by: number }[];
  /** By order. */
  readonly #isTrusted: boolean[] = [true];
  readonly #areToldApart: boolean[] = [false];
  readonly #haveGhosts: boolean[] = [false];
  readonly #haveCopies: boolean[] = [false];
  /** How far what no Date has contradicted yet is from the truth, ms. */
  readonly #uncontradicted: number[] = [0];
  readonly #untold: number[] = [];
  /** So many answers had come, none of them with a `Date`: the clock of a machine that is wrong stood in. */
  readonly #undated: number;

  constructor(log: RunLog) {
    const { plan, told } = log;
    const { hasDate, offset } = plan.world;
    this.#log = log;
    const dated = told.findIndex(({ headers }) => headers.date !== undefined);
    this.#undated = hasDate && offset !== 0 ? (dated < 0 ? told.length : dated) : 0;
    this.#steps = plan.faults.flatMap((fault) =>
      fault.kind === "clock set" ? [{ at: plan.world.start + fault.from, by: fault.by }] : [],
    );
    // Without any Date the machine's clock is the service's; with one, the first answer tells it.
    // An answer whose second was heard before may be a copy, and says nothing.
    let agreeing = hasDate ? AGREEING - 1 : Number.POSITIVE_INFINITY;
    const heard = new Set<number>();
    let recent: Exchange[] = [];
    const clock = serviceClockOf(plan.world);
    const apart = plan.world.machines?.ahead ?? 0;
    let ghosts: readonly Ghost[] = [];
    /** What copies say that hide their age. */
    let copies: readonly Ghost[] = [];
    let known = UNKNOWN;
    let heardAt = Number.NEGATIVE_INFINITY;
    this.#untold.push(hasDate ? SECOND : 0);
    for (const exchange of told) {
      const error = errorOf(exchange);
      const seen = seenIn(exchange, clock.at);
      const own = exchange.old > 0 && !exchange.hidesAge ? UNKNOWN : seen;
      if (error !== undefined) {
        // A copy from after its second leaves no room for the truth.
        const isWrong = exchange.hidesAge && seen.high < 0;
        const others = copies.map((copy) => haunted(copy, own, false));
        copies = [...others, ...(isWrong ? [seen] : [])].filter(isRemembered);
      }
      // A copy that hides its age is no other answer.
      if (error !== undefined && !exchange.hidesAge) {
        const isTrue = error <= 0 && error >= -DATE_ERROR;
        const { sent, old, headers } = exchange;
        const shown = headers.date!;
        const isNews = !heard.has(shown);
        agreeing = isTrue ? agreeing + (isNews ? 1 : 0) : 0;
        heard.add(shown);
        const isSet = ({ at }: { at: number }) => at > heardAt && at < sent;
        const before = this.#steps
          .filter(isSet)
          .flatMap(({ by }) => [...new Set([0, apart])].map((ahead) => shifted(known, by + ahead)));
        ghosts = [...ghosts, ...before]
          .map((ghost) => haunted(ghost, own, isTrue && isNews))
          .filter(isRemembered);
        if (!isTrue) ghosts = [...ghosts, seen];
        else if (old === 0) known = common(known, shifted(seen, -exchange.ahead));
        heardAt = sent;
        // What was heard by the machine's clock as it was before is not compared with what is heard by it now.
        const isSetSince = ({ sent }: Exchange) =>
          this.#steps.some(({ at }) => at >= sent && at < exchange.sent);
        const comparable = recent.slice(1 - REMEMBERED).filter((other) => !isSetSince(other));
        // Nor what was heard before a lie, by which the clock may have jumped.
        recent = isTrue ? [...comparable, exchange] : [];
      }
      this.#isTrusted.push(agreeing >= AGREEING);
      this.#haveGhosts.push(ghosts.length > 0);
      this.#haveCopies.push(copies.length > 0);
      const uncontradicted = ghosts.filter(({ against }) => against < AGREEING);
      this.#uncontradicted.push(Math.max(0, ...uncontradicted.map(({ low, high }) => Math.max(low, -high))));
      this.#untold.push(hasDate ? untoldBy(recent, clock.at) : 0);
      this.#areToldApart.push(plan.world.machines !== undefined && areToldApart(recent));
    }
  }

  /** Whether no answer has lied about the time since so many that agree. */
  isTrusted(order: number): boolean {
    return this.#isTrusted[order]!;
  }

  /** Whether the time can be known although the machine's clock was set, or is wrong: answers with a `Date` have come since. */
  knowsTime(order: number): boolean {
    const isDated = order === 0 || this.#undated === 0 || order > this.#undated;
    return isDated && this.#stepsBefore(order).every(({ seconds }) => seconds >= AGREEING);
  }

  /** How far a client may be wrong about the service's clock, ms. */
  toleranceAt(order: number): number {
    const { machines, drift } = this.#log.plan.world;
    const ahead = machines?.ahead ?? 0;
    const steps = this.#stepsBefore(order);
    return (
      1 +
      Math.abs(drift) * UNCHECKED +
      (this.#areToldApart[order]! ? Math.min(ahead, RESIDUE) : ahead) +
      Math.max(
        Math.min(SMALL_STEP, this.#uncontradicted[order]!),
        Math.min(
          this.#unnoticed(steps),
          Math.max(RESIDUE, this.#unnoticed(steps.filter(({ answers }) => answers < FINDING_OUT))),
        ),
      )
    );
  }

  /** What its Dates do not tell of the clock of a machine, ms: a second at first, and a way in the end. */
  untoldAt(order: number): number {
    return this.#untold[order]!;
  }

  /** Whether what a lie said, or the clock before it was set, may be taken for another machine that has answered of late. */
  mayBeMachine(order: number): boolean {
    return this.#haveGhosts[order]! || this.#stepsBefore(order).some(({ answers }) => answers < REMEMBERED);
  }

  /** The same of what copies say that hide their age. */
  mayBeOfCopies(order: number): boolean {
    return this.#haveCopies[order]!;
  }

  /** How far it may be wrong at its worst, ms. */
  get clockTolerance(): number {
    const { machines } = this.#log.plan.world;
    return 1 + (machines?.ahead ?? 0) + this.#unnoticed(this.#steps);
  }

  #unnoticed(steps: readonly { readonly by: number }[]): number {
    return Math.max(0, ...steps.map(({ by }) => Math.min(Math.abs(by), SMALL_STEP)));
  }

  /** How the clock had been set by then, and how many answers with a `Date` have come since each time, of how many seconds. */
  #stepsBefore(order: number) {
    const { told, exchanges } = this.#log;
    const next = told[order]?.received ?? Number.POSITIVE_INFINITY;
    return this.#steps.flatMap((step) => {
      if (step.at >= next || !exchanges.some(({ sent }) => sent > step.at)) return [];
      const isLater = ({ sent, headers }: Exchange) => sent > step.at && headers.date !== undefined;
      const since = told.slice(0, order).filter(isLater);
      return [
        { ...step, answers: since.length, seconds: new Set(since.map(({ headers }) => headers.date)).size },
      ];
    });
  }
}

const UNKNOWN: Ghost = {
  low: Number.NEGATIVE_INFINITY,
  high: Number.POSITIVE_INFINITY,
  answers: 0,
  against: 0,
};

function isRemembered({ answers }: Ghost): boolean {
  return answers < REMEMBERED;
}

/** What the `Date` of an answer says, if that was made between its request and its end. */
function seenIn({ sent, received, headers }: Exchange, serviceAt: (at: number) => number): Ghost {
  const shown = headers.date ?? Number.NaN;
  return { ...UNKNOWN, low: shown - serviceAt(received!), high: shown + SECOND - serviceAt(sent) };
}

function shifted({ low, high }: Ghost, by: number): Ghost {
  return { low: low + by, high: high + by, answers: 0, against: 0 };
}

function common(a: Ghost, b: Ghost): Ghost {
  return { low: Math.max(a.low, b.low), high: Math.min(a.high, b.high), answers: 0, against: a.against };
}

/** A ghost after one more answer. That may be its own where it is no copy, and the two have left no room for the truth. */
function haunted(ghost: Ghost, seen: Ghost, isProof: boolean): Ghost {
  const left = common(ghost, seen);
  const isOwn = seen !== UNKNOWN && left.low <= left.high + NEAR && (left.low > 0 || left.high < 0);
  const isAgainst = left.low > left.high;
  const next = {
    ...ghost,
    answers: isOwn ? 0 : ghost.answers + 1,
    against: ghost.against + Number(isProof && isAgainst),
  };
  return isOwn && !isAgainst ? left : next;
}

/** How far the `Date` of an answer is ahead of the clock of its machine, ms. */
function errorOf({ headers, answeredAt, ahead }: Exchange): number | undefined {
  return headers.date === undefined || answeredAt === undefined
    ? undefined
    : headers.date - answeredAt - ahead;
}

/** What the Dates of answers that no cache has kept leave of a second, either way. */
function untoldBy(recent: readonly Exchange[], serviceAt: (at: number) => number): number {
  const made = recent.filter(({ old }) => old === 0);
  const dateOf = ({ headers, ahead }: Exchange) => headers.date! - ahead;
  const behind = made.map((exchange) => serviceAt(exchange.received!) - dateOf(exchange));
  const ahead = made.map((exchange) => dateOf(exchange) + SECOND - serviceAt(exchange.sent));
  return Math.max(Math.min(SECOND, ...behind), Math.min(SECOND, ...ahead));
}

function areToldApart(recent: readonly Exchange[]): boolean {
  const newest = recent.at(-1)?.received ?? 0;
  // A Date that comes again may be that of a copy, whose age a cache hides.
  const dates = new Map(recent.toReversed().map((exchange) => [exchange.headers.date, exchange]));
  const near = recent.filter(
    (exchange) =>
      exchange.old === 0 &&
      newest - exchange.received! <= TOLD_APART.within &&
      dates.get(exchange.headers.date) === exchange,
  );
  const lows = near.map(({ headers, received }) => headers.date! - received!).sort((a, b) => b - a);
  const highs = near.map(({ headers, sent }) => headers.date! + 1_000 - sent).sort((a, b) => a - b);
  const at = TOLD_APART.ofEach - 1;
  return near.length >= 2 * TOLD_APART.ofEach && lows[at]! - highs[at]! > TOLD_APART.by;
}
