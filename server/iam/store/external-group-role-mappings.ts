// Roles that group membership at an identity provider grants.

import { columns, expression, type Read, type RowOf, text } from "#db";

export type MappedRole = RowOf<typeof mappedRole>;

const mappedRole = columns({ role: expression("role_uid", text), scope: text });

export const listMappedRoles = (rows: Read, provider: string): Promise<MappedRole[]> =>
  mappedRole.find(rows, `select distinct ${mappedRole.list} from external_group_role_mappings where identity_provider_uid = $1`, [provider]);
