// How a person becomes known here, and a member of a group: by an invite, through an identity provider, or because the
// operator says so. A person's identity has the uid that follows from issuer and subject; there is no other way to make
// one. Everything happens in the caller's transaction, its event included.

import type { Upstream } from "#authn";
import { capabilityNames, loadRights, shortestRight, withMappings } from "#authz";
import { blocked, denied, Fault } from "#base/fault.ts";
import { text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { timestamp } from "#base/time.ts";
import { withoutTrailing } from "#base/trailing.ts";
import { ancestry, EVERYWHERE, parentOf, rootOf } from "#base/uid.ts";
import { methodByName } from "#contract/catalog.ts";
import { boundOf, type ChangeContext, change, eventOf, lockResource, type ReadContext, type ToldBy } from "#kernel";
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

const identityNameLengthMax = 256;

/** The first of these texts of which something is left in a name's letters (contract: Identity.name). */
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

// ---- the rows of resources, one function for each that is made, changed or removed ---------------------------------

/** Makes the person's identity unless it is there. True where it was made; then an event of its own or of its cause tells it. */
export const makePerson = async (context: ChangeContext, upstream: Upstream, toldBy: ToldBy): Promise<boolean> => {
  const { issuer, subject, email = "", name } = upstream;
  const body = { name: identityNameOf(name, email, subject) };
  const uid = context.services.authn.personUid(issuer, subject);
  const wanted = { kind: "create", parent: EVERYWHERE, uid, body, columns: { email, issuer, subject }, unlessTaken: true } as const;
  return (await change(context, boundOf(context, "chainguard.platform.iam.v2.Identity"), wanted, toldBy)).changed;
};

/** The e-mail address is the issuer's to say; the name is the organization's to give and stays. */
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

/** Binds the person to the invite's role until the invite's end; a binding that ends later stays as it is. True where something changed. */
const makeInvitedBinding = async (context: ChangeContext, identityUid: string, group: string, invite: Invite): Promise<boolean> => {
  const { role: roleUid, expireTimeMs } = invite;
  const binding = boundOf(context, "chainguard.platform.iam.v2.RoleBinding");
  const end = expireTimeMs === undefined ? {} : { expireTime: timestamp(expireTimeMs) };
  const wanted = { kind: "create", parent: group, body: { identityUid, roleUid, ...end }, unlessTaken: true } as const;
  if ((await change(context, binding, wanted, "row")).changed) return true;
  const uid = await findRoleBindingUid(context.rows, { group, identityUid, roleUid });
  const before = uid === undefined ? undefined : await lockResource(context, binding, uid);
  // Deleted between the two statements: the next try makes it anew.
  if (!before) return makeInvitedBinding(context, identityUid, group, invite);
  const { expireTime, ...lasting } = before;
  if (expireTime === undefined || (expireTimeMs !== undefined && expireTimeMs <= Date.parse(text(before, "expireTime")))) return false;
  return (await change(context, binding, { kind: "update", before, draft: { ...lasting, ...end } }, "row")).changed;
};

const deleteUsedInvite = async (context: ChangeContext, uid: string): Promise<void> => {
  await change(context, boundOf(context, "chainguard.platform.iam.v2.GroupInvite"), { kind: "delete", uid }, "row");
};

// --------------------------------------------------------------------------------------------------------------------

/** The person's identity, made where it has to be, with what its issuer said just now. True where it was made. */
const ensurePerson = async (context: ChangeContext, upstream: Upstream, toldBy: ToldBy): Promise<boolean> => {
  const { name = "", givenName = "", familyName = "", picture = "" } = upstream;
  const { uid } = personOf(context, upstream);
  const made = await makePerson(context, upstream, toldBy);
  if (!made) await updatePerson(context, uid, upstream);
  await writeProfile(context.rows, uid, { name, givenName, familyName, picture });
  return made;
};

const registerName = "chainguard.platform.auth.Auth/Register";

/** What the person's registration changes is done by the person, who has no token of ours yet, with the rights of whoever let them in. */
const asPerson = (context: ChangeContext, { uid, act }: Person): ChangeContext => ({
  ...context,
  require: () => {},
  handOn: () => {},
  cause: { ...context.cause, operation: registerName, actor: { subject: uid, ...(act ? { act: { ...act } } : {}) }, bindings: () => [] },
});

/** Records the event that the contract declares for Auth.Register. */
const recordRegistration = async (context: ChangeContext, { uid }: Person, group: string): Promise<void> => {
  const method = methodByName(registerName);
  const event = method && eventOf(context, method, {}, { identity: uid, ...(group ? { group } : {}) });
  if (!event) throw new Error("the contract has no event for registrations");
  await record(context.rows, event);
};

/**
 * The audiences for which the identity providers that a group's people sign in through, its own and those above it, name
 * this issuer; undefined where none does.
 */
export const providerAudiences = async (context: Pick<ReadContext, "services" | "rows">, group: string, issuer: string): Promise<string[] | undefined> => {
  const clients = await listClientIds(context.rows, context.services.authn.issuerSpellings(issuer), ancestry(group));
  return clients.length === 0 ? undefined : clients.flatMap((client) => client ?? []);
};

/**
 * Whether the issuer's word that this is somebody's e-mail address counts in this group. An issuer can say any address of
 * anybody, so it counts where the group or one above it has the issuer as its identity provider, or the operator lists it
 * for the address's domain, and nowhere else: what other organizations name has no say either way (attacks 24, 63).
 */
export const isBelievedEmail = async (context: Pick<ReadContext, "services" | "rows">, group: string, issuer: string, email: string): Promise<boolean> =>
  context.services.authn.speaksForMail(issuer, email) || (await providerAudiences(context, group, issuer)) !== undefined;

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
  const unknown = new Fault("NOT_FOUND", "invite not found, or already used. Ask for a new one");
  const group = await findInviteGroup(rows, code);
  if (group === undefined || !(await lockRow(rows, { name: "groups", columns: ["uid"] }, group, "key share"))) throw unknown;
  const invite = await lockInvite(rows, inviteCodeHash(code));
  if (!invite) throw unknown;
  if (invite.expirationTimeMs <= nowMs) throw blocked("INVITE_EXPIRED", invite.uid, ["the invite has expired; ask for a new one"]);
  return invite;
};

/**
 * Whether the invite's maker could bind its role in the group now, until its end. Asked when it is made (rules/grant.ts) and
 * again here, when it is accepted: a code is a promise of its maker, and nobody promises what they do not hold any more,
 * because they lost it or because the role has grown (decisions: Access). What a sign-in's groups gave counts as long as
 * their mappings give it, and for others than the maker. The role stays until the transaction ends.
 */
const mayStillGive = async (rows: Write, invite: Invite, group: string, receiver: string, nowMs: number): Promise<boolean> => {
  const row = await lockRow(rows, { name: "roles", columns: ["capabilities"] }, invite.role, "key share");
  const own = await loadRights(rows, invite.invitedBy, nowMs);
  if (!row?.[0] || !own) return false;
  const rights = await withMappings(rows, own, invite.byMappings);
  const given = [{ capabilities: [...capabilityNames(row[0]), "role_bindings.create"], path: group }];
  const { expireTimeMs: untilMs = Number.POSITIVE_INFINITY } = invite;
  const mappingsCount = receiver !== invite.invitedBy && untilMs <= nowMs + limits.sessionGiftMs;
  return shortestRight(rights, given, untilMs, mappingsCount) === undefined;
};

/** However an address is written. In ASCII alone: other letters fold onto these too (the Kelvin sign is a k), in other hands. */
const foldAsciiCase = (email: string): string => email.replace(/[A-Z]/g, (letter) => letter.toLowerCase());

/**
 * Refuses whom the invite is not for. Whose word does not count here is said before the addresses are compared: nobody
 * finds out by trying whom an invite is for.
 */
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

/** Returns the code's invite, locked, and its group. Throws if this person cannot accept it. */
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

/** What an invite offers, in the words that its page shows. Plain values: a waiting sign-in stores it. */
export interface InviteOffer {
  readonly inviteUid: string;
  readonly organizationUid: string;
  readonly organizationName: string;
  readonly groupUid: string;
  readonly groupName: string;
  readonly roleUid: string;
  readonly roleName: string;
  /** When the role ends, in milliseconds since 1970; null: never. */
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

/** Returns what the invite offers this person, and changes nothing. Throws what `acceptInvite` throws. */
export const readInviteOffer = async (cause: ChangeContext, upstream: Upstream, code: string): Promise<InviteOffer> => {
  const { invite, group } = await lockAcceptableInvite(cause, personOf(cause, upstream), code);
  return offerOf(cause.rows, invite, group);
};

/** Throws FAILED_PRECONDITION if the invite offers something else now than the page showed: names can change while it is open. */
const requireSameOffer = async (rows: Write, invite: Invite, group: string, shown: InviteOffer): Promise<void> => {
  const offer = await offerOf(rows, invite, group);
  if (JSON.stringify(offer) === JSON.stringify(shown)) return;
  throw blocked("INVITE_CHANGED", invite.uid, ["the invite has changed since the page was shown; open its link again to see the current offer"]);
};

/**
 * Gives the person what the invite promises. `ensureRegistered` creates the identity if necessary and returns whether it did.
 * `shown` is what a page showed the person; undefined if the request itself is the acceptance.
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
  // Before the binding, whose event shows who it is to the organization.
  const agreed = await insertMembership(rows, { group, identityUid: person.uid, basis: "invite", createTime: timestamp(nowMs) });
  const joined = await makeInvitedBinding(context, person.uid, group, invite);
  if (joined && invite.singleUse) await deleteUsedInvite(context, invite.uid);
  if (made || joined || agreed) await recordRegistration(context, person, group);
  return { identity: person.uid, group };
};

/**
 * Makes the person's identity unless it is there, and gives what the invite promises. Again by the same person it
 * changes nothing. Throws NOT_FOUND for a code that is unknown or used up, FAILED_PRECONDITION for one that has expired
 * or whose maker may not promise it any more, PERMISSION_DENIED where it is for another e-mail address. `shown` is what a page
 * showed the person: FAILED_PRECONDITION if the invite offers something else now.
 */
export const acceptInvite = (cause: ChangeContext, upstream: Upstream, code: string, shown?: InviteOffer): Promise<Registered> => {
  const person = personOf(cause, upstream);
  const context = asPerson(cause, person);
  return acceptInviteFor(context, person, code, () => ensurePerson(context, upstream, "cause"), shown);
};

/** The same for a person who is registered and shows a token of ours. */
export const acceptInviteAs = (cause: ChangeContext, person: Person, code: string): Promise<Registered> =>
  acceptInviteFor(asPerson(cause, person), person, code, async () => false);

/** Makes the person's identity unless it is there, and nothing else: for whom others may bind. */
export const register = async (cause: ChangeContext, upstream: Upstream): Promise<Registered> => {
  const person = personOf(cause, upstream);
  const context = asPerson(cause, person);
  if (await ensurePerson(context, upstream, "cause")) await recordRegistration(context, person, "");
  return { identity: person.uid, group: "" };
};

/** An identity provider that somebody signs in through. */
interface SignInProvider {
  readonly uid: string;
  readonly parent: string;
  readonly defaultRole: string;
  /** SCIM has announced the person, and gives the default role by itself. */
  readonly isProvisioned?: boolean;
}

/**
 * For every sign-in through an identity provider: makes the person's identity unless it is there and, the first time
 * that this person comes through this provider, gives its default role at its group (authentication.md: 7), unless SCIM does.
 */
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
