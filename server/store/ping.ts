// Whether the database answers.

import type { Read } from "./handle.ts";

/** True where it does. Throws a Fault where it cannot be reached. */
export const ping = async (rows: Read): Promise<boolean> => (await rows.query("select 1")).length === 1;
