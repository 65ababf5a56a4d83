// The caller's identity, registration with or without an invite, and deletion of the caller's own identity.

import type { Grant } from "#authz";
import { denied, Fault, unauthenticated } from "#base/fault.ts";
import { type JsonObject, text } from "#base/json.ts";
import { timestamp } from "#base/time.ts";
import { EVERYWHERE } from "#base/uid.ts";
import { capabilityBySymbol } from "#contract/capabilities.ts";
import { boundOf, change, type Context, type Outcome, type ReadContext, resource, type WriteContext } from "#kernel";
import { acceptInvite, acceptInviteAs, findInviteGroup, providerAudiences, register, type Registered, takeHeadlessToken, type Upstream } from "#iam/signin";
import { findKnownRoles, findProfile, findUnjoinedOrganizations } from "#iam/store";
import { findRows, lockRow, type Read } from "#db";
import { anonymous, personally } from "./rules/personally.ts";

const heldAt = (grants: readonly Grant[]): ReadonlyMap<string, ReadonlySet<string>> => {
  const held = new Map<string, Set<string>>();
  for (const { path: place, capabilities } of grants) {
    const names = held.get(place) ?? new Set();
    for (const name of capabilities) names.add(name);
    held.set(place, names);
  }
  return held;
};

/** Returns the caller's rights in v1 form: a group with the equivalent role, or with the capabilities. */
const capabilitiesOf = async ({ rows, rights }: ReadContext): Promise<JsonObject[]> => {
  const held = heldAt(rights.grants);
  const [groups, roles] = await Promise.all([
    findRows(rows, { name: "groups", columns: ["uid", "name", "description", "verified", "kind", "status"] }, [...held.keys()]),
    findKnownRoles(rows, rights.uid),
  ]);
  const byNames = new Map(
    roles.map(({ capabilities, ...role }) => {
      const names = capabilities.flatMap((symbol) => capabilityBySymbol(symbol)?.name ?? []).sort();
      return [names.join(), { ...role, capabilities: names }];
    }),
  );
  const shown = new Map(
    groups.map(([id, name, description, verified, kind, status]) => [
      id ?? "",
      // The row has null for no kind; an enum without a value is omitted.
      { id: id ?? "", name: name ?? "", description: description ?? "", verified: verified === "t", ...(kind ? { kind } : {}), status: status ?? "" },
    ]),
  );
  return [...held]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .flatMap(([place, capabilities]) => {
      const names = [...capabilities].sort();
      const group = shown.get(place);
      // The operator's path is above every group. A narrowed token may have no capabilities at a path.
      if (names.length === 0 || (!group && place !== EVERYWHERE)) return [];
      const role = byNames.get(names.join());
      return [{ ...(group ? { group } : {}), ...(role ? { role } : { capabilities: names }) }];
    });
};

const validate = async (context: ReadContext): Promise<Outcome> => {
  const { caller, rows } = context;
  if (!caller) throw anonymous();
  const [capabilities, profile] = await Promise.all([capabilitiesOf(context), findProfile(rows, caller.uid)]);
  const email = caller.email ?? profile.email;
  const { name, picture, givenName, familyName } = profile;
  const told = Object.entries({ name, picture, givenName, familyName }).filter(([, value]) => value !== "");
  return {
    reply: {
      issuer: caller.issuer,
      subject: caller.uid,
      audience: [...caller.audience],
      expiry: timestamp(caller.expireTimeMs),
      issuedAt: timestamp(caller.issueTimeMs),
      capabilities,
      ...(email ? { email } : {}),
      ...(told.length > 0 ? { profile: Object.fromEntries(told) } : {}),
    },
  };
};

const registered = ({ identity, group }: Registered): Outcome => ({
  reply: { identity, ...(group ? { group } : {}) },
  // The registration has recorded its own events, with the user as actor (server/iam/signin).
  unchanged: true,
});

/** Registers by another issuer's token. `identity_id` requires an existing identity, and is checked. */
const enter = async (context: WriteContext, upstream: Upstream): Promise<Outcome> => {
  const { services, request, rows } = context;
  const [claimed, code] = [text(request, "identityId"), text(request, "code")];
  if (claimed !== "") {
    if (claimed !== services.authn.personUid(upstream.issuer, upstream.subject))
      throw denied("Permission denied: identity_id is not the identity of this token");
    const known = await lockRow(rows, { name: "identities", columns: ["uid"] }, claimed, "key share");
    if (!known) throw new Fault("NOT_FOUND", "account not found, registration required");
  }
  return registered(await (code === "" ? register(context, upstream) : acceptInvite(context, upstream, code)));
};

/** Accepts an invite by a token of this server, for a registered user. */
const joinAs = async (context: WriteContext, caller: NonNullable<Context<Read>["caller"]>): Promise<Outcome> => {
  const { request, rows } = context;
  const [claimed, code] = [text(request, "identityId"), text(request, "code")];
  if (claimed !== "" && claimed !== caller.uid) throw denied("Permission denied: identity_id is not the identity of this token");
  const row = await lockRow(rows, { name: "identities", columns: ["issuer", "email"] }, caller.uid, "key share");
  if (!row) throw unauthenticated("the identity of this token no longer exists");
  if (code === "") return registered({ identity: caller.uid, group: "" });
  const person = { uid: caller.uid, issuer: row[0] ?? "", email: row[1] ?? "", act: caller.act };
  return registered(await acceptInviteAs(context, person, code));
};

const registration = async (context: ReadContext): Promise<{ writes: (context: WriteContext) => Promise<Outcome> }> => {
  const { services, call, request, rows } = context;
  const code = text(request, "code");
  const upstream = await services.authn.upstream(call.authorization, async (issuer) => {
    const group = code === "" ? undefined : await findInviteGroup(rows, code);
    return group === undefined ? undefined : providerAudiences(context, group, issuer);
  });
  if (upstream) return { writes: (write) => enter(write, upstream) };
  const caller = personally({ caller: await services.authn.authenticate(call.authorization, undefined, () => call.origin().address) }, "join by an invite");
  return { writes: (write) => joinAs(write, caller) };
};

const deleteOwn = async (context: WriteContext): Promise<Outcome> => {
  const found = boundOf(context, "chainguard.platform.iam.v2.Identity");
  const { uid } = personally(context, "delete themselves");
  if (text(context.request, "id") !== uid) throw denied("Permission denied: this operation deletes only the caller's own identity");
  // Organizations that the user has not joined get an event for the end of their bindings, which shows only the uid (0067).
  const leaving = { ...context, cause: { ...context.cause, strangerIn: await findUnjoinedOrganizations(context.rows, uid) } };
  // A user who leaves cannot be restored.
  await change(leaving, found, { kind: "delete", uid, isForGood: true }, "cause");
  return { reply: {} };
};

/** Single use: the fetch deletes the session. Only the holder of the code's key can decrypt it (server/iam/signin/headless.ts). */
const headlessSession = async ({ services, request, nowMs }: ReadContext): Promise<Outcome> => {
  const session = await takeHeadlessToken(services.store, text(request, "code"), nowMs);
  // Does not mention the code, because clients poll.
  if (!session) throw new Fault("NOT_FOUND", "the sign-in with this code is not finished");
  return { reply: { ecdhPublicKey: btoa(session.publicKey), encryptedIdtoken: session.encrypted.toString("base64") } };
};

export const auth = resource({
  service: "chainguard.platform.auth.Auth",
  message: "chainguard.platform.auth.WhoAmI",
  methods: {
    Validate: { reads: validate },
    Register: { asks: registration, countsAs: "exchanges" },
    Delete: { writes: deleteOwn },
    GetHeadlessSession: { reads: headlessSession, countsAs: "open-reads" },
  },
});
