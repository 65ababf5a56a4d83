// The migrations of this code: the numbered files of migrations/, read and checked.
//
//   first line      -- compatible | -- breaking, then optionally ", outside a transaction"
//   compatible      the version of Gantry before can run on the schema after it
//   breaking        it cannot: its servers have to be stopped first
//   outside a transaction
//                   for `create index concurrently`: each statement ends its line and may run twice, for a migration that
//                   was cut off runs again from its first statement

import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { Fault } from "#base/fault.ts";

export interface Migration {
  readonly number: number;
  /** The file's. */
  readonly name: string;
  readonly sha256: string;
  /** The version of Gantry before can run on the schema after it. */
  readonly compatible: boolean;
  /** One for all in one transaction; several, each on its own, outside of one. */
  readonly statements: readonly string[];
  readonly inTransaction: boolean;
}

export const migrationFailure = (message: string, cause?: unknown): Fault => new Fault("FAILED_PRECONDITION", message, { cause });

/** Where this code's migrations are. */
export const migrationsDirectory = join(import.meta.dirname, "migrations");

const headForm = /^-- (compatible|breaking)(, outside a transaction)?\n/;

/** Statements that do no harm when they run twice. (Whether an update is one, its author knows.) */
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

/** All migrations in their order. Throws a Fault that names a file which cannot be one. */
export const readMigrations = async (directory: string = migrationsDirectory): Promise<Migration[]> => {
  const names = (await readdir(directory)).filter((name) => name.endsWith(".sql")).sort();
  return Promise.all(
    names.map(async (name, index) => {
      const number = Number(/^(\d{4})_[a-z0-9_]+\.sql$/.exec(name)?.[1]);
      if (number !== index + 1) throw migrationFailure(`migration ${name} is misnamed: expected number ${index + 1}`);
      // A checkout may have changed line ends; that is the same migration.
      return parseMigration(number, name, (await readFile(join(directory, name), "utf8")).replaceAll("\r\n", "\n"));
    }),
  );
};
