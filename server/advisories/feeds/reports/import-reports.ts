// Imports scanner reports from files. Each belongs to an image in a repository, by the digest in the report or command. A second
// run writes nothing.

import { createReadStream } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { join, relative } from "node:path";
import { Fault } from "#base/fault.ts";
import { isUid } from "#base/uid.ts";
import type { Services } from "#kernel";
import { findRepoByName } from "#registry/store";
import { findReposNamed, findReposOfImages, insertVulnReports, noChanges } from "#advisories/store";
import { findRow } from "#db";
import { recordImport } from "../import-event.ts";
import { openDocumentReader, type ReadDocumentStream } from "../sbom/open-reader.ts";
import { type ReportFacts, reportDraft, type ReportReading } from "./read-report.ts";

export interface ReportImport {
  readonly group: string;
  /** Files and directories, recursively. */
  readonly sources: readonly string[];
  /** Name, path or uid; undefined for all with the image. */
  readonly repo?: string | undefined;
  /** Undefined for that in the report. */
  readonly digest?: string | undefined;
  readonly progress: (progress: { readonly done: number; readonly total: number; readonly what: string }) => void;
}

export interface ReportImportSummary {
  readonly files: number;
  readonly new: number;
  readonly unchanged: number;
  /** "scan.json: is no report …" */
  readonly refused: readonly string[];
}

const wantedForm = /\.(?:json|sarif)(?:\.gz)?$/i;

/** Untrusted, and shown in terminals (attack 28). */
const printable = (name: string): string => name.replace(/[\u0000-\u001f\u007f-\u009f]/g, "?");

interface ReportFile {
  readonly path: string;
  readonly name: string;
}

const listReports = async (source: string): Promise<ReportFile[]> => {
  const found = await stat(source).catch(() => undefined);
  if (!found) throw new Fault("INVALID_ARGUMENT", `file or directory not found: ${printable(source)}`);
  if (!found.isDirectory()) return [{ path: source, name: printable(source.replace(/^.*\//, "")) }];
  const entries = await readdir(source, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile() && wantedForm.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
    .sort()
    .map((path) => ({ path, name: printable(relative(source, path)) }));
};

/** Returns the repository; throws if there is none or several. */
const findNamed = async ({ store }: Services, group: string, repo: string): Promise<string> => {
  const uids = async (): Promise<string[]> => {
    if (isUid(repo)) return (await findRow(store.read, { name: "repos", columns: ["uid"] }, repo)) ? [repo] : [];
    if (!repo.includes("/")) return findReposNamed(store.read, [group], repo);
    const found = await findRepoByName(store.read, repo);
    return found ? [found.uid] : [];
  };
  const [found, other] = (await uids()).filter((uid) => uid.startsWith(`${group}/`));
  if (found === undefined) throw new Fault("INVALID_ARGUMENT", `repo ${printable(repo)} not found in the group`);
  if (other !== undefined)
    throw new Fault("INVALID_ARGUMENT", `repo ${printable(repo)} is ambiguous in the group: several repos have this name. Give its path or its uid`);
  return found;
};

interface Place {
  readonly repoUid: string;
  readonly digest: string;
}

const refuse = (reason: string): never => {
  throw new Fault("INVALID_ARGUMENT", reason);
};

/** Finds the images by the first of the report's digests that a repository has. */
const placesOf = async ({ store }: Services, { group, digest }: ReportImport, repo: string | undefined, report: ReportFacts): Promise<Place[]> => {
  const digests = digest === undefined ? report.digests : [digest];
  if (digests.length === 0) return refuse("names no image digest. Give it with --digest");
  const known = await findReposOfImages(store.read, group, digests);
  if (repo !== undefined) return [{ repoUid: repo, digest: known.find(({ repoUid }) => repoUid === repo)?.digest ?? digests[0] ?? "" }];
  const [first] = known;
  if (!first) return refuse(`no repo of the group has the image ${digests.join(" or ")}. Name the repo with --repo`);
  return known.filter((place) => place.digest === first.digest);
};

interface ImportRun {
  readonly services: Services;
  readonly options: ReportImport;
  readonly repo: string | undefined;
  readonly requestId: string;
  readonly read: ReadDocumentStream<ReportReading>;
}

/** Returns true if the report is new in a repository. */
const importFile = async ({ services, options, repo, requestId, read }: ImportRun, { path, name }: ReportFile): Promise<boolean> => {
  const reading = await read(createReadStream(path), []).catch((error: unknown) =>
    refuse(`cannot be read: ${error instanceof Error ? error.message.replace(/,.*/, "") : String(error)}`),
  );
  if ("problem" in reading) return refuse(reading.problem);
  if ("isOther" in reading) return refuse("is a statement of another kind");
  const { report } = reading;
  const places = await placesOf(services, options, repo, report);
  const nowMs = services.clock();
  return services.store.write(async (rows) => {
    const drafts = places.map((place) => reportDraft(report, place, "", nowMs));
    const made = await insertVulnReports(rows, drafts, nowMs);
    await recordImport(rows, services, {
      kind: "reports",
      group: options.group,
      source: name,
      operation: "gantry import reports",
      requestId,
      changes: { group: { ...noChanges, new: made }, everybody: noChanges },
      unchanged: places.length - made,
      refused: 0,
    });
    return made > 0;
  });
};

const digestForm = /^sha256:[0-9a-f]{64}$/;

/** One at a time. A refused file is skipped, and the import continues. */
export const importReports = async (services: Services, options: ReportImport): Promise<ReportImportSummary> => {
  const { group, sources, digest, progress } = options;
  if (digest !== undefined && !digestForm.test(digest)) throw new Fault("INVALID_ARGUMENT", "--digest must be sha256: and 64 hex characters");
  const repo = options.repo === undefined ? undefined : await findNamed(services, group, options.repo);
  const files = (await Promise.all(sources.map(listReports))).flat();
  const read = openDocumentReader<ReportReading>({ script: new URL("./worker.ts", import.meta.url) });
  const run: ImportRun = { services, options, repo, requestId: crypto.randomUUID(), read };
  const summary = { files: files.length, new: 0, unchanged: 0 };
  const refused: string[] = [];
  for (const [done, file] of files.entries()) {
    progress({ done, total: files.length, what: file.name });
    try {
      if (await importFile(run, file)) summary.new++;
      else summary.unchanged++;
    } catch (thrown) {
      if (!(thrown instanceof Fault) || thrown.code !== "INVALID_ARGUMENT") throw thrown;
      refused.push(`${file.name}: ${printable(thrown.message)}`);
    }
  }
  progress({ done: files.length, total: files.length, what: "" });
  return { ...summary, refused };
};
