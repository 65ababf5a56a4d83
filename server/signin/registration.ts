// How a person becomes known here, and a member of a group: by an invite, through an identity provider, or because the
// operator says so. A person's identity has the uid that follows from issuer and subject; there is no other way to make
// one. Everything happens in the caller's transaction, its event included.

import type { Authn, Upstream } from "#authn";
import { capabilityNames, loadRights, missingCapability } from "#authz";
import { blocked, denied, Fault } from "#base/fault.ts";
import type { JsonObject } from "#base/json.ts";
import type { RequestSource } from "#base/origin.ts";
import { timestamp } from "#base/time.ts";
import { ancestry, newChild, parentOf } from "#base/uid.ts";
import { methodByName } from "#contract/catalog.ts";
import { record } from "#outbox";
import {
  deleteRow,
  findInviteUid,
  hasProviderOfIssuer,
  insertOrExtendRoleBinding,
  insertProviderArrival,
  insertRowUnlessTaken,
  type Invite,
  listClientIds,
  lockInvite,
  lockRow,
  type Read,
  updateRow,
  type Write,
  writeProfile,
} from "#store";
import { inviteCodeHash } from "./invite-code.ts";

export type { Upstream } from "#authn";

/** Where and when somebody registers: what the event says besides the person. */
interface RegistrationContext extends RequestSource {
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
interface Person {
  readonly uid: string;
  /** Who says that this is their e-mail address. */
  readonly issuer: string;
  readonly email: string;
  readonly act: Readonly<Record<string, string>> | undefined;
}

const identityNameLengthMax = 255;

/** The first of these texts of which something is left in a name's letters (contract: Identity.name). */
const identityNameOf = (...texts: readonly (string | undefined)[]): string => {
  for (const text of texts) {
    const ascii = (text ?? "").normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
    const name = ascii
      .replace(/[^a-z0-9 ._-]+/g, "-")
      .slice(0, identityNameLengthMax)
      .replace(/^[ -]+|[ -]+$/g, "");
    if (/[a-z0-9]/.test(name)) return name;
  }
  return "person";
};

const personOf = ({ authn }: RegistrationContext, { issuer, subject, audience = "", email = "" }: Upstream): Person => ({
  uid: authn.personUid(issuer, subject),
  issuer,
  email,
  act: { iss: issuer, sub: subject, aud: audience, ...(email ? { email } : {}) },
});

// ---- the rows of resources, one function for each that is made, changed or removed ---------------------------------

/** Makes the person's identity unless it is there. True where it was made. */
export const makePerson = async (rows: Write, upstream: Upstream, { authn, nowMs }: Pick<RegistrationContext, "authn" | "nowMs">): Promise<boolean> => {
  const { issuer, subject, email = "", name } = upstream;
  const now = timestamp(nowMs);
  return insertRowUnlessTaken(
    rows,
    { name: "identities", columns: [] },
    {
      uid: authn.personUid(issuer, subject),
      name: identityNameOf(name, email, subject),
      email,
      issuer,
      subject,
      last_seen_time: now,
      create_time: now,
      update_time: now,
    },
  );
};

/** The e-mail address is the issuer's to say; the name is the organization's to give and stays. */
const updatePerson = async (rows: Write, uid: string, { email }: Upstream, nowMs: number): Promise<void> => {
  await updateRow(rows, { name: "identities", columns: [] }, uid, { last_seen_time: timestamp(nowMs), ...(email === undefined ? {} : { email }) });
};

/** Binds the person to the invite's role, without an end. True where something changed. */
const makeInvitedBinding = (rows: Write, identityUid: string, group: string, roleUid: string, nowMs: number): Promise<boolean> =>
  insertOrExtendRoleBinding(rows, { uid: newChild(group), identityUid, roleUid, nowMs });

/** Binds the person to the provider's default role, unless it is bound already or the role is gone. */
const makeDefaultBinding = async (rows: Write, identityUid: string, group: string, roleUid: string, nowMs: number): Promise<void> => {
  if (!(await lockRow(rows, { name: "roles", columns: ["uid"] }, roleUid, "key share"))) return;
  const now = timestamp(nowMs);
  const binding = { uid: newChild(group), identity_uid: identityUid, role_uid: roleUid, create_time: now, update_time: now };
  await insertRowUnlessTaken(rows, { name: "role_bindings", columns: [] }, binding);
};

const deleteUsedInvite = (rows: Write, uid: string): Promise<void> => deleteRow(rows, { name: "group_invites", columns: [] }, uid);

// --------------------------------------------------------------------------------------------------------------------

/** The person's identity, made where it has to be, with what its issuer said just now. True where it was made. */
const ensurePerson = async (rows: Write, upstream: Upstream, context: RegistrationContext): Promise<boolean> => {
  const { name = "", givenName = "", familyName = "", picture = "" } = upstream;
  const { uid } = personOf(context, upstream);
  const made = await makePerson(rows, upstream, context);
  await updatePerson(rows, uid, upstream, context.nowMs);
  await writeProfile(rows, uid, { name, givenName, familyName, picture });
  return made;
};

/** Records the event that the contract declares for Auth.Register, which has no caller yet: the person is who acts. */
const recordRegistration = async (
  rows: Write,
  { uid, act }: Person,
  group: string,
  { publicUrl, requestId, origin, nowMs }: RegistrationContext,
): Promise<void> => {
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
  const clients = await listClientIds(rows, issuer, ancestry(group));
  return clients.length === 0 ? undefined : clients.flatMap((client) => client ?? []);
};

/**
 * Whether the issuer's word on e-mail addresses counts in this group. An issuer can say any address of anybody: one that
 * another organization brought along must not let its people in under the addresses of this one's (attack 24).
 */
export const isTrustedForEmail = async (rows: Read, group: string, issuer: string): Promise<boolean> =>
  !(await hasProviderOfIssuer(rows, issuer)) || (await providerAudiences(rows, group, issuer)) !== undefined;

/** The group of a code's invite, whether or not it can be accepted; undefined for a code that nobody gave out. */
export const findInviteGroup = async (rows: Read, code: string): Promise<string | undefined> => {
  const uid = await findInviteUid(rows, inviteCodeHash(code));
  return uid === undefined ? undefined : parentOf(uid);
};

/**
 * The invite of this code, locked until the transaction ends: of all who bring a code at the same moment one goes on, and
 * the others find out what is left. The group first, in the order in which a group's deletion takes them.
 */
const lockInviteOf = async (rows: Write, code: string, nowMs: number): Promise<Invite> => {
  const unknown = new Fault("NOT_FOUND", "the invite does not exist, or somebody has joined with it");
  const group = await findInviteGroup(rows, code);
  if (group === undefined || !(await lockRow(rows, { name: "groups", columns: ["uid"] }, group, "key share"))) throw unknown;
  const invite = await lockInvite(rows, inviteCodeHash(code));
  if (!invite) throw unknown;
  if (invite.expirationTimeMs <= nowMs) throw blocked("INVITE_EXPIRED", invite.uid, ["the invite has expired; ask for a new one"]);
  return invite;
};

/**
 * Whether `by` could bind the role in the group now, with rights that outlast a session. Asked when an invite is made
 * and again when it is accepted: a code is a promise of its maker, and nobody promises what they do not hold any more,
 * because they lost it or because the role has grown (decisions: Access). The role stays until the transaction ends.
 */
export const mayInvite = async (rows: Write, by: string, role: string, group: string, nowMs: number): Promise<boolean> => {
  const row = await lockRow(rows, { name: "roles", columns: ["capabilities"] }, role, "key share");
  const rights = await loadRights(rows, by, nowMs);
  if (!row?.[0] || !rights) return false;
  return missingCapability(rights, [...capabilityNames(row[0]), "role_bindings.create"], group) === undefined;
};

/** However an address is written. In ASCII alone: other letters fold onto these too (the Kelvin sign is a k), in other hands. */
const foldAsciiCase = (email: string): string => email.replace(/[A-Z]/g, (letter) => letter.toLowerCase());

const isInviteFor = async (rows: Read, { email }: Invite, group: string, person: Person): Promise<boolean> =>
  email === "" || (foldAsciiCase(email) === foldAsciiCase(person.email) && (await isTrustedForEmail(rows, group, person.issuer)));

/** Gives the person what the invite promises. `ensureRegistered` makes the identity where it has to be; true where it was made. */
const acceptInviteFor = async (
  rows: Write,
  person: Person,
  code: string,
  context: RegistrationContext,
  ensureRegistered: () => Promise<boolean>,
): Promise<Registered> => {
  const { nowMs } = context;
  const invite = await lockInviteOf(rows, code, nowMs);
  const group = parentOf(invite.uid);
  if (!(await isInviteFor(rows, invite, group, person))) {
    throw denied("Permission denied: the invite is for another e-mail address, or yours is not verified");
  }
  if (!(await mayInvite(rows, invite.invitedBy, invite.role, group, nowMs))) {
    throw blocked("INVITE_NOT_COVERED", invite.uid, ["whoever made the invite may not give what it promises any more; ask for a new one"]);
  }
  const made = await ensureRegistered();
  const joined = await makeInvitedBinding(rows, person.uid, group, invite.role, nowMs);
  if (joined && invite.singleUse) await deleteUsedInvite(rows, invite.uid);
  if (made || joined) await recordRegistration(rows, person, group, context);
  return { identity: person.uid, group };
};

/**
 * Makes the person's identity unless it is there, and gives what the invite promises. Again by the same person it
 * changes nothing. Throws NOT_FOUND for a code that is unknown or used up, FAILED_PRECONDITION for one that has expired
 * or whose maker may not promise it any more, PERMISSION_DENIED where it is for another e-mail address.
 */
export const acceptInvite = (
  rows: Write,
  { upstream, code, ...context }: RegistrationContext & { readonly upstream: Upstream; readonly code: string },
): Promise<Registered> => acceptInviteFor(rows, personOf(context, upstream), code, context, () => ensurePerson(rows, upstream, context));

/** The same for a person who is registered and shows a token of ours. */
export const acceptInviteAs = (
  rows: Write,
  { person, code, ...context }: RegistrationContext & { readonly person: Person; readonly code: string },
): Promise<Registered> => acceptInviteFor(rows, person, code, context, async () => false);

/** Makes the person's identity unless it is there, and nothing else: for whom others may bind. */
export const register = async (rows: Write, { upstream, ...context }: RegistrationContext & { readonly upstream: Upstream }): Promise<Registered> => {
  const person = personOf(context, upstream);
  if (await ensurePerson(rows, upstream, context)) await recordRegistration(rows, person, "", context);
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
    ...context
  }: RegistrationContext & {
    readonly upstream: Upstream;
    readonly provider: { readonly uid: string; readonly group: string; readonly defaultRole: string };
  },
): Promise<Registered> => {
  const person = personOf(context, upstream);
  const { uid, group, defaultRole } = provider;
  await ensurePerson(rows, upstream, context);
  if (await insertProviderArrival(rows, uid, person.uid, context.nowMs)) {
    await makeDefaultBinding(rows, person.uid, group, defaultRole, context.nowMs);
    await recordRegistration(rows, person, group, context);
  }
  return { identity: person.uid, group };
};
