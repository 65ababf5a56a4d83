// Images as arguments: REPO:TAG and REPO@DIGEST. Below the organization of the context, paths may omit its name.

import { isUid } from "#base/uid.ts";
import { text } from "#base/json.ts";
import { methodByName } from "#contract/catalog.ts";
import type { Client } from "#contract-client";

export interface NamedImage {
  readonly repo: string;
  /** A tag or a digest; "" for none. */
  readonly reference: string;
}

/** Parses REPO:TAG and REPO@DIGEST. */
export const readNamedImage = (given: string): NamedImage => {
  const at = given.indexOf("@");
  const colon = given.lastIndexOf(":");
  if (at > 0) return { repo: given.slice(0, at), reference: given.slice(at + 1) };
  return colon > given.lastIndexOf("/") ? { repo: given.slice(0, colon), reference: given.slice(colon + 1) } : { repo: given, reference: "" };
};

/** Returns the path from the organization on. */
export const pathIn = (organization: string | undefined, repo: string): string => {
  if (isUid(repo) || organization === undefined) return repo.replace(/^\//, "");
  if (repo.startsWith("/")) return repo.slice(1);
  return repo.startsWith(`${organization}/`) ? repo : `${organization}/${repo}`;
};

/** Returns the name of the context's organization, which may be a uid. */
export const findOrganizationName = async (client: Client, organization: string | undefined): Promise<string | undefined> => {
  const getGroup = methodByName("chainguard.platform.iam.v2.GroupsService/GetGroup");
  const isNamed = organization === undefined || getGroup === undefined || !isUid(organization);
  return isNamed ? organization : text(await client.call(getGroup, { uid: organization }), "name");
};
