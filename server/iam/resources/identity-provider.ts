// An identity provider: an organization's users sign in through it, and get its default role on first sign-in.

import { blocked, invalid, type Violation } from "#base/fault.ts";
import { type JsonObject, objectList, part, text } from "#base/json.ts";
import { newChild } from "#base/uid.ts";
import {
  applyMask,
  boundOf,
  get,
  holdParent,
  list,
  change,
  lockResource,
  type Outcome,
  type ReadContext,
  resource,
  type RuleContext,
  update,
  type WriteContext,
} from "#kernel";
import { type Binding, lockRow } from "#db";
import { clientSecretBinding, clientSecretPurpose, findScim, hasScimPeople, listMappedRoles } from "#iam/store";
import { callbackUrlOf } from "#iam/signin";
import { forGood, grantProblem } from "./rules/grant.ts";
import { issuerProblem } from "./rules/issuer.ts";
import { generateScimToken, regenerateScimToken, revokeScimToken, setScimEnabled, shownScim } from "./rules/scim.ts";

const shownOidc = (given: JsonObject): JsonObject => {
  const { clientSecret: _secret, pkceEnabled, ...rest } = given;
  const said = Object.entries(rest).filter(
    ([, value]) => value !== "" && value !== "CORRELATION_RULE_UNSPECIFIED" && !(Array.isArray(value) && value.length === 0),
  );
  return { ...Object.fromEntries(said), pkceEnabled: pkceEnabled === true };
};

/** SCIM identifies users by the issuer's subjects: after a change of the issuer, a deactivated user could sign in again. */
const needPeopleOfIssuer = async (issuer: string, { before, services, rows }: RuleContext): Promise<void> => {
  if (!before || services.authn.issuerSpellings(text(part(before, "oidc"), "issuer")).includes(issuer)) return;
  const uid = text(before, "uid");
  if (await hasScimPeople(rows, uid))
    throw blocked("SCIM_PEOPLE_KNOWN", uid, ["SCIM identifies users by this issuer. Create another identity provider for another issuer"]);
};

const rules = async (draft: JsonObject, context: RuleContext): Promise<Violation[]> => {
  const { before, parent, services, rows } = context;
  draft.oidc = shownOidc(part(draft, "oidc"));
  const unfit = issuerProblem(text(draft.oidc, "issuer"), services);
  if (unfit !== undefined) return [{ field: "oidc.issuer", description: unfit }];
  await needPeopleOfIssuer(text(draft.oidc, "issuer"), context);
  const reconfigured = JSON.stringify(draft.oidc) !== JSON.stringify(before?.oidc);
  const defaultRole = text(draft, "defaultRole");
  if (!reconfigured && defaultRole === text(before ?? {}, "defaultRole")) return [];
  // Without a default role, which version 1 permits, a sign-in assigns none.
  const problem = defaultRole === "" ? undefined : await grantProblem(defaultRole, parent, context, forGood);
  if (problem !== undefined) return [{ field: "defaultRole", description: problem }];
  // decisions: Access. Changing who can sign in grants all roles that sign-ins assign.
  if (before && reconfigured) for (const { role, scope } of await listMappedRoles(rows, text(before, "uid"))) await grantProblem(role, scope, context, forGood);
  return [];
};

/** Adds the callback URL to register at the provider. */
const withCallback = ({ services }: Pick<ReadContext, "services">, reply: JsonObject): JsonObject => ({
  ...reply,
  callbackUrl: callbackUrlOf(services, text(reply, "uid")),
});

const withScim = async (context: ReadContext | WriteContext, reply: JsonObject): Promise<JsonObject> => {
  const state = await findScim(context.rows, text(reply, "uid"));
  const shown = withCallback(context, reply);
  return state ? { ...shown, scim: shownScim(state, text(reply, "uid"), context) } : shown;
};

const listProviders = async (context: ReadContext): Promise<Outcome> => {
  const outcome = await list(boundOf(context, "chainguard.platform.iam.v2.IdentityProvider"))(context);
  return {
    ...outcome,
    reply: { ...outcome.reply, identityProviders: objectList(outcome.reply, "identityProviders").map((each) => withCallback(context, each)) },
  };
};

const getProvider = async (context: ReadContext): Promise<Outcome> => {
  const { reply } = await get(boundOf(context, "chainguard.platform.iam.v2.IdentityProvider"))(context);
  return { reply: await withScim(context, reply) };
};

const needProof = (oidc: JsonObject, hasSecret: boolean): void => {
  if (!hasSecret && oidc.pkceEnabled !== true) throw invalid([{ field: "oidc.clientSecret", description: "clientSecret or pkceEnabled is required" }]);
};

const bindingOf = (uid: string, provider: JsonObject): Binding => {
  const oidc = part(provider, "oidc");
  return clientSecretBinding(uid, { issuer: text(oidc, "issuer"), clientId: text(oidc, "clientId") });
};

const isSame = (one: Binding, other: Binding): boolean => one.every((entry, index) => entry === other[index]);

const createProvider = async (context: WriteContext): Promise<Outcome> => {
  const { request, services } = context;
  const provider = boundOf(context, "chainguard.platform.iam.v2.IdentityProvider");
  const parent = text(request, "parent");
  const body = part(request, "identityProvider");
  holdParent(context, provider, parent);
  const [uid, secret] = [newChild(parent), text(part(body, "oidc"), "clientSecret")];
  const columns = secret === "" ? {} : { client_secret_sealed: services.seal.seal(clientSecretPurpose, secret, bindingOf(uid, body)) };
  const { record } = await change(context, provider, { kind: "create", parent, uid, body, columns }, "cause");
  needProof(part(record, "oidc"), secret !== "");
  return { reply: await withScim(context, record) };
};

interface HeldSecret {
  /** Null: no secret. */
  readonly sealed: string | null;
  readonly boundTo: Binding;
}

/**
 * Returns the new sealed secret; null: none. An empty one keeps the current secret unless the mask names the field, because clients
 * cannot send back a secret that they cannot read.
 */
const nextSecret = ({ request, mask, services }: WriteContext, held: HeldSecret, boundTo: Binding): string | null => {
  const body = part(request, "identityProvider");
  const paths = (mask?.paths ?? []).map((path) => path.join("."));
  const given = text(part(body, "oidc"), "clientSecret");
  const named = paths.includes("oidc.clientSecret");
  if (given === "") return named ? null : held.sealed;
  if (!named && !paths.includes("oidc")) return held.sealed;
  const isHeld = isSame(held.boundTo, boundTo) && held.sealed !== null && services.seal.open(clientSecretPurpose, held.sealed, boundTo) === given;
  return isHeld ? held.sealed : services.seal.seal(clientSecretPurpose, given, boundTo);
};

/** Rejects keeping a secret for a changed issuer or client: it would be sent to the new one (attack 64). */
const needSameRecipient = (held: HeldSecret, secret: string | null, boundTo: Binding): void => {
  if (secret === null || secret !== held.sealed || isSame(held.boundTo, boundTo)) return;
  throw invalid([{ field: "oidc.clientSecret", description: "clientSecret is required when the issuer or the client ID changes" }]);
};

const updateProvider = async (context: WriteContext): Promise<Outcome> => {
  const { mask, request, rows } = context;
  const provider = boundOf(context, "chainguard.platform.iam.v2.IdentityProvider");
  const body = part(request, "identityProvider");
  const uid = text(body, "uid");
  const row = await lockRow(rows, { name: provider.shape.table.name, columns: ["client_secret_sealed"] }, uid);
  const before = (await lockResource(context, provider, uid)) ?? {};
  const held = { sealed: row?.[0] ?? null, boundTo: bindingOf(uid, before) };
  const boundTo = bindingOf(uid, mask ? applyMask(provider.fact, before, body, mask) : before);
  const secret = nextSecret(context, held, boundTo);
  const { reply, unchanged = false } = await update(provider, secret === held.sealed ? {} : { client_secret_sealed: secret })(context);
  needSameRecipient(held, secret, bindingOf(uid, reply));
  needProof(part(reply, "oidc"), secret !== null);
  return { reply: await withScim(context, reply), unchanged };
};

export const identityProvider = resource({
  service: "chainguard.platform.iam.v2.IdentityProvidersService",
  message: "chainguard.platform.iam.v2.IdentityProvider",
  table: "identity_providers",
  rules,
  sideTables: [
    { table: "provider_arrivals", column: "provider_uid" },
    { table: "scim_users", column: "uid" },
    { table: "scim_groups", column: "uid" },
    { table: "scim_members", column: "group_uid" },
    { table: "scim_removals", column: "identity_provider_uid" },
    { table: "scim_arrivals", column: "identity_provider_uid" },
  ],
  // The token was shown once, to an earlier holder: a restored provider has SCIM disabled and needs a new token.
  endingColumns: [
    "scim_enabled",
    "scim_token_create_time",
    "scim_token_hash",
    "scim_token_expire_time",
    "scim_previous_token_hash",
    "scim_previous_token_expire_time",
  ],
  methodFields: ["scim", "callbackUrl"],
  methods: {
    GetIdentityProvider: { reads: getProvider },
    ListIdentityProviders: { reads: listProviders },
    CreateIdentityProvider: { writes: createProvider },
    UpdateIdentityProvider: { writes: updateProvider },
    GenerateScimToken: { writes: generateScimToken },
    RegenerateScimToken: { writes: regenerateScimToken },
    RevokeScimToken: { writes: revokeScimToken },
    SetScimEnabled: { writes: setScimEnabled },
  },
});
