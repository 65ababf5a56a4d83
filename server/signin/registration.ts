// How a person becomes known here, and a member of a group: by an invite, through an identity provider, or because the
// operator says so. A person's identity has the uid that follows from issuer and subject; there is no other way to make
// one. Everything happens in the caller's transaction, its event included.

import type { Authn, Upstream } from "#authn";
import { capabilityNames, missingCapability, loadRights } from "#authz";
import { blocked, denied, Fault } from "#base/fault.ts";
import type { JsonObject } from "#base/json.ts";
import type { RequestSource } from "#base/origin.ts";
import { timestamp } from "#base/time.ts";
import { ancestry, newChild, parentOf } from "#base/uid.ts";
import { methodByName } from "#contract/catalog.ts";
import { record } from "#outbox";
import { deleteRow, insertRowUnlessTaken, lockRow, type Read, updateRow, type Write } from "#store";
import { inviteCodeHash } from "./invite-code.ts";

export type { Upstream } from "#authn";

/** Where and when somebody registers: what the event says besides the person. */
export interface RegistrationContext extends RequestSource {
  readonly authn: Pick<Authn, "personUid">;
  readonly publicUrl: string;
  readonly nowMs: number;
}

export interface Registered {
  readonly identity: string;
  /** The group that was joined; "" where none was. */
  readonly group: string;
}

/** Somebody who joins: by their issuer's word, or as an identity that is registered already. */
export interface Person {
  readonly uid: string;
  /** Who says that this is their e-mail address. */
  readonly issuer: string;
  readonly email: string;
  readonly act: Readonly<Record<string, string>> | undefined;
}

const nameLengthMax = 255;

/** The first of these texts of which something is left in a name's letters (contract: Identity.name). */
const nameOf = (...texts: readonly (string | undefined)[]): string => {
  for (const text of texts) {
    const plain = (text ?? "").normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
    const name = plain
      .replace(/[^a-z0-9 ._-]+/g, "-")
      .slice(0, nameLengthMax)
      .replace(/^[ -]+|[ -]+$/g, "");
    if (/[a-z0-9]/.test(name)) return name;
  }
  return "person";
};

/** Makes the person's identity unless it is there. True where it was made. */
export const makePerson = async (rows: Write, upstream: Upstream, { authn, nowMs }: Pick<RegistrationContext, "authn" | "nowMs">): Promise<boolean> => {
  const { issuer, subject, email = "", name } = upstream;
  const now = timestamp(nowMs);
  return insertRowUnlessTaken(
    rows,
    { name: "identities", columns: [] },
    {
      uid: authn.personUid(issuer, subject),
      name: nameOf(name, email, subject),
      email,
      issuer,
      subject,
      last_seen_time: now,
      create_time: now,
      update_time: now,
    },
  );
};

/** Keeps what the person's issuer said just now. A name is the organization's to give and stays. */
const keepProfile = async (
  rows: Write,
  uid: string,
  { email, name = "", givenName = "", familyName = "", picture = "" }: Upstream,
  nowMs: number,
): Promise<void> => {
  await updateRow(rows, { name: "identities", columns: [] }, uid, { last_seen_time: timestamp(nowMs), ...(email === undefined ? {} : { email }) });
  await rows.query(
    `insert into profiles (identity_uid, name, given_name, family_name, picture) values ($1, $2, $3, $4, $5)
     on conflict (identity_uid) do update set name = excluded.name, given_name = excluded.given_name, family_name = excluded.family_name, picture = excluded.picture`,
    [uid, name, givenName, familyName, picture],
  );
};

const personOf = ({ authn }: RegistrationContext, { issuer, subject, audience = "", email = "" }: Upstream): Person => ({
  uid: authn.personUid(issuer, subject),
  issuer,
  email,
  act: { iss: issuer, sub: subject, aud: audience, ...(email ? { email } : {}) },
});

/** The person's identity, made where it has to be. True where it was made. */
const settle = async (rows: Write, upstream: Upstream, occasion: RegistrationContext): Promise<boolean> => {
  const made = await makePerson(rows, upstream, occasion);
  await keepProfile(rows, personOf(occasion, upstream).uid, upstream, occasion.nowMs);
  return made;
};

/** Tells of it as the contract declares for Auth.Register, which has no caller yet: the person is who acts. */
const tell = async (rows: Write, { uid, act }: Person, group: string, { publicUrl, requestId, origin, nowMs }: RegistrationContext): Promise<void> => {
  const method = methodByName("chainguard.platform.auth.Auth/Register");
  if (!method?.event) throw new Error("the contract has no event for registrations");
  const body: JsonObject = { identity: uid, ...(group ? { group } : {}) };
  await record(rows, {
    type: method.event.type,
    source: `${publicUrl.replace(/\/$/, "")}${method.http[0]?.template ?? ""}`,
    subject: uid,
    group,
    audience: method.event.audience,
    extensions: group ? { group } : {},
    actor: { subject: uid, ...(act ? { act: { ...act } } : {}) },
    bodyType: method.output.name,
    body,
    requestId,
    time: timestamp(nowMs),
    auditContext: { operation: method.name, bindings: [], origin },
  });
};

/**
 * The audiences for which the identity providers that a group's people sign in through, its own and those above it, name
 * this issuer; undefined where none does.
 */
export const providerAudiences = async (rows: Read, group: string, issuer: string): Promise<string[] | undefined> => {
  const found = await rows.query("select oidc ->> 'clientId' from identity_providers where oidc ->> 'issuer' = $1 and left(uid, -17) = any($2)", [
    issuer,
    ancestry(group),
  ]);
  return found.length === 0 ? undefined : found.flatMap(([client]) => client ?? []);
};

/**
 * Whether the issuer's word on e-mail addresses counts in this group. An issuer can say any address of anybody: one that
 * another organization brought along must not let its people in under the addresses of this one's (attack 24).
 */
export const vouches = async (rows: Read, group: string, issuer: string): Promise<boolean> => {
  const [elsewhere] = await rows.query("select 1 from identity_providers where oidc ->> 'issuer' = $1 limit 1", [issuer]);
  return elsewhere === undefined || (await providerAudiences(rows, group, issuer)) !== undefined;
};

interface Invite {
  readonly uid: string;
  readonly group: string;
  readonly role: string;
  readonly email: string;
  readonly singleUse: boolean;
  readonly invitedBy: string;
}

/** The group of a code's invite, whether or not it can be accepted; undefined for a code that nobody gave out. */
export const inviteGroup = async (rows: Read, code: string): Promise<string | undefined> => {
  const [found] = await rows.query("select uid from group_invites where code_hash = $1", [inviteCodeHash(code)]);
  return found?.[0] ? parentOf(found[0]) : undefined;
};

/** Deletes the invites that promise this role to nobody any more. */
export const dropLapsedInvites = async (rows: Write, role: string, nowMs: number): Promise<void> => {
  await rows.query("delete from group_invites where role_uid = $1 and expiration_time <= $2", [role, timestamp(nowMs)]);
};

/**
 * The invite of this code, held until the transaction ends: of all who bring a code at the same moment one goes on, and
 * the others find out what is left. The group first, in the order in which a group's deletion takes them.
 */
const holdInvite = async (rows: Write, code: string, nowMs: number): Promise<Invite> => {
  const unknown = new Fault("NOT_FOUND", "the invite does not exist, or somebody has joined with it");
  const hash = inviteCodeHash(code);
  const group = await inviteGroup(rows, code);
  if (group === undefined || !(await lockRow(rows, { name: "groups", columns: ["uid"] }, group, "key share"))) throw unknown;
  const [row] = await rows.query(
    "select uid, role_uid, email, single_use, invited_by, (extract(epoch from expiration_time) * 1000)::bigint from group_invites where code_hash = $1 for update",
    [hash],
  );
  if (!row) throw unknown;
  const [uid, role, email, singleUse, invitedBy, expires] = row.map((value) => value ?? "");
  if (Number(expires) <= nowMs) throw blocked("INVITE_EXPIRED", uid ?? "", ["the invite has expired; ask for a new one"]);
  return { uid: uid ?? "", group, role: role ?? "", email: email ?? "", singleUse: singleUse === "t", invitedBy: invitedBy ?? "" };
};

/**
 * Whether `by` could bind the role in the group now, with rights that outlast a session. Asked when an invite is made
 * and again when it is accepted: a code is a promise of its maker, and nobody promises what they do not hold any more,
 * because they lost it or because the role has grown (decisions: Access). The role stays until the transaction ends.
 */
export const mayPromise = async (rows: Write, by: string, role: string, group: string, nowMs: number): Promise<boolean> => {
  const row = await lockRow(rows, { name: "roles", columns: ["capabilities"] }, role, "key share");
  const rights = await loadRights(rows, by, nowMs);
  if (!row?.[0] || !rights) return false;
  return missingCapability(rights, [...capabilityNames(row[0]), "role_bindings.create"], group) === undefined;
};

/** Binds the person; a binding that would end goes on. True where something changed. */
const join = async (rows: Write, identity: string, group: string, role: string, nowMs: number): Promise<boolean> => {
  const changed = await rows.query(
    `insert into role_bindings as held (uid, identity_uid, role_uid, create_time, update_time) values ($1, $2, $3, $4, $4)
     on conflict (left(uid, -17), identity_uid, role_uid) do update set expire_time = null, update_time = excluded.update_time
     where held.expire_time is not null returning 1`,
    [newChild(group), identity, role, timestamp(nowMs)],
  );
  return changed.length > 0;
};

/** However an address is written. In ASCII alone: other letters fold onto these too (the Kelvin sign is a k), in other hands. */
const folded = (email: string): string => email.replace(/[A-Z]/g, (letter) => letter.toLowerCase());

const accept = async (rows: Write, person: Person, code: string, occasion: RegistrationContext, settled: () => Promise<boolean>): Promise<Registered> => {
  const { nowMs } = occasion;
  const invite = await holdInvite(rows, code, nowMs);
  const fits = invite.email === "" || (folded(invite.email) === folded(person.email) && (await vouches(rows, invite.group, person.issuer)));
  if (!fits) {
    throw denied("Permission denied: the invite is for another e-mail address, or yours is not verified");
  }
  if (!(await mayPromise(rows, invite.invitedBy, invite.role, invite.group, nowMs))) {
    throw blocked("INVITE_NOT_COVERED", invite.uid, ["whoever made the invite may not give what it promises any more; ask for a new one"]);
  }
  const made = await settled();
  const joined = await join(rows, person.uid, invite.group, invite.role, nowMs);
  if (joined && invite.singleUse) await deleteRow(rows, { name: "group_invites", columns: [] }, invite.uid);
  if (made || joined) await tell(rows, person, invite.group, occasion);
  return { identity: person.uid, group: invite.group };
};

/**
 * Makes the person's identity unless it is there, and gives what the invite promises. Again by the same person it
 * changes nothing. Throws NOT_FOUND for a code that is unknown or used up, FAILED_PRECONDITION for one that has expired
 * or whose maker may not promise it any more, PERMISSION_DENIED where it is for another e-mail address.
 */
export const acceptInvite = (
  rows: Write,
  { upstream, code, ...occasion }: RegistrationContext & { readonly upstream: Upstream; readonly code: string },
): Promise<Registered> => accept(rows, personOf(occasion, upstream), code, occasion, () => settle(rows, upstream, occasion));

/** The same for a person who is registered and shows a token of ours. */
export const acceptInviteAs = (
  rows: Write,
  { person, code, ...occasion }: RegistrationContext & { readonly person: Person; readonly code: string },
): Promise<Registered> => accept(rows, person, code, occasion, async () => false);

/** Makes the person's identity unless it is there, and nothing else: for whom others may bind. */
export const register = async (rows: Write, { upstream, ...occasion }: RegistrationContext & { readonly upstream: Upstream }): Promise<Registered> => {
  const person = personOf(occasion, upstream);
  if (await settle(rows, upstream, occasion)) await tell(rows, person, "", occasion);
  return { identity: person.uid, group: "" };
};

/**
 * For every sign-in through an identity provider: makes the person's identity unless it is there and, the first time
 * that this person comes through this provider, gives its default role at its group (authentication.md: 7).
 */
export const registerThroughProvider = async (
  rows: Write,
  {
    upstream,
    provider,
    ...occasion
  }: RegistrationContext & {
    readonly upstream: Upstream;
    readonly provider: { readonly uid: string; readonly group: string; readonly defaultRole: string };
  },
): Promise<Registered> => {
  const person = personOf(occasion, upstream);
  const { uid, group, defaultRole } = provider;
  const now = timestamp(occasion.nowMs);
  await settle(rows, upstream, occasion);
  const first = await insertRowUnlessTaken(rows, { name: "provider_arrivals", columns: [] }, { provider_uid: uid, identity_uid: person.uid, create_time: now });
  if (first) {
    const role = await lockRow(rows, { name: "roles", columns: ["uid"] }, defaultRole, "key share");
    if (role)
      await insertRowUnlessTaken(
        rows,
        { name: "role_bindings", columns: [] },
        { uid: newChild(group), identity_uid: person.uid, role_uid: defaultRole, create_time: now, update_time: now },
      );
    await tell(rows, person, group, occasion);
  }
  return { identity: person.uid, group };
};
