// An identity provider's SCIM client: token, URL and requests.

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
  ask(verb: string, path: string, body?: Json, headers?: Readonly<Record<string, string>>): Promise<ScimAnswer>;
}

const service = "iam.IdentityProvidersService";

/** Sends a request to a SCIM URL. A string `body` is sent unchanged. */
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

/** Creates two owners of the organization outside any provider's SCIM. */
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

/** Enables SCIM for an identity provider and returns its token. */
export const enableScim = async (world: World, uid: string): Promise<ScimProvider> => {
  const { token, etag } = await world.ok(`${service}/GenerateScimToken`, { identityProviderUid: uid });
  await world.ok(`${service}/SetScimEnabled`, { identityProviderUid: uid, enabled: true, etag: etag ?? "" });
  const base = `${world.url}/scim/v2/${uid}`;
  return { uid, token: String(token), base, ask: (verb, path, body, headers) => askScim(base + path, String(token), verb, body, headers) };
};

export const openScimProvider = async (world: World, issuer = "https://login.example.com", more: JsonObject = {}): Promise<ScimProvider> => {
  const made = await world.ok(`${service}/CreateIdentityProvider`, {
    parent: world.organization,
    identityProvider: { name: "corporate", defaultRole: builtInRoleUid("viewer"), oidc: { issuer, clientId: "gantry", pkceEnabled: true }, ...more },
  });
  return enableScim(world, text(made, "uid"));
};
