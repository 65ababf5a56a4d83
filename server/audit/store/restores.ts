// Table restores. Written only by the owner's connection and never deleted.

import { columns, number, type Read, type RowOf, text, timeMs, type Write } from "#db";

export type RestoreRow = RowOf<typeof restore>;

const restore = columns({
  /** Positions continue after it. */
  base: number,
  restoreMs: timeMs("restore_time"),
  sealed: text,
});

export const findRestores = (rows: Read): Promise<RestoreRow[]> => restore.find(rows, `select ${restore.list} from restores order by base`);

export const insertRestore = async (rows: Write, { base, restoreMs, sealed }: RestoreRow): Promise<void> => {
  await rows.query("insert into restores (base, restore_time, sealed) values ($1, $2, $3)", [base, new Date(restoreMs).toISOString(), sealed]);
};
