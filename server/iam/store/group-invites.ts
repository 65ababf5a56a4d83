// Table group_invites: lookup by the hash of the code, and expiry. The kernel writes the rows.

import { limits } from "#base/limits.ts";
import { timestamp } from "#base/time.ts";
import { columns, expression, flag, nullableTimeMs, type Read, type RowOf, text, textList, timeMs, type Write } from "#db";

export type Invite = RowOf<typeof invite>;

const invite = columns({
  uid: text,
  role: expression("role_uid", text),
  /** The only address that may accept; "" for any holder of the code. */
  email: text,
  singleUse: flag,
  /** The invite depends on the inviter's permissions. */
  invitedBy: text,
  /** The inviter's roles that come from group mappings at sign-in. */
  byMappings: textList,
  expirationTimeMs: timeMs("expiration_time"),
  /** When the granted access expires, if ever. */
  expireTimeMs: nullableTimeMs("expire_time"),
});

const uidOnly = columns({ uid: text });

/** Returns the invite's uid, even if it can no longer be accepted. */
export const findInviteUid = async (rows: Read, codeHash: string): Promise<string | undefined> =>
  (await uidOnly.findOne(rows, `select ${uidOnly.list} from group_invites where code_hash = $1`, [codeHash]))?.uid;

export const lockInvite = (rows: Write, codeHash: string): Promise<Invite | undefined> =>
  invite.findOne(rows, `select ${invite.list} from group_invites where code_hash = $1 for update`, [codeHash]);

/** Returns the expired invites of a role. */
export const listExpiredInvitesOfRole = async (rows: Read, role: string, nowMs: number): Promise<string[]> => {
  const statement = `select ${uidOnly.list} from group_invites where role_uid = $1 and expiration_time <= $2 order by uid`;
  return (await uidOnly.find(rows, statement, [role, timestamp(nowMs)])).map(({ uid }) => uid);
};

/** Returns some invites that expired before `endMs`. */
export const findExpiredInvites = async (rows: Read, endMs: number, except: readonly string[]): Promise<string[]> => {
  const statement = `select ${uidOnly.list} from group_invites where expiration_time < $1 and uid <> all ($3) order by expiration_time limit $2`;
  return (await uidOnly.find(rows, statement, [timestamp(endMs), limits.sweepRowsMax, except])).map(({ uid }) => uid);
};

/** Locks those of these invites that expired before `endMs`, skipping locked rows. */
export const lockExpiredInvites = async (rows: Write, uids: readonly string[], endMs: number): Promise<string[]> => {
  const statement = `select ${uidOnly.list} from group_invites where uid = any ($2) and expiration_time < $1 order by uid for update skip locked`;
  return (await uidOnly.find(rows, statement, [timestamp(endMs), uids])).map(({ uid }) => uid);
};
