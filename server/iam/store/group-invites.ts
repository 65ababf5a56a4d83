// Invites, found by the hash of their code; the resource's own rows go through the kernel.

import { limits } from "#base/limits.ts";
import { timestamp } from "#base/time.ts";
import { columns, expression, flag, nullableTimeMs, type Read, text, textList, timeMs, type Write } from "#db";

export interface Invite {
  readonly uid: string;
  readonly role: string;
  /** Of whom it is for alone; "" for whoever brings the code. */
  readonly email: string;
  readonly singleUse: boolean;
  /** Whose rights the promise stands on. */
  readonly invitedBy: string;
  /** Those of them that a sign-in's groups gave, by mappings. */
  readonly byMappings: readonly string[];
  /** Milliseconds since 1970. */
  readonly expirationTimeMs: number;
  /** When what it gives ends; undefined: never. */
  readonly expireTimeMs: number | undefined;
}

const invite = columns<Invite>({
  uid: text,
  role: expression("role_uid", text),
  email: text,
  singleUse: flag,
  invitedBy: text,
  byMappings: textList,
  expirationTimeMs: timeMs("expiration_time"),
  expireTimeMs: nullableTimeMs("expire_time"),
});

const uidOnly = columns({ uid: text });

/** The uid of a code's invite, whether or not it can be accepted. */
export const findInviteUid = async (rows: Read, codeHash: string): Promise<string | undefined> =>
  (await uidOnly.findOne(rows, `select ${uidOnly.list} from group_invites where code_hash = $1`, [codeHash]))?.uid;

/** The invite of a code, locked until the transaction ends. */
export const lockInvite = (rows: Write, codeHash: string): Promise<Invite | undefined> =>
  invite.findOne(rows, `select ${invite.list} from group_invites where code_hash = $1 for update`, [codeHash]);

/** The invites that promise this role to nobody any more. */
export const listExpiredInvitesOfRole = async (rows: Read, role: string, nowMs: number): Promise<string[]> => {
  const statement = `select ${uidOnly.list} from group_invites where role_uid = $1 and expiration_time <= $2 order by uid`;
  return (await uidOnly.find(rows, statement, [role, timestamp(nowMs)])).map(({ uid }) => uid);
};

/** Some of the invites whose time was over before `endMs`, without `except`. */
export const findExpiredInvites = async (rows: Read, endMs: number, except: readonly string[]): Promise<string[]> => {
  const statement = `select ${uidOnly.list} from group_invites where expiration_time < $1 and uid <> all ($3) order by expiration_time limit $2`;
  return (await uidOnly.find(rows, statement, [timestamp(endMs), limits.sweepRowsMax, except])).map(({ uid }) => uid);
};

/** Those of these invites whose time was over before `endMs`, kept from others until the transaction ends. */
export const lockExpiredInvites = async (rows: Write, uids: readonly string[], endMs: number): Promise<string[]> => {
  const statement = `select ${uidOnly.list} from group_invites where uid = any ($2) and expiration_time < $1 order by uid for update skip locked`;
  return (await uidOnly.find(rows, statement, [timestamp(endMs), uids])).map(({ uid }) => uid);
};
