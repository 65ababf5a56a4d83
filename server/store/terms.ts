// Which documents count as accepted at a place.

import type { Read } from "./handle.ts";

/** The ids of the documents that one of these groups has accepted. */
export const findAcceptedTerms = async (rows: Read, groups: readonly string[]): Promise<ReadonlySet<string>> => {
  const found = await rows.query("select doc_id from terms_acceptances where org_uid = any($1)", [groups]);
  return new Set(found.flatMap(([id]) => id ?? []));
};
