// Organizations and callers as they are in life: an identity with one binding, not the operator, whose lists are written
// differently.

import { builtInRoleUid } from "#authz";
import { type JsonObject, text } from "#base/json.ts";
import { silent } from "#base/log.ts";
import { type Application, openApplication, readSettings } from "#application";
import { startEmbedded } from "#postgres";
import type { DatabaseAddress } from "./load.ts";
import { type Site, settingsOf } from "./processes.ts";

/** The application of a running server, opened beside it: to make callers, and to catch the statements of a call. */
export const openBeside = (site: Site, settings: Readonly<Record<string, string>> = {}): Promise<Application> =>
  openApplication({ settings: readSettings({ ...settingsOf(site), ...settings }), log: silent, join: true });

/** The running server's database, as its owner: rows are planted with triggers aside. */
export const databaseOf = async ({ data }: Site): Promise<DatabaseAddress> => {
  const { ownerAddress } = await startEmbedded({ dataDirectory: data, log: silent, progress: () => {}, join: true });
  return ownerAddress;
};

/** A new organization. */
export const makeOrganization = async (application: Application, name: string): Promise<string> =>
  text(await application.call("chainguard.platform.iam.v2.GroupsService/CreateGroup", { group: { name } }), "uid");

export const makeGroup = async (application: Application, parent: string, name: string): Promise<string> =>
  text(await application.call("chainguard.platform.iam.v2.GroupsService/CreateGroup", { parent, group: { name } }), "uid");

/** An identity at `home` that has this built-in role at each of `groups`, and nothing more. Its uid. */
export const makeMember = async (application: Application, home: string, groups: readonly string[], role: string): Promise<string> => {
  const identity: JsonObject = { name: "bench", claimMatch: { issuer: "https://issuer.example.com", subject: "bench" } };
  const uid = text(await application.call("chainguard.platform.iam.v2.IdentitiesService/CreateIdentity", { parent: home, identity }), "uid");
  for (const parent of groups) {
    const roleBinding: JsonObject = { identityUid: uid, roleUid: builtInRoleUid(role) };
    await application.call("chainguard.platform.iam.v2.RoleBindingsService/CreateRoleBinding", { parent, roleBinding });
  }
  return uid;
};

/** What a caller sends as Authorization. */
export const authorizationOf = async ({ services }: Application, identity: string): Promise<string> =>
  `Bearer ${await services.authn.mint({ uid: identity, audience: [services.publicUrl] })}`;

export interface Organization {
  readonly uid: string;
  /** What its member sends as Authorization. */
  readonly authorization: string;
}

/** An organization with a member of this role. */
export const addOrganization = async (application: Application, name: string, role: string): Promise<Organization> => {
  const uid = await makeOrganization(application, name);
  return { uid, authorization: await authorizationOf(application, await makeMember(application, uid, [uid], role)) };
};
