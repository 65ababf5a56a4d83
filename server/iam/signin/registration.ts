// Registration of users, and how they join a group: by an invite, through an identity provider, or by the operator. The identity's
// UID follows from issuer and subject. Everything happens in the caller's transaction.

import type { Upstream } from "#authn";
import { capabilityNames, loadRights, shortestRight, withMappings } from "#authz";
import { blocked, denied, Fault } from "#base/fault.ts";
import { text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { timestamp } from "#base/time.ts";
import { withoutTrailing } from "#base/trailing.ts";
import { ancestry, EVERYWHERE, parentOf, rootOf } from "#base/uid.ts";
import { methodByName } from "#contract/catalog.ts";
import { boundOf, type ChangeContext, change, eventOf, lockResource, type ReadContext, type ReportedBy } from "#kernel";
import { record } from "#outbox";
import {
  findIdentityEmail,
  findInviteUid,
  findRoleBindingUid,
  insertMembership,
  insertProviderArrival,
  type Invite,
  listClientIds,
  lockInvite,
  updateLastSeen,
  writeProfile,
} from "#iam/store";
import { findRows, lockRow, type Read, type Write } from "#db";
import { inviteCodeHash } from "./invite-code.ts";
import { makeDefaultBinding } from "./provisioning.ts";

export type { Upstream } from "#authn";

export interface Registered {
  readonly identity: string;
  /** The group joined; "" if none. */
  readonly group: string;
}

interface Person {
  readonly uid: string;
  /** Issuer of the email claim. */
  readonly issuer: string;
  readonly email: string;
  readonly act: Readonly<Record<string, string>> | undefined;
}

const identityNameLengthMax = 256;

/** The first text with valid characters of a name (contract: Identity.name). */
const identityNameOf = (...texts: readonly (string | undefined)[]): string => {
  for (const text of texts) {
    const ascii = (text ?? "").normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
    const allowed = ascii.replace(/[^a-z0-9 ._-]+/g, "-").slice(0, identityNameLengthMax);
    const name = withoutTrailing(allowed.replace(/^[ -]+/, ""), " -");
    if (/[a-z0-9]/.test(name)) return name;
  }
  return "person";
};

const personOf = ({ services }: Pick<ChangeContext, "services">, { issuer, subject, audience = "", email = "" }: Upstream): Person => ({
  uid: services.authn.personUid(issuer, subject),
  issuer,
  email,
  act: { iss: issuer, sub: subject, aud: audience, ...(email ? { email } : {}) },
});

// ---- rows of resources ---------------------------------------------------------------------------------------------

/** Creates the user's identity if it does not exist; returns whether it did. `reportedBy` selects its event. */
export const makePerson = async (context: ChangeContext, upstream: Upstream, reportedBy: ReportedBy): Promise<boolean> => {
  const { issuer, subject, email = "", name } = upstream;
  const body = { name: identityNameOf(name, email, subject) };
  const uid = context.services.authn.personUid(issuer, subject);
  const wanted = { kind: "create", parent: EVERYWHERE, uid, body, columns: { email, issuer, subject }, unlessTaken: true } as const;
  return (await change(context, boundOf(context, "chainguard.platform.iam.v2.Identity"), wanted, reportedBy)).changed;
};

/** The issuer decides the email address, the organization the name. */
const updatePerson = async (context: ChangeContext, uid: string, { email }: Upstream): Promise<void> => {
  const identity = boundOf(context, "chainguard.platform.iam.v2.Identity");
  const before = await lockResource(context, identity, uid);
  if (!before) return;
  const known = await findIdentityEmail(context.rows, uid);
  if (email === undefined || email === known) await updateLastSeen(context.rows, uid, context.nowMs);
  else {
    const draft = { ...before, lastSeenTime: timestamp(context.nowMs) };
    await change(context, identity, { kind: "update", before, draft, columns: { email } }, "row");
  }
};

/** A binding that expires later than the invite's stays. Returns whether anything changed. */
const makeInvitedBinding = async (context: ChangeContext, identityUid: string, group: string, invite: Invite): Promise<boolean> => {
  const { role: roleUid, expireTimeMs } = invite;
  const binding = boundOf(context, "chainguard.platform.iam.v2.RoleBinding");
  const end = expireTimeMs === undefined ? {} : { expireTime: timestamp(expireTimeMs) };
  const wanted = { kind: "create", parent: group, body: { identityUid, roleUid, ...end }, unlessTaken: true } as const;
  if ((await change(context, binding, wanted, "row")).changed) return true;
  const uid = await findRoleBindingUid(context.rows, { group, identityUid, roleUid });
  const before = uid === undefined ? undefined : await lockResource(context, binding, uid);
  if (!before) return makeInvitedBinding(context, identityUid, group, invite);
  const { expireTime, ...lasting } = before;
  if (expireTime === undefined || (expireTimeMs !== undefined && expireTimeMs <= Date.parse(text(before, "expireTime")))) return false;
  return (await change(context, binding, { kind: "update", before, draft: { ...lasting, ...end } }, "row")).changed;
};

const deleteUsedInvite = async (context: ChangeContext, uid: string): Promise<void> => {
  await change(context, boundOf(context, "chainguard.platform.iam.v2.GroupInvite"), { kind: "delete", uid }, "row");
};

// --------------------------------------------------------------------------------------------------------------------

const ensurePerson = async (context: ChangeContext, upstream: Upstream, reportedBy: ReportedBy): Promise<boolean> => {
  const { name = "", givenName = "", familyName = "", picture = "" } = upstream;
  const { uid } = personOf(context, upstream);
  const made = await makePerson(context, upstream, reportedBy);
  if (!made) await updatePerson(context, uid, upstream);
  await writeProfile(context.rows, uid, { name, givenName, familyName, picture });
  return made;
};

const registerName = "chainguard.platform.auth.Auth/Register";

/** The user has no token yet, so permissions are those of the invite or provider. */
const asPerson = (context: ChangeContext, { uid, act }: Person): ChangeContext => ({
  ...context,
  require: () => {},
  delegate: () => {},
  cause: { ...context.cause, operation: registerName, actor: { subject: uid, ...(act ? { act: { ...act } } : {}) }, bindings: () => [] },
});

const recordRegistration = async (context: ChangeContext, { uid }: Person, group: string): Promise<void> => {
  const method = methodByName(registerName);
  const event = method && eventOf(context, method, {}, { identity: uid, ...(group ? { group } : {}) });
  if (!event) throw new Error("the contract has no event for registrations");
  await record(context.rows, event);
};

/** Returns the client IDs that the group's identity providers and its ancestors' use at this issuer; undefined if none does. */
export const providerAudiences = async (context: Pick<ReadContext, "services" | "rows">, group: string, issuer: string): Promise<string[] | undefined> => {
  const clients = await listClientIds(context.rows, context.services.authn.issuerSpellings(issuer), ancestry(group));
  return clients.length === 0 ? undefined : clients.flatMap((client) => client ?? []);
};

/**
 * Returns whether the group trusts the issuer's email claim. An issuer can claim any address, so only a provider of the group or an
 * ancestor counts, and an issuer that the operator lists for the domain (attacks 24, 63).
 */
export const isBelievedEmail = async (context: Pick<ReadContext, "services" | "rows">, group: string, issuer: string, email: string): Promise<boolean> =>
  context.services.authn.speaksForMail(issuer, email) || (await providerAudiences(context, group, issuer)) !== undefined;

/** Returns the group of a code's invite, acceptable or not; undefined for an unknown code. */
export const findInviteGroup = async (rows: Read, code: string): Promise<string | undefined> => {
  const uid = await findInviteUid(rows, inviteCodeHash(code));
  return uid === undefined ? undefined : parentOf(uid);
};

/** Of concurrent uses, one continues. Locks the group first, in the order of a deletion. */
const lockInviteOf = async (rows: Write, code: string, nowMs: number): Promise<Invite> => {
  const unknown = new Fault("NOT_FOUND", "invite not found, or already used. Ask for a new one");
  const group = await findInviteGroup(rows, code);
  if (group === undefined || !(await lockRow(rows, { name: "groups", columns: ["uid"] }, group, "key share"))) throw unknown;
  const invite = await lockInvite(rows, inviteCodeHash(code));
  if (!invite) throw unknown;
  if (invite.expirationTimeMs <= nowMs) throw blocked("INVITE_EXPIRED", invite.uid, ["the invite has expired; ask for a new one"]);
  return invite;
};

/**
 * Whether the invite's creator could still bind the role until its expiry: permissions may be lost, or the role grown (decisions:
 * Access; rules/grant.ts). Permissions from group mappings count while they exist, and not for inviting oneself. Locks the role.
 */
const mayStillGive = async (rows: Write, invite: Invite, group: string, receiver: string, nowMs: number): Promise<boolean> => {
  const row = await lockRow(rows, { name: "roles", columns: ["capabilities"] }, invite.role, "key share");
  const own = await loadRights(rows, invite.invitedBy, nowMs);
  if (!row?.[0] || !own) return false;
  const rights = await withMappings(rows, own, invite.byMappings);
  const given = [{ capabilities: [...capabilityNames(row[0]), "role_bindings.create"], path: group }];
  const { expireTimeMs: untilMs = Number.POSITIVE_INFINITY } = invite;
  const mappingsCount = receiver !== invite.invitedBy && untilMs <= nowMs + limits.sessionDelegationMs;
  return shortestRight(rights, given, untilMs, mappingsCount) === undefined;
};

/** ASCII only: other letters fold onto ASCII too (the Kelvin sign becomes k), but such an address can have another owner. */
const foldAsciiCase = (email: string): string => email.replace(/[A-Z]/g, (letter) => letter.toLowerCase());

/** Untrusted issuers are refused before the comparison, so that guessing reveals nothing. */
const checkInvitee = async (context: ChangeContext, { email }: Invite, group: string, person: Person): Promise<void> => {
  if (email === "") return;
  if (person.email !== "" && !(await isBelievedEmail(context, group, person.issuer, person.email))) {
    throw denied(
      `Permission denied: the invite is for one e-mail address, and ${JSON.stringify(person.issuer.slice(0, 200))} is not believed about yours here: ` +
        "an administrator can make it an identity provider of the group or of one above it, or the operator can list it in GANTRY_MAIL_ISSUERS",
    );
  }
  if (foldAsciiCase(email) !== foldAsciiCase(person.email))
    throw denied("Permission denied: the invite is for another e-mail address, or yours is not verified");
};

const lockAcceptableInvite = async (context: ChangeContext, person: Person, code: string): Promise<{ readonly invite: Invite; readonly group: string }> => {
  const { rows, nowMs } = context;
  const invite = await lockInviteOf(rows, code, nowMs);
  const group = parentOf(invite.uid);
  await checkInvitee(context, invite, group, person);
  if (!(await mayStillGive(rows, invite, group, person.uid, nowMs))) {
    throw blocked("INVITE_NOT_COVERED", invite.uid, ["the creator of the invite no longer has the permissions that it grants; ask for a new one"]);
  }
  return { invite, group };
};

/** An invite's offer as shown on its page. Plain values: a waiting sign-in stores it. */
export interface InviteOffer {
  readonly inviteUid: string;
  readonly organizationUid: string;
  readonly organizationName: string;
  readonly groupUid: string;
  readonly groupName: string;
  readonly roleUid: string;
  readonly roleName: string;
  /** null: never. */
  readonly roleEndMs: number | null;
}

const nameIn = async (rows: Write, table: string, uid: string): Promise<string> =>
  (await findRows(rows, { name: table, columns: ["name"] }, [uid]))[0]?.[0] ?? "";

const offerOf = async (rows: Write, { uid, role, expireTimeMs }: Invite, group: string): Promise<InviteOffer> => ({
  inviteUid: uid,
  organizationUid: rootOf(group),
  organizationName: await nameIn(rows, "groups", rootOf(group)),
  groupUid: group,
  groupName: await nameIn(rows, "groups", group),
  roleUid: role,
  roleName: await nameIn(rows, "roles", role),
  roleEndMs: expireTimeMs ?? null,
});

/** Returns the invite's offer to this user without changes. Throws the errors of `acceptInvite`. */
export const readInviteOffer = async (cause: ChangeContext, upstream: Upstream, code: string): Promise<InviteOffer> => {
  const { invite, group } = await lockAcceptableInvite(cause, personOf(cause, upstream), code);
  return offerOf(cause.rows, invite, group);
};

const requireSameOffer = async (rows: Write, invite: Invite, group: string, shown: InviteOffer): Promise<void> => {
  const offer = await offerOf(rows, invite, group);
  if (JSON.stringify(offer) === JSON.stringify(shown)) return;
  throw blocked("INVITE_CHANGED", invite.uid, ["the invite has changed since the page was shown; open its link again to see the current offer"]);
};

/**
 * `ensureRegistered` returns whether it created the identity. `shown` is the offer on the page; undefined if the request itself is the
 * acceptance.
 */
const acceptInviteFor = async (
  context: ChangeContext,
  person: Person,
  code: string,
  ensureRegistered: () => Promise<boolean>,
  shown?: InviteOffer,
): Promise<Registered> => {
  const { rows, nowMs } = context;
  const { invite, group } = await lockAcceptableInvite(context, person, code);
  if (shown) await requireSameOffer(rows, invite, group, shown);
  const made = await ensureRegistered();
  // Before the binding, so that its event shows the organization the user's details.
  const agreed = await insertMembership(rows, { group, identityUid: person.uid, basis: "invite", createTime: timestamp(nowMs) });
  const joined = await makeInvitedBinding(context, person.uid, group, invite);
  if (joined && invite.singleUse) await deleteUsedInvite(context, invite.uid);
  if (made || joined || agreed) await recordRegistration(context, person, group);
  return { identity: person.uid, group };
};

/**
 * Registers the user if necessary and accepts the invite. Idempotent. Throws NOT_FOUND for an unknown or used code,
 * FAILED_PRECONDITION for one that has expired, differs from `shown`, or exceeds its creator's permissions, and PERMISSION_DENIED for
 * another email address.
 */
export const acceptInvite = (cause: ChangeContext, upstream: Upstream, code: string, shown?: InviteOffer): Promise<Registered> => {
  const person = personOf(cause, upstream);
  const context = asPerson(cause, person);
  return acceptInviteFor(context, person, code, () => ensurePerson(context, upstream, "cause"), shown);
};

/** Accepts an invite for a registered user with a token. */
export const acceptInviteAs = (cause: ChangeContext, person: Person, code: string): Promise<Registered> =>
  acceptInviteFor(asPerson(cause, person), person, code, async () => false);

/** Registers the user without any role, so that others can bind roles. */
export const register = async (cause: ChangeContext, upstream: Upstream): Promise<Registered> => {
  const person = personOf(cause, upstream);
  const context = asPerson(cause, person);
  if (await ensurePerson(context, upstream, "cause")) await recordRegistration(context, person, "");
  return { identity: person.uid, group: "" };
};

interface SignInProvider {
  readonly uid: string;
  readonly parent: string;
  readonly defaultRole: string;
  /** SCIM has provisioned the user and assigns the default role itself. */
  readonly isProvisioned?: boolean;
}

/** Registers the user on a sign-in. The first one through this provider assigns its default role (authentication.md: 7), unless SCIM does. */
export const registerThroughProvider = async (
  cause: ChangeContext,
  upstream: Upstream,
  { uid, parent, defaultRole, isProvisioned }: SignInProvider,
): Promise<Registered> => {
  const person = personOf(cause, upstream);
  const context = asPerson(cause, person);
  const first = await insertProviderArrival(context.rows, uid, person.uid, context.nowMs);
  await ensurePerson(context, upstream, first ? "cause" : "row");
  if (first) {
    if (!isProvisioned) await makeDefaultBinding(context, { parent, defaultRole }, person.uid);
    await recordRegistration(context, person, parent);
  }
  return { identity: person.uid, group: parent };
};
