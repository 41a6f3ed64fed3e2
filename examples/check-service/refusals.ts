import type { Answer } from "./asker.js";
import { fits, kindly, type Note, wrong } from "./notes.js";
import { routeOf, type Subject } from "./subject.js";

/** The range, as the client asks for it. */
const secondsOf = ({ range: { fromDate, toDate } }: Subject) => ({
  fromDate: fromDate / 1_000,
  toDate: toDate / 1_000,
});

/** What a client would take for trouble that passes, so that it asks again. */
const isTrouble = ({ status }: Answer) => status >= 500;

/** The questions that have to be refused. */
export const refusalNotes: readonly [name: string, ask: (subject: Subject) => Promise<Note[]>][] = [
  [
    "without a key",
    async (subject) => {
      const { series, asker } = subject;
      const { status } = await asker.ask(routeOf(series, secondsOf(subject)), { withKey: false });
      if ([401, 403, 424].includes(status)) return [fits(`status ${status}`)];
      if (status === 200) return [kindly("it is answered: whoever reaches the service can read it")];
      return [wrong(`status ${status}, where 401 says that the key is to blame`)];
    },
  ],
  [
    "a pair that there is not",
    async (subject) => {
      const { series, asker } = subject;
      const pairAddress = otherThan(series.pairAddress);
      const answer = await asker.ask(routeOf({ ...series, pairAddress }, secondsOf(subject)));
      const { status } = answer;
      if (status === 404) return [fits("status 404"), ...messageNotes(answer)];
      if (status === 200)
        return [kindly("it is answered, so a wrong address looks like a pair without swaps")];
      if (isTrouble(answer)) return [wrong(`status ${status}, which is asked again, where 404 says why`)];
      return [
        kindly(`status ${status}, which ends a stream at once, so whenMissing does not wait for a pair`),
      ];
    },
  ],
  [
    "a timeframe that there is not",
    async (subject) => {
      const { series, asker } = subject;
      const answer = await asker.ask(routeOf(series, { ...secondsOf(subject), timeframe: "7min" }));
      const { status } = answer;
      if (status === 400) return [fits("status 400"), ...messageNotes(answer)];
      if (isTrouble(answer)) return [wrong(`status ${status}, which is asked again, where 400 says why`)];
      return [kindly(status === 200 ? "it is answered" : `status ${status}`)];
    },
  ],
];

/** The same address, but for its last character. */
function otherThan(address: string): string {
  return `${address.slice(0, -1)}${address.endsWith("e") ? "d" : "e"}`;
}

function messageNotes({ body }: Answer): Note[] {
  const { message } = (body ?? {}) as { message?: unknown };
  const [first] = Array.isArray(message) ? message : [message];
  return typeof first === "string" && first !== "" ? [] : [kindly("without a message")];
}
