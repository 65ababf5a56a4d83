// One import: a source's files in chunks, what changed in them parsed once, records written in batches while the next
// ones are read. A document goes in whole or not at all; the rest goes on.

import { createHash } from "node:crypto";
import { Fault } from "#base/fault.ts";
import { limits } from "#base/limits.ts";
import type { Services } from "#kernel";
import { countFeedFiles, type FeedPart, findFeedParts, findFeedRecords, openFeed, sweepFeed, writeFeedParts } from "#store";
import { type Asked, readDocument } from "./document.ts";
import type { FeedKind } from "./formats/format.ts";
import { formats, hasLines, notationOf } from "./recognise.ts";
import { type FeedRecord, recordKey, type RecordTarget, settleRecords, withdrawVanished, writeRecords, type Written } from "./record.ts";
import { Broken } from "./refused.ts";
import { decode, type FeedFile, type Fetch, openSource, Reader, type Source } from "./source.ts";

export interface FeedImport {
  readonly kind: FeedKind;
  /** The group that the records are for. */
  readonly group: string;
  /** The open operations show them too. */
  readonly public: boolean;
  /** Files, folders and https addresses. */
  readonly sources: readonly string[];
  /** The one format that is taken; any without it. */
  readonly format?: string | undefined;
  /** Who wrote it; the format's own word without it. */
  readonly author?: string | undefined;
  readonly progress: (progress: { readonly done: number; readonly total: number; readonly what: string }) => void;
  /** Asked between batches; throws where the import shall not go on. */
  readonly goOn?: () => Promise<void>;
  readonly signal?: AbortSignal;
}

export interface FeedSummary extends Written {
  /** Files that were looked at, and how many of them are the same as the last time. */
  readonly files: number;
  readonly filesUnchanged: number;
  /** "git.advisories.yaml:12: advisories[0].id must …" */
  readonly refused: readonly string[];
  /** How many were refused; of very many the first ones are named. */
  readonly refusals: number;
  /** Files of a folder that are no feed at all, such as a licence, and documents that tell nothing of this kind. */
  readonly passedOver: readonly string[];
  /** Sources that could not be had. */
  readonly failed: readonly string[];
}

/** Raised whenever formats read something differently, so that files are read again. */
const readerVersion = "1";

const recordKinds: Readonly<Record<FeedKind, FeedRecord["kind"]>> = {
  advisories: "advisory",
  vulnerabilities: "vulnerability",
  libraries: "library",
  images: "image",
};

/** A file, or a part of one, that was read: what stands in it, and what is noted of it. */
interface Unit {
  readonly part: FeedPart;
  readonly records: readonly FeedRecord[];
  /** Where it stands, for a refusal by the store. */
  readonly label: string;
  readonly line: number;
  readonly sizeBytes: number;
}

type Tally = { -readonly [Key in keyof Written]: Written[Key] } & {
  files: number;
  filesUnchanged: number;
  refusals: number;
  refused: string[];
  passedOver: string[];
  failed: string[];
};

const digestOf = (chunks: readonly Uint8Array[]): string => {
  const hash = createHash("sha256");
  for (const chunk of chunks) hash.update(chunk).update("\n");
  return hash.digest("base64url");
};

/** One source's run. */
class Run {
  private readonly services: Services;
  private readonly feed: string;
  private readonly target: RecordTarget;
  private readonly asked: Asked;
  private readonly tally: Tally;
  private readonly goOn: () => Promise<void>;
  /** Parts of each file that the source has. */
  readonly seen = new Map<string, number>();
  wrote = false;
  /** A source that is one file and was refused tells nothing of what it still holds. */
  isUnread = false;
  private pending: Unit[] = [];
  private pendingRecords = 0;
  private pendingBytes = 0;
  private writing: Promise<void> = Promise.resolve();

  constructor(services: Services, feed: string, target: RecordTarget, asked: Asked, tally: Tally, goOn: () => Promise<void>) {
    this.services = services;
    this.feed = feed;
    this.target = target;
    this.asked = asked;
    this.tally = tally;
    this.goOn = goOn;
  }

  private refuse(label: string, line: number, reason: string): void {
    this.tally.refusals++;
    if (this.tally.refused.length >= limits.feedRefusalsMax) return;
    // Names of files and keys are written by strangers, and this is read on terminals (attack 28).
    this.tally.refused.push(`${label}:${line}: ${reason}`.replace(/[\u0000-\u001f\u007f-\u009f]/g, "?"));
  }

  /** Writes units in one transaction; where the store refuses, each alone, so that the rest goes in. */
  private async write(units: readonly Unit[]): Promise<void> {
    try {
      const written = await this.services.store.write(async (rows) => {
        // First, so that two imports of one source take turns.
        await writeFeedParts(
          rows,
          this.feed,
          units.map(({ part }) => part),
        );
        return writeRecords(
          rows,
          this.target,
          units.flatMap(({ records }) => records),
        );
      });
      this.wrote = true;
      for (const key of ["new", "changed", "withdrawn", "unchanged"] as const) this.tally[key] += written[key];
    } catch (thrown) {
      const [only, other] = units;
      const passing = !(thrown instanceof Fault) || thrown.code === "UNAVAILABLE" || thrown.code === "ABORTED";
      // Too much for one statement is not too much in parts.
      if (passing || (thrown.code === "DEADLINE_EXCEEDED" && other === undefined)) throw thrown;
      if (other !== undefined) {
        for (const unit of units) await this.write([unit]);
      } else if (only !== undefined) {
        this.services.log("feed.refused", { source: this.target.feed, file: only.label, cause: thrown });
        this.refuse(only.label, only.line, "holds something that cannot be stored");
      }
    }
  }

  /** Hands what is read to the store; at most one batch is written while the next is read. */
  async flush(): Promise<void> {
    await this.writing;
    await this.goOn();
    const units = this.pending;
    this.pending = [];
    this.pendingRecords = 0;
    this.pendingBytes = 0;
    if (units.length === 0) return;
    this.writing = this.write(units);
    // Awaited at the next flush; until then a failure must not count as nobody's.
    this.writing.catch(() => {});
  }

  async finish(): Promise<void> {
    await this.flush();
    await this.writing;
  }

  private async add(unit: Unit): Promise<void> {
    this.pending.push(unit);
    for (const record of unit.records) this.pendingRecords += record.kind === "library" ? Math.max(1, record.versions.length) : 1;
    this.pendingBytes += unit.sizeBytes;
    const isFull = this.pendingRecords >= limits.feedBatchRecords || this.pendingBytes >= limits.feedBatchBytes || this.pending.length >= limits.feedBatchFiles;
    if (isFull) await this.flush();
  }

  private async readLines(file: FeedFile, reader: Reader, known: Known): Promise<void> {
    let same = true;
    let part = 0;
    for (let ended = false; !ended; part++) {
      const lines: Buffer[] = [];
      const firstLine = reader.lineNumber;
      let bytes = 0;
      while (lines.length < limits.feedPartLines && bytes < limits.feedPartBytes && !ended) {
        const line = await reader.line();
        if (line === undefined) ended = true;
        // A line is a view of a larger piece; kept alone it would hold the whole piece.
        else lines.push(Buffer.from(line));
        bytes += line?.length ?? 0;
      }
      if (lines.length === 0 && part > 0) break;
      this.seen.set(file.name, part + 1);
      const digest = digestOf(lines);
      const before = known.get(`${file.name}\n${part}`);
      if (before?.digest === digest) {
        this.tally.unchanged += before.records;
        continue;
      }
      same = false;
      await this.readPart(file, part, digest, lines, firstLine, before !== undefined);
    }
    this.seen.set(file.name, part);
    if (same) this.tally.filesUnchanged++;
  }

  private async readPart(file: FeedFile, part: number, digest: string, lines: readonly Buffer[], firstLine: number, isKnown: boolean): Promise<void> {
    const records: FeedRecord[] = [];
    let refused = false;
    for (const [index, line] of lines.entries()) {
      try {
        const text = decode(line);
        if (text.trim() !== "") records.push(...(await readDocument(text, "json", this.asked)));
      } catch (thrown) {
        if (!(thrown instanceof Broken)) throw thrown;
        refused = true;
        this.refuse(file.label, firstLine + index, thrown.message);
      }
    }
    const keys = new Set(records.map(recordKey));
    // What a refused line told before is not gone; and the part is read again the next time.
    if (refused && isKnown) for (const key of await findFeedRecords(this.services.store.read, this.feed, file.name, part)) keys.add(key);
    await this.add({
      part: { name: file.name, part, digest: refused ? "" : digest, records: [...keys] },
      records,
      label: file.label,
      line: firstLine,
      sizeBytes: lines.reduce((sum, line) => sum + line.length, 0),
    });
  }

  private async readWhole(file: FeedFile, reader: Reader, known: Known): Promise<void> {
    const bytes = await reader.rest();
    this.seen.set(file.name, 1);
    const digest = digestOf([bytes]);
    const before = known.get(`${file.name}\n0`);
    if (before?.digest === digest) {
      this.tally.unchanged += before.records;
      this.tally.filesUnchanged++;
      return;
    }
    // Before it is known to be text: a picture is no broken feed.
    const notation = notationOf(bytes.toString("utf8", 0, limits.feedHeadLength));
    if (notation === "prose" && file.isOfMany) {
      this.tally.passedOver.push(`${file.label}: is no feed`);
      return;
    }
    const text = decode(bytes);
    if (notation === "prose") throw new Broken(1, text.trim() === "" ? "is empty" : `is of no format that import ${this.asked.kind} knows`);
    const records = await readDocument(text, notation, this.asked);
    if (records.length === 0 && !/"?advisories"?\s*:/.test(text)) this.tally.passedOver.push(`${file.label}: tells of no ${this.asked.kind}`);
    await this.add({
      part: { name: file.name, part: 0, digest, records: [...new Set(records.map(recordKey))] },
      records,
      label: file.label,
      line: 1,
      sizeBytes: bytes.length,
    });
  }

  private async readFile(file: FeedFile, known: Known): Promise<void> {
    // What is refused still stands there: what it told before is not gone.
    this.seen.set(file.name, Number.MAX_SAFE_INTEGER);
    this.tally.files++;
    let reader: Reader | undefined;
    try {
      reader = await Reader.open(file);
      // The second line must have begun.
      const head = await reader.head((held) => held.length >= limits.feedHeadLength && /\n\s*\S/.test(held.toString("latin1")));
      const isWhole = head.length < limits.feedHeadLength;
      if (hasLines(head.toString("utf8"), isWhole)) await this.readLines(file, reader, known);
      else await this.readWhole(file, reader, known);
    } catch (thrown) {
      if (!(thrown instanceof Broken)) throw thrown;
      this.seen.set(file.name, Number.MAX_SAFE_INTEGER);
      if (!file.isOfMany) this.isUnread = true;
      this.refuse(file.label, thrown.line, thrown.message);
    } finally {
      await reader?.close();
    }
  }

  async readFiles(files: readonly FeedFile[], progress: (file: FeedFile) => void): Promise<void> {
    const known = await findFeedParts(
      this.services.store.read,
      this.feed,
      files.map(({ name }) => name),
    );
    for (const file of files) {
      progress(file);
      await this.readFile(file, known);
    }
  }
}

type Known = Awaited<ReturnType<typeof findFeedParts>>;

async function* chunksOf(files: AsyncIterable<FeedFile>): AsyncGenerator<FeedFile[]> {
  let chunk: FeedFile[] = [];
  for await (const file of files) {
    chunk.push(file);
    if (chunk.length < limits.feedChunkFiles) continue;
    yield chunk;
    chunk = [];
  }
  if (chunk.length > 0) yield chunk;
}

/** What vanished from a source that was read whole is withdrawn, in one transaction with forgetting it. */
const sweep = async (services: Services, feed: string, target: RecordTarget, kind: FeedKind, seen: ReadonlyMap<string, number>): Promise<number> =>
  services.store.write(async (rows) => {
    const told = await sweepFeed(rows, feed, seen);
    return told === undefined ? 0 : withdrawVanished(rows, target, recordKinds[kind], (key) => told.has(key));
  });

const importSource = async (services: Services, options: FeedImport, source: Source, tally: Tally): Promise<boolean> => {
  const { kind, group, author, format, progress } = options;
  const manner = JSON.stringify([readerVersion, options.public, author ?? "", format ?? ""]);
  const feed = await services.store.write((rows) => openFeed(rows, { kind, group, source: source.key, manner }));
  const target: RecordTarget = { group, public: options.public, feed: source.key, nowMs: services.clock() };
  const run = new Run(services, feed, target, { kind, author, only: format }, tally, async () => {
    if (options.signal?.aborted) throw new Fault("ABORTED", "the import was stopped");
    await options.goOn?.();
  });
  const total = await source.count();
  let done = 0;
  for await (const files of chunksOf(source.files()))
    await run.readFiles(files, ({ label }) => progress({ done: done++, total: Math.max(total, done), what: label }));
  await run.finish();
  progress({ done, total: done, what: "" });
  // A folder that is empty all of a sudden is a disk that is not mounted.
  if (run.seen.size === 0 && (await countFeedFiles(services.store.read, feed)) > 0)
    throw new Fault("FAILED_PRECONDITION", "holds no files any more; nothing was withdrawn");
  const withdrawn = run.isUnread ? 0 : await sweep(services, feed, target, kind, run.seen);
  tally.withdrawn += withdrawn;
  return run.wrote || withdrawn > 0;
};

/** Imports every source; what is refused leaves nothing behind and the rest goes on. */
export const importFeed = async (services: Services, options: FeedImport): Promise<FeedSummary> => {
  if (options.format !== undefined && !formats.some(({ name }) => name === options.format)) {
    throw new Fault("INVALID_ARGUMENT", `there is no format ${JSON.stringify(options.format)}; possible are: ${formats.map(({ name }) => name).join(", ")}`);
  }
  const tally: Tally = { new: 0, changed: 0, withdrawn: 0, unchanged: 0, files: 0, filesUnchanged: 0, refusals: 0, refused: [], passedOver: [], failed: [] };
  const fetch: Fetch = (address) =>
    services.authn.outbound.fetch("feed", address, {
      bytesMax: limits.feedFileBytesMax,
      timeoutMs: limits.feedFetchMs,
      ...(options.signal ? { signal: options.signal } : {}),
    });
  // A source that is misspelt stops all before anything is written.
  const sources: Source[] = [];
  for (const given of options.sources) sources.push(await openSource(given, fetch));
  let wrote = false;
  for (const source of sources) {
    try {
      wrote = (await importSource(services, options, source, tally)) || wrote;
    } catch (thrown) {
      if (!(thrown instanceof Fault) || thrown.code === "INTERNAL" || thrown.code === "ABORTED") throw thrown;
      tally.failed.push(`${source.label}: ${thrown.message}`);
    }
  }
  if (wrote) await services.store.write(settleRecords);
  return tally;
};
