// Table terms_acceptances. The kernel reads and writes the rows of the resource.

import { columns, text } from "./columns.ts";
import type { Read } from "./handle.ts";

const acceptance = columns({ docId: text });

export const findAcceptedTerms = async (rows: Read, groups: readonly string[]): Promise<ReadonlySet<string>> => {
  const found = await acceptance.find(rows, `select ${acceptance.list} from terms_acceptances where org_uid = any($1)`, [groups]);
  return new Set(found.map(({ docId }) => docId));
};

const acceptanceUid = columns({ uid: text });

export const findAcceptancesOf = async (rows: Read, groups: readonly string[]): Promise<string[]> => {
  const found = await acceptanceUid.find(rows, `select ${acceptanceUid.list} from terms_acceptances where org_uid = any($1)`, [groups]);
  return found.map(({ uid }) => uid);
};
