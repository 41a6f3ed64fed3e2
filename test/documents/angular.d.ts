// What the documents use of Angular, with the signatures that its own reference gives.
declare module "@angular/core" {
  export type Signal<T> = () => T;
  export interface WritableSignal<T> extends Signal<T> {
    set(value: T): void;
  }
  export function signal<T>(initialValue: T): WritableSignal<T>;
  export function Component(metadata: {
    selector?: string;
    template?: string;
  }): (target: new () => unknown, context: ClassDecoratorContext) => void;
}

declare module "@angular/core/rxjs-interop" {
  import type { Signal } from "@angular/core";
  import type { Observable } from "rxjs";

  export function toObservable<T>(source: Signal<T>): Observable<T>;
  export function toSignal<T, U extends T>(
    source: Observable<T>,
    options: { initialValue: U; requireSync?: false },
  ): Signal<T | U>;
}
