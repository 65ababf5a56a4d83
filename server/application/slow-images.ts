// Images that take long to read, such as those with hostile layers. One is read at a time, next to the images that are read quickly, so
// that no organization waits for the slow images of another one. Organizations take turns here too.

import { limits } from "#base/limits.ts";
import { openServedList } from "#base/served-list.ts";
import { rootOf } from "#base/uid.ts";
import type { DueContents } from "#advisories/store";

export interface SlowImages {
  /** No image is being read. */
  isFree(): boolean;
  /** Takes over the reading of an image, if none is being read. */
  takeOver(due: DueContents, reading: Promise<void>): void;
  /** Queues the image; returns false if the queue, or the organization's share of it, is full. */
  add(due: DueContents): boolean;
  waiting(): readonly DueContents[];
  /** Returns true if an image of another organization is in the queue. */
  hasOthers(root: string): boolean;
  /** Resolves when all images of the queue have been read. */
  ended(): Promise<void>;
  /** Empties the queue and returns what was in it, after the end of the current reading. */
  stop(): Promise<readonly DueContents[]>;
}

export interface SlowImagesOptions {
  /** Reads an image of the queue. */
  readonly read: (due: DueContents) => Promise<void>;
  readonly onFailure: (cause: unknown) => void;
}

export const openSlowImages = ({ read, onFailure }: SlowImagesOptions): SlowImages => {
  const served = openServedList(limits.slowContentsWaiting);
  let waiting: DueContents[] = [];
  let current: Promise<void> | undefined;
  let isStopped = false;

  const rootsOf = (): string[] => waiting.map(({ uid }) => rootOf(uid));

  /** Returns the first image of the least recently served organization. */
  const takeNext = (): DueContents | undefined => {
    const [order, roots] = [served.list(), rootsOf()];
    const [next] = [...waiting.keys()].sort((one, other) => order.indexOf(roots[one] ?? "") - order.indexOf(roots[other] ?? "") || one - other);
    return next === undefined ? undefined : waiting.splice(next, 1)[0];
  };

  const start = (due: DueContents, reading: Promise<void>): void => {
    served.note(rootOf(due.uid));
    current = reading.catch(onFailure).finally(() => {
      current = undefined;
      goOn();
    });
  };

  const goOn = (): void => {
    if (current !== undefined || isStopped) return;
    const next = takeNext();
    if (next) start(next, read(next));
  };

  return {
    isFree: () => current === undefined && !isStopped,
    takeOver: start,
    add(due) {
      const root = rootOf(due.uid);
      const isFull = waiting.length >= limits.slowContentsWaiting || rootsOf().filter((each) => each === root).length >= limits.slowContentsWaitingEach;
      if (isFull || isStopped) return false;
      waiting.push(due);
      goOn();
      return true;
    },
    waiting: () => waiting,
    hasOthers: (root) => rootsOf().some((each) => each !== root),
    async ended() {
      while (current !== undefined) await current;
    },
    async stop() {
      isStopped = true;
      await current;
      const left = waiting;
      waiting = [];
      return left;
    },
  };
};
