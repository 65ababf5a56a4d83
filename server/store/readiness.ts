// Whether the database answers: what the server's readiness hangs on.

import type { Read } from "./handle.ts";

/** True where a statement comes back. Throws a Fault where the database cannot be reached. */
export const isReadable = async (rows: Read): Promise<boolean> => (await rows.query("select 1")).length === 1;
