// Variants for SCIM: users provisioned one by one, as directories do, compared with identities created over REST; each over one
// connection, sequentially.

import { builtInRoleUid } from "#authz";
import { type JsonObject, text } from "#base/json.ts";
import type { Environment, Variant } from "./environment.ts";

const iam = "chainguard.platform.iam.v2";
let made = 0;

const oneByOne = async (seconds: number, url: string, authorization: string, bodyOf: (index: number) => JsonObject): Promise<number> => {
  const [started, before] = [performance.now(), made];
  while (performance.now() - started < seconds * 1000) {
    const headers = { authorization, "content-type": "application/json" };
    const response = await fetch(url, { method: "POST", headers, body: JSON.stringify(bodyOf(++made)) });
    const answer = await response.text();
    if (!response.ok) throw new Error(`${url} answers ${response.status}: ${answer}`);
  }
  return (made - before) / ((performance.now() - started) / 1000);
};

const makeOrganization = async ({ fixture }: Environment): Promise<string> =>
  text(await fixture().application.call(`${iam}.GroupsService/CreateGroup`, { group: { name: `bench scim ${++made}` } }), "uid");

const restIdentities: Variant = {
  label: "gantry, identities one by one over REST",
  unit: "1/s",
  async prepare(environment) {
    const { application, process } = environment.fixture();
    const organization = await makeOrganization(environment);
    const { services } = application;
    const identity = (index: number): JsonObject => ({
      name: `person ${index}`,
      claimMatch: { issuer: "https://issuer.example.com", subject: `person-${index}` },
    });
    const owner = text(await application.call(`${iam}.IdentitiesService/CreateIdentity`, { parent: organization, identity: identity(++made) }), "uid");
    const roleBinding = { identityUid: owner, roleUid: builtInRoleUid("owner") };
    await application.call(`${iam}.RoleBindingsService/CreateRoleBinding`, { parent: organization, roleBinding });
    const authorization = `Bearer ${await services.authn.mint({ uid: owner, audience: [services.publicUrl] })}`;
    return (seconds) => oneByOne(seconds, `${process.url}/iam/v2/identities/${organization}`, authorization, identity);
  },
};

const scimUsers: Variant = {
  label: "gantry, people one by one over SCIM",
  unit: "1/s",
  async prepare(environment) {
    const { application, process } = environment.fixture();
    const organization = await makeOrganization(environment);
    for (const subject of ["first", "second"]) {
      const identity = { name: subject, claimMatch: { issuer: "https://owners.example.com", subject: `${organization} ${subject}` } };
      const { uid } = await application.call(`${iam}.IdentitiesService/CreateIdentity`, { parent: organization, identity });
      const roleBinding = { identityUid: String(uid), roleUid: builtInRoleUid("owner") };
      await application.call(`${iam}.RoleBindingsService/CreateRoleBinding`, { parent: organization, roleBinding });
    }
    const providers = `${iam}.IdentityProvidersService`;
    const identityProvider = {
      name: "people",
      defaultRole: builtInRoleUid("viewer"),
      oidc: { issuer: "https://people.example.com", clientId: "gantry", pkceEnabled: true },
    };
    const uid = text(await application.call(`${providers}/CreateIdentityProvider`, { parent: organization, identityProvider }), "uid");
    const { token, etag } = await application.call(`${providers}/GenerateScimToken`, { identityProviderUid: uid });
    await application.call(`${providers}/SetScimEnabled`, { identityProviderUid: uid, enabled: true, etag: etag ?? "" });
    const person = (index: number): JsonObject => ({
      schemas: ["urn:ietf:params:scim:schemas:core:2.0:User"],
      userName: `person-${index}@example.com`,
      externalId: `person-${index}`,
      name: { givenName: "Given", familyName: `Family ${index}` },
      emails: [{ value: `person-${index}@example.com`, type: "work", primary: true }],
      active: true,
    });
    return (seconds) => oneByOne(seconds, `${process.url}/scim/v2/${uid}/Users`, `Bearer ${String(token)}`, person);
  },
};

export const scimVariants: Readonly<Record<string, Variant>> = { scimUsers, restIdentities };
