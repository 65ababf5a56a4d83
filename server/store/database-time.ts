// The database's clock, which expiry and retention in SQL use.

import { columns, timeMs } from "./columns.ts";
import type { Read } from "./handle.ts";

const now = columns({ timeMs: timeMs("clock_timestamp()") });

const begun = columns({ timeMs: timeMs("date_trunc('milliseconds', transaction_timestamp())") });

/** Returns the transaction's start in milliseconds since 1970, rounded down. Everything acknowledged before is visible to it. */
export const readTransactionTime = async (rows: Read): Promise<number> => (await begun.findOne(rows, `select ${begun.list}`, []))?.timeMs ?? Number.NaN;

/** Returns the current time in milliseconds since 1970. */
export const readDatabaseTime = async (rows: Read): Promise<number> => (await now.findOne(rows, `select ${now.list}`, []))?.timeMs ?? Number.NaN;
