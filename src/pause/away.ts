import {
  defer,
  distinctUntilChanged,
  fromEvent,
  map,
  merge,
  NEVER,
  type Observable,
  of,
  type SchedulerLike,
  startWith,
  switchMap,
  timer,
} from "rxjs";

/** What a page has of its platform; on a server there is less. */
interface Platform {
  readonly document?: EventTarget & { readonly hidden: boolean };
  readonly navigator?: { readonly onLine?: boolean };
  readonly addEventListener?: unknown;
}

/**
 * Whether nobody looks at the page, or it is offline, and that for so many ms: present value, then changes. Where there
 * is no page, never.
 */
export function away(after: number, scheduler: SchedulerLike): Observable<boolean> {
  return defer(() => {
    const platform = globalThis as Platform;
    const { document } = platform;
    const told = [
      document === undefined ? NEVER : fromEvent(document, "visibilitychange"),
      ...["online", "offline"].map((name) =>
        typeof platform.addEventListener === "function"
          ? fromEvent(platform as unknown as EventTarget, name)
          : NEVER,
      ),
    ];
    return merge(...told).pipe(
      startWith(undefined),
      map(() => document?.hidden === true || platform.navigator?.onLine === false),
      distinctUntilChanged(),
      switchMap((isAway) => (isAway ? timer(after, scheduler).pipe(map(() => true)) : of(false))),
      startWith(false),
      distinctUntilChanged(),
    );
  });
}
