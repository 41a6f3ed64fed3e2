import { asyncScheduler } from "rxjs";

/** How long a frame lasts where there are none, in ms. */
const FRAME = 16;

const due = new Set<() => void>();
let isRequested = false;

/**
 * Runs a task with the next frame, once however often it is asked for. All tasks of a frame run in one go, so that React
 * renders once. A hidden page has no frames: its tasks wait until it is seen.
 */
export function onNextFrame(task: () => void): void {
  due.add(task);
  if (isRequested) return;
  isRequested = true;
  if (typeof requestAnimationFrame === "function") requestAnimationFrame(runTasks);
  else asyncScheduler.schedule(runTasks, FRAME);
}

/** Takes a task back, and what it holds on to. */
export function dropTask(task: () => void): void {
  due.delete(task);
}

function runTasks(): void {
  isRequested = false;
  const tasks = [...due];
  due.clear();
  for (const task of tasks) task();
}
