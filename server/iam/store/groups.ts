// Table groups: lookups of organizations. The kernel reads and writes the rows of the resource.

import { columns, expression, flag, type Read, type Row, type Table, text } from "#db";

/** Returns the organization's columns in the table's order. */
export const findVerifiedOrganization = async (rows: Read, table: Table, domain: string): Promise<Row | undefined> => {
  const [row] = await rows.query(`select ${table.columns.join(", ")} from ${table.name} where name = $1 and verified and length(uid) = 40`, [domain]);
  return row;
};

const named = columns({ name: text });

/** Returns "" if there is no such group. */
export const findGroupName = async (rows: Read, uid: string): Promise<string> =>
  (await named.findOne(rows, `select ${named.list} from groups where uid = $1`, [uid]))?.name ?? "";

const closure = columns({ isSuspended: expression("status = 'ORG_STATUS_SUSPENDED'", flag) });

export const isOrganizationSuspended = async (rows: Read, uid: string): Promise<boolean> =>
  (await closure.findOne(rows, `select ${closure.list} from groups where uid = $1`, [uid]))?.isSuspended ?? false;

/** Returns the next organizations by uid. */
export const findOrganizations = async (rows: Read, last: string, count: number): Promise<string[]> => {
  const found = await rows.query("select uid from groups where length(uid) = 40 and uid > $1 order by uid limit $2", [last, count]);
  return found.map(([uid]) => uid ?? "");
};
