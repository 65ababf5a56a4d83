// Realistic organizations and callers: an identity with one role binding, not the operator, whose lists use other statements.

import { builtInRoleUid } from "#authz";
import { type JsonObject, text } from "#base/json.ts";
import { silent } from "#base/log.ts";
import { type Application, openApplication, readSettings } from "#application";
import { startEmbedded } from "#postgres";
import type { DatabaseAddress } from "./load.ts";
import { type Site, settingsOf } from "./processes.ts";

/** Opens the application of a running server, to create callers and capture statements. */
export const openBeside = (site: Site, settings: Readonly<Record<string, string>> = {}): Promise<Application> =>
  openApplication({ settings: readSettings({ ...settingsOf(site), ...settings }), log: silent, join: true });

/** Connects to the server's database as its owner, to insert rows without triggers. */
export const databaseOf = async ({ data }: Site): Promise<DatabaseAddress> => {
  const { ownerAddress } = await startEmbedded({ dataDirectory: data, log: silent, progress: () => {}, join: true });
  return ownerAddress;
};

export const makeOrganization = async (application: Application, name: string): Promise<string> =>
  text(await application.call("chainguard.platform.iam.v2.GroupsService/CreateGroup", { group: { name } }), "uid");

export const makeGroup = async (application: Application, parent: string, name: string): Promise<string> =>
  text(await application.call("chainguard.platform.iam.v2.GroupsService/CreateGroup", { parent, group: { name } }), "uid");

/** Creates an identity in `home` with this built-in role on each of `groups`. Returns its uid. */
export const makeMember = async (application: Application, home: string, groups: readonly string[], role: string): Promise<string> => {
  const identity: JsonObject = { name: "bench", claimMatch: { issuer: "https://issuer.example.com", subject: "bench" } };
  const uid = text(await application.call("chainguard.platform.iam.v2.IdentitiesService/CreateIdentity", { parent: home, identity }), "uid");
  for (const parent of groups) {
    const roleBinding: JsonObject = { identityUid: uid, roleUid: builtInRoleUid(role) };
    await application.call("chainguard.platform.iam.v2.RoleBindingsService/CreateRoleBinding", { parent, roleBinding });
  }
  return uid;
};

export const authorizationOf = async ({ services }: Application, identity: string): Promise<string> =>
  `Bearer ${await services.authn.mint({ uid: identity, audience: [services.publicUrl] })}`;

export interface Organization {
  readonly uid: string;
  readonly authorization: string;
}

export const addOrganization = async (application: Application, name: string, role: string): Promise<Organization> => {
  const uid = await makeOrganization(application, name);
  return { uid, authorization: await authorizationOf(application, await makeMember(application, uid, [uid], role)) };
};
