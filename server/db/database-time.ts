// The database's own clock, which expiry and retention in SQL go by.

import { columns, timeMs } from "./columns.ts";
import type { Read } from "./handle.ts";

const now = columns({ timeMs: timeMs("clock_timestamp()") });

const begun = columns({ timeMs: timeMs("date_trunc('milliseconds', transaction_timestamp())") });

/** When the transaction began, before its first snapshot: whoever was answered earlier is in that. In milliseconds since 1970, rounded down. */
export const readTransactionTime = async (rows: Read): Promise<number> => (await begun.findOne(rows, `select ${begun.list}`, []))?.timeMs ?? Number.NaN;

/** In milliseconds since 1970. */
export const readDatabaseTime = async (rows: Read): Promise<number> => (await now.findOne(rows, `select ${now.list}`, []))?.timeMs ?? Number.NaN;
