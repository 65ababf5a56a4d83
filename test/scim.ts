// An identity provider as SCIM sees it: its token, its address, and requests there.

import { builtInRoleUid } from "#authz";
import { isObject, type Json, type JsonObject, text } from "#base/json.ts";
import type { World } from "./world.ts";

export interface ScimAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: JsonObject;
}

export interface ScimProvider {
  readonly uid: string;
  readonly token: string;
  /** "http://…/scim/v2/…" */
  readonly base: string;
  /** One request below the provider's address. */
  ask(verb: string, path: string, body?: Json, headers?: Readonly<Record<string, string>>): Promise<ScimAnswer>;
}

const service = "iam.IdentityProvidersService";

/** One request at a SCIM address. `body`: a text is sent as it is. */
export const askScim = async (
  url: string,
  token: string | undefined,
  verb: string,
  body?: Json,
  headers: Readonly<Record<string, string>> = {},
): Promise<ScimAnswer> => {
  const response = await fetch(url, {
    method: verb,
    headers: {
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { "content-type": "application/scim+json" }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
  });
  const read = await response.text();
  const parsed = read === "" ? {} : (JSON.parse(read) as Json);
  return { status: response.status, headers: response.headers, body: isObject(parsed) ? parsed : {} };
};

/** Two owners of the organization whom no provider's SCIM reaches. */
export const makeOwners = async (world: World, organization = world.organization): Promise<void> => {
  for (const name of ["first", "second"]) {
    const made = await world.ok("iam.IdentitiesService/CreateIdentity", {
      parent: organization,
      identity: { name: `${name} owner`, claimMatch: { issuer: "https://owners.example.com", subject: name } },
    });
    await world.ok("iam.RoleBindingsService/CreateRoleBinding", {
      parent: organization,
      roleBinding: { identityUid: text(made, "uid"), roleUid: builtInRoleUid("owner") },
    });
  }
};

/** Switches SCIM on for an identity provider of an organization that has its owners, and gives its token. */
export const enableScim = async (world: World, uid: string): Promise<ScimProvider> => {
  const { token, etag } = await world.ok(`${service}/GenerateScimToken`, { identityProviderUid: uid });
  await world.ok(`${service}/SetScimEnabled`, { identityProviderUid: uid, enabled: true, etag: etag ?? "" });
  const base = `${world.url}/scim/v2/${uid}`;
  return { uid, token: String(token), base, ask: (verb, path, body, headers) => askScim(base + path, String(token), verb, body, headers) };
};

/** An identity provider of the organization with SCIM. */
export const openScimProvider = async (world: World, issuer = "https://login.example.com", more: JsonObject = {}): Promise<ScimProvider> => {
  const made = await world.ok(`${service}/CreateIdentityProvider`, {
    parent: world.organization,
    identityProvider: { name: "corporate", defaultRole: builtInRoleUid("viewer"), oidc: { issuer, clientId: "gantry", pkceEnabled: true }, ...more },
  });
  return enableScim(world, text(made, "uid"));
};
