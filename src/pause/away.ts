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
type Platform = Partial<EventTarget> & {
  readonly document?: EventTarget & { readonly hidden: boolean };
  readonly navigator?: { readonly onLine?: boolean };
};

/**
 * Whether nobody looks at the page, or it is offline, and that for so many ms: present value, then changes. Where there
 * is no page, never.
 */
export function away(after: number, scheduler: SchedulerLike): Observable<boolean> {
  return defer(() => {
    const platform: Platform = globalThis;
    const told = (target: Partial<EventTarget> | undefined, name: string) =>
      typeof target?.addEventListener === "function" ? fromEvent(target as EventTarget, name) : NEVER;
    const { document } = platform;
    return merge(
      told(document, "visibilitychange"),
      told(platform, "online"),
      told(platform, "offline"),
    ).pipe(
      startWith(undefined),
      map(() => document?.hidden === true || platform.navigator?.onLine === false),
      distinctUntilChanged(),
      switchMap((isAway) => (isAway ? timer(after, scheduler).pipe(map(() => true)) : of(false))),
      startWith(false),
      distinctUntilChanged(),
    );
  });
}
