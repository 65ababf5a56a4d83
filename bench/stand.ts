// A server with organizations of known sizes in its database, each with a caller as there are in life: an identity
// with one binding, to view the organization. Not the operator, whose lists are written differently.

import type { Application } from "#application";
import { authorizationOf, enter, type Folder, makeMember, makeOrganization, placeOf, type Process, type Serving, serve, type Site } from "./ground.ts";
import type { Place } from "./load.ts";
import { fillRepos, settleRows, withClient, withoutIndexes } from "./seed.ts";

export interface Organization {
  readonly uid: string;
  /** What its member sends as Authorization. */
  readonly authorization: string;
}

/** A data directory with its rows; no server runs. */
export interface Prepared {
  readonly site: Site;
  /** The organization with so many repos. */
  of(repos: number): Organization;
}

/** The server on it, and the house behind it, entered beside the server. */
export interface Stand extends Prepared {
  readonly process: Process;
  readonly open: Application;
  readonly place: Place;
}

/** An organization with a member of this role. */
export const addOrganization = async (open: Application, name: string, role: string): Promise<Organization> => {
  const uid = await makeOrganization(open, name);
  return { uid, authorization: await authorizationOf(open, await makeMember(open, uid, [uid], role)) };
};

const fill = async (open: Application, place: Place, repos: number): Promise<Organization> => {
  const organization = await addOrganization(open, `organization of ${repos}`, "viewer");
  await withClient(place, (client) => withoutIndexes(client, "repos", () => fillRepos(client, organization.uid, repos, String(repos))));
  return organization;
};

/** Makes a data directory with an organization of each size. */
export const prepare = async (folder: Folder, name: string, sizes: readonly number[]): Promise<Prepared> => {
  const site = await folder.site(name);
  const process = await serve(site);
  const [open, place] = [await enter(site), await placeOf(site)];
  const organizations = new Map<number, Organization>();
  for (const size of sizes) organizations.set(size, await fill(open, place, size));
  await withClient(place, (client) => settleRows(client, "repos"));
  await open.close();
  await process.stop();
  return {
    site,
    of(repos) {
      const found = organizations.get(repos);
      if (!found) throw new Error(`no organization of ${repos} repos in ${name}`);
      return found;
    },
  };
};

export const start = async (prepared: Prepared, serving: Serving): Promise<Stand> => {
  const process = await serve(prepared.site, serving);
  return { ...prepared, process, open: await enter(prepared.site), place: await placeOf(prepared.site) };
};

export const stop = async ({ open, process }: Stand): Promise<void> => {
  await open.close();
  await process.stop();
};
