// SQL for missing parts of a table. It is only displayed, never run.

export const addColumnStatement = (table: string, column: string, declaration: string): string => `alter table ${table} add column ${column} ${declaration}`;

export const addPrimaryKeyStatement = (table: string, column: string): string => `alter table ${table} add primary key (${column})`;

export interface IndexStatement {
  readonly name: string;
  readonly table: string;
  readonly keys: readonly string[];
  readonly unique?: true;
  readonly method?: "gin";
  readonly include?: readonly string[];
  readonly where?: string;
}

export const createIndexStatement = ({ name, table, keys, unique, method, include, where }: IndexStatement): string =>
  [
    `create ${unique ? "unique " : ""}index ${name} on ${table}`,
    ...(method ? [`using ${method}`] : []),
    `(${keys.join(", ")})`,
    ...(include ? [`include (${include.join(", ")})`] : []),
    ...(where ? [`where ${where}`] : []),
  ].join(" ");

/** They maintain the counts. */
export const countTriggers = [
  { after: "insert", calls: "resources_made", rows: "new table as made" },
  { after: "delete", calls: "resources_gone", rows: "old table as gone" },
] as const;

export const createCountTriggerStatement = (table: string, { after, calls, rows }: (typeof countTriggers)[number]): string =>
  [
    `create trigger ${table}_counted_${after === "insert" ? "made" : "gone"} after ${after} on ${table}`,
    `referencing ${rows} for each statement execute function ${calls}()`,
  ].join(" ");
