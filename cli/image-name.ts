// Names of images on the command line: REPO:TAG and REPO@DIGEST.

import { isUid } from "#base/uid.ts";

export interface ImageName {
  readonly repo: string;
  /** A tag or a digest; "" for none. */
  readonly reference: string;
}

/** Parses REPO:TAG and REPO@DIGEST. */
export const readImage = (given: string): ImageName => {
  const at = given.indexOf("@");
  const colon = given.lastIndexOf(":");
  if (at > 0) return { repo: given.slice(0, at), reference: given.slice(at + 1) };
  return colon > given.lastIndexOf("/") ? { repo: given.slice(0, colon), reference: given.slice(colon + 1) } : { repo: given, reference: "" };
};

/** Returns the path from the organization on. A path below the context's organization may leave out its name. */
export const pathIn = (organization: string | undefined, repo: string): string => {
  if (isUid(repo) || organization === undefined) return repo.replace(/^\//, "");
  if (repo.startsWith("/")) return repo.slice(1);
  return repo.startsWith(`${organization}/`) ? repo : `${organization}/${repo}`;
};
