// Format of a backup: members in a tar file or directory, in this order.
//
//   backup.json                      ID, time, versions, migrations, tables and their columns
//   key.json                         with --with-key: the secret key, encrypted with a passphrase (key-envelope.ts)
//   tables/NAME/NNNNNN.copy.zst      rows in PostgreSQL's COPY format, in batches of whole rows, each a Zstandard frame
//   blobs/sha256/AB/HEX              the bytes of a blob by their digest
//   SHA256SUMS                       digests of all members before it, for sha256sum
//   manifest.json                    row counts by table, sequences, blobs, and the digest of SHA256SUMS
//   manifest.seal                    seal of manifest.json by the secret key
//
// The last member is written once all others are durable, so a truncated backup lacks it. Tampering without the secret key is
// detected.

import { Fault } from "#base/fault.ts";
import { isObject, type Json, type JsonObject, text, texts } from "#base/json.ts";
import type { AppliedMigration, CopiedSequence, CopiedTable } from "#db";

export const formatName = "gantry backup 1";

export const headName = "backup.json";
export const keyName = "key.json";
export const sumsName = "SHA256SUMS";
export const manifestName = "manifest.json";
export const sealName = "manifest.seal";

export const pieceName = (table: string, ordinal: number): string => `tables/${table}/${String(ordinal).padStart(6, "0")}.copy.zst`;

export const blobName = (hex: string): string => `blobs/sha256/${hex.slice(0, 2)}/${hex}`;

/** Kind of a member by its name; undefined for unknown names (attack 183). */
export type MemberKind =
  | { readonly is: "piece"; readonly table: string; readonly ordinal: number }
  | { readonly is: "blob"; readonly hex: string }
  | { readonly is: "text" };

const textNames: ReadonlySet<string> = new Set([headName, keyName, manifestName, sealName]);

export const memberKindOf = (name: string): MemberKind | undefined => {
  if (textNames.has(name)) return { is: "text" };
  const piece = /^tables\/([a-z][a-z0-9_]{0,62})\/(\d{6,9})\.copy\.zst$/.exec(name);
  if (piece) return { is: "piece", table: piece[1] ?? "", ordinal: Number(piece[2]) };
  const blob = /^blobs\/sha256\/([0-9a-f]{2})\/(\1[0-9a-f]{62})$/.exec(name);
  return blob ? { is: "blob", hex: blob[2] ?? "" } : undefined;
};

export interface BackupHead {
  readonly format: string;
  /** 128 random bits in hex. */
  readonly id: string;
  /** Time of the snapshot. */
  readonly createTime: string;
  readonly gantryVersion: string;
  readonly serverVersion: string;
  readonly migrations: readonly AppliedMigration[];
  /** Ordered, so that references follow their targets. */
  readonly tables: readonly CopiedTable[];
  /** As "2026-11". */
  readonly auditMonths: readonly string[];
  /** The sealed ID, which identifies the secret key. */
  readonly keyCheck: string;
}

export interface BackupManifest {
  readonly id: string;
  readonly members: number;
  readonly sums: string;
  readonly rows: Readonly<Record<string, number>>;
  readonly sequences: readonly CopiedSequence[];
  readonly blobs: { readonly count: number; readonly sizeBytes: number };
  /** Digests in hex of missing or damaged blobs, which a restore hides. */
  readonly brokenBlobs: readonly string[];
  /** Last event position of the snapshot. */
  readonly position: number;
}

export const brokenBackup = (problem: string, cause?: unknown): Fault => new Fault("DATA_LOSS", `the backup is incomplete: ${problem}`, { cause });

const parsed = (name: string, content: string): JsonObject => {
  try {
    const value: Json = JSON.parse(content);
    if (isObject(value)) return value;
  } catch {
    // Handled below.
  }
  throw brokenBackup(`${name} was not written by Gantry`);
};

const objects = (value: Json | undefined): JsonObject[] => (Array.isArray(value) ? value.filter(isObject) : []);

const wholeNumber = (value: Json | undefined): number => (Number.isSafeInteger(value) && Number(value) >= 0 ? Number(value) : 0);

const nameForm = /^[a-z][a-z0-9_]{0,62}$/;

/** Parses backup.json. Throws for an unknown format. */
export const readHead = (content: string): BackupHead => {
  const head = parsed(headName, content);
  if (text(head, "format") !== formatName)
    throw new Fault("FAILED_PRECONDITION", `it is not a ${formatName} but ${JSON.stringify(text(head, "format").slice(0, 40))}`);
  const tables = objects(head.tables).map((table): CopiedTable => ({ name: text(table, "name"), columns: texts(table, "columns") }));
  if (tables.some(({ name, columns }) => !nameForm.test(name) || columns.length === 0 || columns.some((column) => !nameForm.test(column))))
    throw brokenBackup(`${headName} names a table that none of ours is`);
  if (!/^[0-9a-f]{32}$/.test(text(head, "id"))) throw brokenBackup(`${headName} has no id`);
  return {
    format: formatName,
    id: text(head, "id"),
    createTime: text(head, "createTime"),
    gantryVersion: text(head, "gantryVersion"),
    serverVersion: text(head, "serverVersion"),
    migrations: objects(head.migrations).map((each) => ({
      number: wholeNumber(each.number),
      name: text(each, "name"),
      sha256: text(each, "sha256"),
      compatible: each.compatible === true,
    })),
    tables,
    auditMonths: texts(head, "auditMonths").filter((month) => /^\d{4}-\d{2}$/.test(month)),
    keyCheck: text(head, "keyCheck"),
  };
};

export const readManifest = (content: string): BackupManifest => {
  const manifest = parsed(manifestName, content);
  const { rows, blobs } = manifest;
  return {
    id: text(manifest, "id"),
    members: wholeNumber(manifest.members),
    sums: text(manifest, "sums"),
    rows: isObject(rows) ? Object.fromEntries(Object.entries(rows).map(([table, count]) => [table, wholeNumber(count)])) : {},
    sequences: objects(manifest.sequences).map((each) => ({
      table: text(each, "table"),
      column: text(each, "column"),
      value: text(each, "value"),
      isCalled: each.isCalled === true,
    })),
    blobs: isObject(blobs) ? { count: wholeNumber(blobs.count), sizeBytes: wholeNumber(blobs.sizeBytes) } : { count: 0, sizeBytes: 0 },
    brokenBlobs: texts(manifest, "brokenBlobs"),
    position: wholeNumber(manifest.position),
  };
};

/** Formats a line of SHA256SUMS. */
export const sumLine = (hex: string, name: string): string => `${hex}  ${name}\n`;
