// Reads and checks migrations/.
//
//   first line      -- compatible | -- breaking, then optionally ", outside a transaction"
//   compatible      the previous version of Gantry can run on the new schema
//   breaking        its servers must be stopped first
//   outside a transaction
//                   for `create index concurrently`. Each statement ends with its line and may run twice.

import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { Fault } from "#base/fault.ts";

export interface Migration {
  readonly number: number;
  readonly name: string;
  readonly sha256: string;
  readonly compatible: boolean;
  /** One text in a transaction; otherwise one for each statement. */
  readonly statements: readonly string[];
  readonly inTransaction: boolean;
}

export const migrationFailure = (message: string, cause?: unknown): Fault => new Fault("FAILED_PRECONDITION", message, { cause });

export const migrationsDirectory = join(import.meta.dirname, "migrations");

const headForm = /^-- (compatible|breaking)(, outside a transaction)?\n/;

/** May run twice. (For an update, that is up to the author.) */
const restartableForms = [
  /^create (?:unique )?index concurrently if not exists \w+ on /i,
  /^drop index concurrently if exists /i,
  /^alter table \w+ validate constraint /i,
  /^(?:update|delete from|analyze|vacuum) /i,
];

const splitStatements = (name: string, sql: string): string[] => {
  const statements = sql
    .replaceAll(/^\s*--.*$/gm, "")
    .split(/;\s*?(?:\n|$)/)
    .map((statement) => statement.trim())
    .filter((statement) => statement !== "");
  const other = statements.find((statement) => !restartableForms.some((form) => form.test(statement.replaceAll(/\s+/g, " "))));
  if (other !== undefined) {
    throw migrationFailure(
      `migration ${name} runs outside a transaction, where each statement must be one that may run twice ` +
        `(create index concurrently if not exists, drop index concurrently if exists, validate constraint, update, delete, analyze, vacuum); ` +
        `this one is not: ${other.replaceAll(/\s+/g, " ").slice(0, 80)}`,
    );
  }
  return statements;
};

const parseMigration = (number: number, name: string, sql: string): Migration => {
  const [, kind, outside] = headForm.exec(sql) ?? [];
  if (kind === undefined) {
    throw migrationFailure(
      `migration ${name} must say in its first line whether the version before can run on it: "-- compatible" or "-- breaking", ` +
        `optionally with ", outside a transaction"`,
    );
  }
  const inTransaction = outside === undefined;
  return {
    number,
    name,
    sha256: createHash("sha256").update(sql).digest("hex"),
    compatible: kind === "compatible",
    statements: inTransaction ? [sql] : splitStatements(name, sql),
    inTransaction,
  };
};

/** Throws a Fault that names an invalid file. */
export const readMigrations = async (directory: string = migrationsDirectory): Promise<Migration[]> => {
  const names = (await readdir(directory)).filter((name) => name.endsWith(".sql")).sort();
  return Promise.all(
    names.map(async (name, index) => {
      const number = Number(/^(\d{4})_[a-z0-9_]+\.sql$/.exec(name)?.[1]);
      if (number !== index + 1) throw migrationFailure(`migration ${name} is misnamed: expected number ${index + 1}`);
      // A checkout may have changed line endings.
      return parseMigration(number, name, (await readFile(join(directory, name), "utf8")).replaceAll("\r\n", "\n"));
    }),
  );
};
