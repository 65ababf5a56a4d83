// The database's clock, for expiry and retention.

import { columns, timeMs } from "./columns.ts";
import type { Read } from "./handle.ts";

const now = columns({ timeMs: timeMs("clock_timestamp()") });

const begun = columns({ timeMs: timeMs("date_trunc('milliseconds', transaction_timestamp())") });

/** Returns the transaction's start, rounded down. Everything acknowledged before is visible. */
export const readTransactionTime = async (rows: Read): Promise<number> => (await begun.findOne(rows, `select ${begun.list}`, []))?.timeMs ?? Number.NaN;

export const readDatabaseTime = async (rows: Read): Promise<number> => (await now.findOne(rows, `select ${now.list}`, []))?.timeMs ?? Number.NaN;
