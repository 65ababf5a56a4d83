// Prints the verification of the audit log, as text or JSON, and reads the output of earlier runs.

import { appendFileSync, createReadStream, readFileSync, rmSync } from "node:fs";
import { createInterface } from "node:readline";
import { type Application, type AuditRestore, type AuditVerdict, verifyAudit, verifyRecords } from "#application";
import { Fault } from "#base/fault.ts";
import type { Progress } from "./progress-bar.ts";

export interface AuditReport {
  /** Verify only the log of this group's organization. */
  readonly group: string | undefined;
  /** File with the JSON output of an earlier run. */
  readonly known: string | undefined;
  /** File for the progress of an interrupted run. */
  readonly resume?: string | undefined;
  readonly json: boolean;
  readonly write: (line: string) => void;
  readonly progress: (progress: Progress) => void;
}

type KnownEnds = Map<string, { readonly sequence: number; readonly hash: string }>;

/**
 * One JSON line per organization, {organization, entries, last: {sequence, hash} or null, problems, notes}, and one for all,
 * {problems, restores}.
 */
const readKnownEnds = (file: string): KnownEnds => {
  let content: string;
  try {
    content = readFileSync(file, "utf8");
  } catch (cause) {
    throw new Fault("INVALID_ARGUMENT", `--known must name a readable file: ${file}`, { cause });
  }
  const known: KnownEnds = new Map();
  for (const [index, line] of content.split("\n").entries()) {
    if (line.trim() === "") continue;
    try {
      const { organization, last, problems } = JSON.parse(line) as {
        organization?: unknown;
        last?: { sequence?: unknown; hash?: unknown } | null;
        problems?: unknown;
      };
      // Lines without an end to compare: logs that lacked a seal or were restored, and the summary.
      if (last == null && Array.isArray(problems)) continue;
      if (typeof organization !== "string" || typeof last?.sequence !== "number" || typeof last.hash !== "string")
        throw new Error("organization, last.sequence or last.hash is missing");
      known.set(organization, { sequence: last.sequence, hash: last.hash });
    } catch (cause) {
      throw new Fault("INVALID_ARGUMENT", `--known: line ${index + 1} of ${file} must be output of gantry audit verify --json`, { cause });
    }
  }
  return known;
};

interface ProgressFile {
  readonly lines: readonly string[];
  readonly note: (line: string) => void;
  readonly remove: () => void;
}

/** Reads the progress of an interrupted run, if there is one. Throws a Fault if the file can be neither read nor written. */
const openProgressFile = (file: string): ProgressFile => {
  const translated = <T>(work: () => T): T => {
    try {
      return work();
    } catch (cause) {
      throw new Fault("INVALID_ARGUMENT", `--resume must name a file that can be written: ${file}`, { cause });
    }
  };
  const append = (text: string): void => translated(() => appendFileSync(file, text, { mode: 0o600 }));
  append("");
  return {
    lines: translated(() => readFileSync(file, "utf8").split("\n")).filter((line) => line !== ""),
    note: (line) => append(`${line}\n`),
    remove: () => rmSync(file, { force: true }),
  };
};

const stateOf = ({ entries, last, notes }: AuditVerdict): string => {
  const count = entries === 1 ? "1 entry" : `${entries} entries`;
  return [...(last ? [`intact: ${count}, the last is ${last.sequence} with hash ${last.hash}`] : []), ...notes].join("; ");
};

const verdictLine = (verdict: AuditVerdict): string => {
  const { organization, name, problems } = verdict;
  return `${organization} ${name}  ${problems.length === 0 ? stateOf(verdict) : `NOT INTACT: ${problems.join("; ")}`}`;
};

const verdictJson = ({ organization, entries, last, problems, notes }: AuditVerdict): string =>
  JSON.stringify({ organization, entries, last: last ?? null, problems, ...(notes.length > 0 ? { notes } : {}) });

const restoreLine = ({ restoreTime, backupId, stateTime, position, by }: AuditRestore): string => {
  const from = backupId === "" ? "an earlier state of the database" : `backup ${backupId}`;
  return `all logs  restored at ${restoreTime} by ${by}, from ${from} of ${stateTime}, whose last event was ${position}`;
};

/** Writes a line for each log and the problems of all together. Returns true if every log is intact. */
export const reportAudit = async (application: Application, { group, known, resume, json, write, progress }: AuditReport): Promise<boolean> => {
  const verdicts: AuditVerdict[] = [];
  const file = resume === undefined ? undefined : openProgressFile(resume);
  const all = await verifyAudit(application, {
    group,
    known: known === undefined ? new Map() : readKnownEnds(known),
    ...(file === undefined ? {} : { earlier: file.lines, note: file.note }),
    progress,
    report(verdict) {
      verdicts.push(verdict);
      write(json ? verdictJson(verdict) : verdictLine(verdict));
    },
  });
  file?.remove();
  const { problems: together, restores } = all;
  if (!json) {
    for (const restore of restores) write(restoreLine(restore));
    for (const problem of together) write(`all logs  NOT INTACT: ${problem}`);
  } else if (together.length > 0 || restores.length > 0) write(JSON.stringify({ problems: together, ...(restores.length > 0 ? { restores } : {}) }));
  if (verdicts.length === 0 && !json) write("no entries yet");
  return together.length === 0 && verdicts.every(({ problems }) => problems.length === 0);
};

/** Yields the lines of a file of any size. Throws a Fault if it cannot be read. */
async function* linesOfFile(file: string): AsyncGenerator<string> {
  const stream = createReadStream(file, "utf8");
  // Read errors end the lines and are thrown afterwards.
  const failure = Promise.withResolvers<Error | undefined>();
  stream.once("error", (error) => failure.resolve(error)).once("close", () => failure.resolve(undefined));
  yield* createInterface({ input: stream, crlfDelay: Number.POSITIVE_INFINITY });
  const error = await failure.promise;
  if (error) throw new Fault("INVALID_ARGUMENT", `--file must name a readable file: ${error.message}`, { cause: error });
}

/** The same for an exported file or one written by an audit target, by the file alone. */
export const reportAuditFile = async ({
  file,
  known,
  json,
  write,
}: Pick<AuditReport, "known" | "json" | "write"> & { readonly file: string }): Promise<boolean> => {
  const { verdicts, otherLines } = await verifyRecords(linesOfFile(file), known === undefined ? new Map() : readKnownEnds(known));
  for (const { root, first, last, entries, repeated, problems } of verdicts) {
    if (json) write(JSON.stringify({ organization: root, first, entries, repeated, last, problems }));
    else if (problems.length > 0) write(`${root}  NOT INTACT: ${problems.join("; ")}`);
    else write(`${root}  intact: ${entries === 1 ? "1 entry" : `${entries} entries`} from ${first} on, the last is ${last.sequence} with hash ${last.hash}`);
  }
  if (otherLines > 0)
    write(json ? JSON.stringify({ otherLines }) : `${otherLines === 1 ? "1 line is not an entry" : `${otherLines} lines are not entries`}, and skipped`);
  if (verdicts.length === 0 && !json) write("NOT INTACT: the file has no entries. It is not an audit log, or its entries were removed");
  // An empty file is not intact: emptying it must not pass (attack 241).
  return verdicts.length > 0 && verdicts.every(({ problems }) => problems.length === 0);
};
