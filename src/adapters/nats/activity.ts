/** What a collector does, for logs and metrics. */
export type CollectorActivity =
  | {
      /** The collector leads its group from now on, or stands by. */
      readonly type: "leading" | "standing-by";
      /** When, by the client's scheduler, ms since the epoch. */
      readonly at: number;
    }
  | {
      /** The collector has begun to work on a feed, or has left it. */
      readonly type: "started" | "stopped";
      /** When, by the client's scheduler, ms since the epoch. */
      readonly at: number;
      /** What the subjects of the feed begin with. */
      readonly feed: string;
      /** The run of the feed, as its messages name it: a whole number, higher for each later one. */
      readonly epoch: number;
    }
  | {
      /** A feed has failed for good, because no retry can help. It stays failed as long as this collector leads. */
      readonly type: "failed";
      /** When, by the client's scheduler, ms since the epoch. */
      readonly at: number;
      /** What the subjects of the feed begin with. */
      readonly feed: string;
      /** Why. */
      readonly error: unknown;
    }
  | {
      /**
       * A stream or the lease could not be reached, a message could not be stored or read, or another collector has told
       * more of a feed. The collector goes on.
       */
      readonly type: "trouble";
      /** When, by the client's scheduler, ms since the epoch. */
      readonly at: number;
      /** Why. */
      readonly error: unknown;
    };
