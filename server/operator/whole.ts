// What needs the whole server: loaded when it is asked for, so that a command that needs none of it (--version,
// login) starts without the contract and the database's driver.

import type { FeedImport, FeedSummary, RegistryImport, RegistrySummary } from "#feeds";
import type { House, Kernel } from "#kernel";
import type { HouseOptions, OpenHouse } from "./house.ts";
import type { Person } from "./person.ts";
import type { Tailing } from "./tail.ts";
import type { Server, ServerOptions } from "./serve.ts";
import type { Settings } from "./config.ts";

export const openHouse = async (options: HouseOptions): Promise<OpenHouse> => (await import("./house.ts")).openHouse(options);

export const startServer = async (settings: Settings, options: ServerOptions): Promise<Server> =>
  (await import("./serve.ts")).startServer(settings, options);

export const registerPerson = async (house: House, person: Person): Promise<string> => (await import("./person.ts")).registerPerson(house, person);

export const importRegistry = async (kernel: Kernel, work: RegistryImport): Promise<RegistrySummary> =>
  (await import("#feeds")).importRegistry(kernel, work);

export const importFeed = async (house: House, work: FeedImport): Promise<FeedSummary> => (await import("#feeds")).importFeed(house, work);

/** The identity that may do everything. */
export const operator = async (): Promise<string> => (await import("#authz")).operatorUid;

export const setSuspended = async (open: OpenHouse, given: string, suspended: boolean): Promise<{ readonly uid: string; readonly name: string }> =>
  (await import("./organization.ts")).setSuspended(open, given, suspended);

export const tailEvents = async (open: OpenHouse, tailing: Tailing): Promise<void> => (await import("./tail.ts")).tail(open, tailing);
