// Reads the packages in the layers of pushed images in the background (server/registry/contents). Triggers queue the images with their
// pushes. Each image is leased to one server, and each layer is read once for all images: after a crash, any server goes on with the
// next layer. Organizations take turns. One process reads at a time, and one the images that have turned out to be slow.

import type { JsonObject } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { rootOf } from "#base/uid.ts";
import { openServedList } from "#base/served-list.ts";
import { packagesOfPurls } from "#advisories/feeds";
import {
  claimContents,
  type ContentsResult,
  type DueContents,
  isContentsDue,
  isContentsOutdated,
  holdContents,
  isOthersContentsDue,
  postponeContents,
  releaseContents,
  requeueContents,
} from "#advisories/store";
import type { Services } from "#kernel";
import {
  type ImageContents,
  type LayerProblem,
  type LayerReading,
  openComposer,
  openLayerReader,
  packContents,
  readerVersion,
  readImage,
  unpackContents,
} from "#registry/contents";
import { findLayerContents, findManifestByDigest, findRepoBlob, writeLayerContents } from "#registry/store";
import { openTurnLoop } from "#db";
import type { AttachedSboms, IndexedImage } from "./attached-sboms.ts";
import { imageLayersOf } from "./image-layers.ts";
import { openSlowImages } from "./slow-images.ts";

export interface ImageIndexing {
  /** Reads all due images. */
  turn(): Promise<void>;
  stop(): Promise<void>;
}

export interface ImageIndexingOptions {
  readonly services: Services;
  readonly sboms: AttachedSboms;
  /** Turns start on request only. */
  readonly byHand: boolean;
  readonly read?: LayerReading;
  /** After this time and a further stored layer, an image waits for those of other organizations. */
  readonly turnMs?: number;
  /** After this time, an image is slow, if others are due. */
  readonly slowMs?: number;
}

/** The server stops, or another server has claimed the image. */
class Interrupted extends Error {}

/** Images of other organizations are next; the layers that were read are stored. */
class TurnOver extends Error {}

/** Another slow image is being read, and images of other organizations are due. */
class SetAside extends Error {}

interface ReadContents {
  readonly result: ContentsResult;
  /** Undefined if nothing was read. */
  readonly image: IndexedImage | undefined;
}

/** The reading of an image. */
interface Reading {
  readonly due: DueContents;
  isSlow: boolean;
  readonly aside: AbortController;
}

const endsWithin = async (work: Promise<void>, ms: number): Promise<boolean> => {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => resolve(false), ms);
  try {
    return await Promise.race([work.then(() => true), promise]);
  } finally {
    clearTimeout(timer);
  }
};

const retryMs = (tries: number): number => Math.min(limits.contentsRetryMs * 2 ** Math.min(tries - 1, 20), limits.contentsRetryMaxMs);

/** As messages have them, without empty fields. */
const withoutEmpty = (fields: Readonly<Record<string, string>>): JsonObject => Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== ""));

const problemsText = (problems: readonly LayerProblem[]): string =>
  JSON.stringify(problems.map(({ reason, detail, layer, path }) => withoutEmpty({ reason, detail, layer, path })));

const resultOf = (manifest: string, contents: ImageContents): ContentsResult => {
  const { state, os, packages: found, problems: all, problemCount: count } = contents;
  const { packages, packageCount, unnamedCount } = packagesOfPurls(found.map(({ purl }) => purl));
  const unnamed: readonly LayerProblem[] =
    unnamedCount > 0 ? [{ reason: "PACKAGE_INVALID", detail: `${unnamedCount} packages have names that are too long`, layer: "", path: "" }] : [];
  return {
    state: state === "INDEXED" && unnamedCount > 0 ? "PARTIAL" : state,
    packages,
    packageCount,
    problems: problemsText([...unnamed, ...all].slice(0, limits.layerProblemsMax)),
    problemCount: count + unnamedCount,
    operatingSystem: os ? JSON.stringify(withoutEmpty({ id: os.id, version: os.version, name: os.name })) : "",
    readerVersion,
    layers: state === "INDEXED" || state === "PARTIAL" ? imageLayersOf(manifest, contents) : undefined,
  };
};

const failedResult = (detail: string): ContentsResult => ({
  state: "FAILED",
  packages: "{}",
  packageCount: 0,
  problems: problemsText([{ reason: "IMAGE_UNREADABLE", detail, layer: "", path: "" }]),
  problemCount: 1,
  operatingSystem: "",
  readerVersion,
  layers: undefined,
});

export const openImageIndexing = ({
  services,
  sboms,
  byHand,
  read = openLayerReader(),
  turnMs = limits.contentsTurnMs,
  slowMs = limits.contentsSlowMs,
}: ImageIndexingOptions): ImageIndexing => {
  const { store, blobs, clock, log } = services;
  const compose = openComposer();
  const stopping = new AbortController();
  const served = openServedList(limits.sbomServedMax);

  const findLayer = async (repo: string, digest: string, signal: AbortSignal, noteStored: () => void) => {
    const blob = await findRepoBlob(store.read, repo, digest);
    if (!blob) return undefined;
    const packed = await findLayerContents(store.read, blob.sha256, readerVersion);
    if (packed) return unpackContents(packed);
    const pieces = await blobs.read(blob.key);
    if (!pieces) {
      log("blobs.missing", { digest: blob.sha256, key: blob.key });
      return undefined;
    }
    const contents = await read(pieces, signal);
    const bytes = await packContents(contents);
    // Further images read a larger layer again, so that layers of many small files do not fill the database.
    if (bytes.length <= limits.storedContentsBytesMax) {
      await store.write((rows) => writeLayerContents(rows, blob.sha256, readerVersion, bytes));
      noteStored();
    }
    return contents;
  };

  /** Keeps the image leased while `work` runs. */
  const leased = async <T>({ due, aside }: Reading, work: (signal: AbortSignal) => Promise<T>): Promise<T> => {
    const lost = new AbortController();
    const renew = (): void => {
      store
        .write((rows) => postponeContents(rows, due, clock() + limits.contentsHoldMs))
        .then((isHeld) => {
          if (!isHeld) lost.abort(new Interrupted());
        })
        // The next one tries again; without a lease the result is not stored.
        .catch(() => undefined);
    };
    const timer = setInterval(renew, limits.contentsHoldMs / 4);
    try {
      return await work(AbortSignal.any([stopping.signal, lost.signal, aside.signal]));
    } finally {
      clearInterval(timer);
    }
  };

  const readContents = async (reading: Reading): Promise<ReadContents | undefined> => {
    const { due } = reading;
    if (due.tries > limits.contentsTriesMax) return { result: failedResult(`could not be read in ${limits.contentsTriesMax} tries`), image: undefined };
    const manifest = await findManifestByDigest(store.read, due.repoUid, due.digest);
    // Deleted since.
    if (!manifest) return undefined;
    return leased(reading, async (signal) => {
      const [startMs, root] = [performance.now(), rootOf(due.repoUid)];
      const areOthersDue = async (): Promise<boolean> => (reading.isSlow ? slow.hasOthers(root) : isOthersContentsDue(store.read, root, clock()));
      // Each turn of an image makes progress.
      let isFurther = false;
      const find = async (digest: string) => {
        signal.throwIfAborted();
        if (isFurther && performance.now() - startMs > turnMs && (await areOthersDue())) throw new TurnOver();
        return findLayer(due.repoUid, digest, signal, () => (isFurther = true));
      };
      const contents = await readImage(manifest.content, find, { compose: (layers) => compose(layers, signal) });
      return { result: resultOf(manifest.content, contents), image: { manifest, contents } };
    });
  };

  /** Queues the image as a slow one, leased. If the queue is full, it is due again later. */
  const setAside = async (due: DueContents): Promise<void> => {
    if (!slow.add(due)) await store.write((rows) => releaseContents(rows, due, clock() + limits.slowContentsRetryMs));
  };

  /** A failed image does not stop the others. */
  const readOne = async (reading: Reading): Promise<void> => {
    const { due } = reading;
    const { repoUid: repo, digest: image, tries } = due;
    try {
      const found = await readContents(reading);
      if (!found) return;
      const { result } = found;
      if (result.state === "FAILED") log("contents.unreadable", { repo, image, problems: result.problems });
      await sboms.complete(due, result, found.image);
    } catch (cause) {
      if (stopping.signal.aborted || (cause instanceof TurnOver && !reading.isSlow)) await store.write((rows) => releaseContents(rows, due, clock()));
      else if (cause instanceof TurnOver || cause instanceof SetAside) await setAside(due);
      else if (!(cause instanceof Interrupted)) {
        log("contents.failed", { repo, image, tries, cause });
        await store.write((rows) => postponeContents(rows, due, clock() + retryMs(tries)));
      }
    }
  };

  const slow = openSlowImages({
    read: async (due) => {
      const isHeld = await store.write((rows) => postponeContents(rows, due, clock() + limits.contentsHoldMs));
      if (isHeld) await readOne({ due, isSlow: true, aside: new AbortController() });
    },
    onFailure: (cause) => log("contents.turn.failed", { cause }),
  });
  const holding = setInterval(() => {
    const waiting = slow.waiting();
    // The next one tries again.
    if (waiting.length > 0) store.write((rows) => holdContents(rows, waiting, clock() + limits.contentsHoldMs)).catch(() => undefined);
  }, limits.contentsHoldMs / 4).unref();

  /** Returns when the image has been read, or when it goes on as a slow one, since others are due. */
  const readWhileNoneWait = async (due: DueContents): Promise<void> => {
    const reading: Reading = { due, isSlow: false, aside: new AbortController() };
    const done = readOne(reading);
    for (let waitMs = slowMs; !(await endsWithin(done, waitMs)); waitMs = Math.min(slowMs, limits.contentsLookMs)) {
      // An image that delays only its own organization goes on, so that no work is lost.
      const look = slow.isFree() ? isContentsDue(store.read, clock()) : isOthersContentsDue(store.read, rootOf(due.repoUid), clock());
      // The next look tries again.
      if (!(await look.catch(() => false))) continue;
      if (slow.isFree()) {
        reading.isSlow = true;
        slow.takeOver(due, done);
        return;
      }
      reading.aside.abort(new SetAside());
    }
  };

  const runTurn = async (): Promise<void> => {
    // Without it, images are read all the same, and the next turn tries again.
    await sboms.queue(() => !stopping.signal.aborted).catch((cause: unknown) => log("contents.turn.failed", { cause }));
    while (!stopping.signal.aborted && (await isContentsOutdated(store.read, readerVersion)))
      await store.write((rows) => requeueContents(rows, readerVersion, clock(), limits.contentsRequeuedMax));
    while (!stopping.signal.aborted && (await isContentsDue(store.read, clock()))) {
      const due = await store.write((rows) => claimContents(rows, served.list(), clock(), clock() + limits.contentsHoldMs));
      // Another server has claimed it.
      if (!due) return;
      served.note(rootOf(due.repoUid));
      await readWhileNoneWait(due);
    }
  };

  const loop = openTurnLoop({
    changes: store.changes,
    betweenMs: limits.contentsLookMs,
    restMs: limits.restLookMs,
    byHand,
    runTurn,
    onFailure: (cause) => log("contents.turn.failed", { cause }),
  });

  return {
    turn: async () => {
      await loop.turn();
      await slow.ended();
    },
    stop: async () => {
      stopping.abort(new Interrupted());
      clearInterval(holding);
      await loop.stop();
      for (const due of await slow.stop()) await store.write((rows) => releaseContents(rows, due, clock()));
    },
  };
};
