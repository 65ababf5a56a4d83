// Roles that group membership at an identity provider grants.

import { columns, expression, type Read, text } from "#db";

export interface MappedRole {
  readonly role: string;
  readonly scope: string;
}

const mappedRole = columns<MappedRole>({ role: expression("role_uid", text), scope: text });

export const listMappedRoles = (rows: Read, provider: string): Promise<MappedRole[]> =>
  mappedRole.find(rows, `select distinct ${mappedRole.list} from external_group_role_mappings where identity_provider_uid = $1`, [provider]);
