// A server with organizations of known sizes, each with a viewer.

import type { Application } from "#application";
import { addOrganization, databaseOf, openBeside, type Organization } from "./callers.ts";
import type { DatabaseAddress } from "./load.ts";
import { type Folder, type Process, type Serving, liftRates, serve, type Site } from "./processes.ts";
import { fillRepos, vacuumTables, withClient, withoutIndexes } from "./seed.ts";

/** A data directory with its rows, without a server. */
export interface PreparedFixture {
  readonly site: Site;
  of(repos: number): Organization;
}

/** The running server and its application. */
export interface Fixture extends PreparedFixture {
  readonly process: Process;
  readonly application: Application;
  readonly database: DatabaseAddress;
}

const fillOrganization = async (application: Application, database: DatabaseAddress, repos: number): Promise<Organization> => {
  const organization = await addOrganization(application, `organization of ${repos}`, "viewer");
  await withClient(database, (client) => withoutIndexes(client, "repos", () => fillRepos(client, organization.uid, repos, String(repos))));
  return organization;
};

/** Creates a data directory with an organization of each size. */
export const prepareFixture = async (folder: Folder, name: string, sizes: readonly number[]): Promise<PreparedFixture> => {
  const site = await folder.site(name);
  const process = await serve(site);
  const [application, database] = [await openBeside(site), await databaseOf(site)];
  const organizations = new Map<number, Organization>();
  for (const size of sizes) organizations.set(size, await fillOrganization(application, database, size));
  await withClient(database, (client) => vacuumTables(client, "repos"));
  await application.close();
  await liftRates(site);
  await process.stop();
  return {
    site,
    of(repos) {
      const organization = organizations.get(repos);
      if (!organization) throw new Error(`no organization of ${repos} repos in ${name}`);
      return organization;
    },
  };
};

export const startFixture = async (prepared: PreparedFixture, serving: Serving): Promise<Fixture> => {
  const process = await serve(prepared.site, serving);
  return { ...prepared, process, application: await openBeside(prepared.site, serving.settings), database: await databaseOf(prepared.site) };
};

export const stopFixture = async ({ application, process }: Fixture): Promise<void> => {
  await application.close();
  await process.stop();
};
