// Table decision_approval_policies: groups whose decisions about findings need an approval (docs/decisions/0092). The kernel writes its
// rows.

import { ancestry } from "#base/uid.ts";
import { columns, expression, flag, number, type Read } from "#db";

const counted = columns({ count: expression("count(*)", number) });

export const countApprovalPolicies = async (rows: Read, root: string): Promise<number> =>
  (await counted.findOne(rows, `select ${counted.list} from decision_approval_policies where left(uid, 40) = $1`, [root]))?.count ?? 0;

const required = columns({ isRequired: expression("true", flag) });

/** Returns whether the group or a group above it has an approval policy. */
export const requiresApproval = async (rows: Read, group: string): Promise<boolean> =>
  (await required.findOne(rows, `select ${required.list} from decision_approval_policies where left(uid, -17) = any($1) limit 1`, [ancestry(group)])) !==
  undefined;
