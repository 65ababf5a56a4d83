// Roles, as somebody who asks for their own rights is shown them; the resource's own rows go through the kernel.

import { columns, expression, text, textList } from "./columns.ts";
import type { Read } from "./handle.ts";

export interface KnownRole {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  /** Symbols. */
  readonly capabilities: readonly string[];
}

const knownRole = columns<KnownRole>({ id: expression("uid", text), name: text, description: text, capabilities: textList });

/** The built-in roles, and those that the identity is bound to. */
export const findKnownRoles = (rows: Read, identity: string): Promise<KnownRole[]> =>
  knownRole.find(
    rows,
    `select ${knownRole.list} from roles
     where length(uid) = 40 or uid in (select role_uid from role_bindings where identity_uid = $1) order by uid desc`,
    [identity],
  );
