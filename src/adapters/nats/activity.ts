/** What a collector does, for logs and metrics. */
export type CollectorActivity =
  | {
      /** The collector's slots have changed. */
      readonly type: "slots";
      /** When, by the client's scheduler, ms since the epoch. */
      readonly at: number;
      /** The numbers of its slots, starting at 0. */
      readonly held: readonly number[];
    }
  | {
      /** The collector has begun to work on a feed, or has left it to others. */
      readonly type: "started" | "stopped";
      /** When, by the client's scheduler, ms since the epoch. */
      readonly at: number;
      /** What the subjects of the feed begin with. */
      readonly feed: string;
      /** The epoch of the lease under which it works: a whole number, higher for each later holder. */
      readonly epoch: number;
    }
  | {
      /** A feed has failed for good, because no retry can help. It stays failed as long as this collector has it. */
      readonly type: "failed";
      /** When, by the client's scheduler, ms since the epoch. */
      readonly at: number;
      /** What the subjects of the feed begin with. */
      readonly feed: string;
      /** Why. */
      readonly error: unknown;
    }
  | {
      /** A newer message was already stored, and stays. */
      readonly type: "superseded";
      /** When, by the client's scheduler, ms since the epoch. */
      readonly at: number;
      /** The subject of the message. */
      readonly subject: string;
    }
  | {
      /**
       * A stream or the leases could not be reached, a message could not be stored, or a lease that is too short for so
       * many collectors ran out. The collector tries again.
       */
      readonly type: "trouble";
      /** When, by the client's scheduler, ms since the epoch. */
      readonly at: number;
      /** Why. */
      readonly error: unknown;
    };
