// What needs the whole server: loaded when it is asked for, so that a command that needs none of it (--version,
// login) starts without the contract and the database's driver.

import type { FeedImport, FeedSummary, RegistryImport, RegistrySummary } from "#feeds";
import type { Services, Kernel } from "#kernel";
import type { Verification } from "./audit.ts";
import type { ApplicationOptions, Application } from "./application.ts";
import type { Person } from "./person.ts";
import type { Tailing } from "./tail.ts";
import type { Server, ServerOptions } from "./serve.ts";
import type { Settings } from "./config.ts";

export const openApplication = async (options: ApplicationOptions): Promise<Application> => (await import("./application.ts")).openApplication(options);

export const startServer = async (settings: Settings, options: ServerOptions): Promise<Server> => (await import("./serve.ts")).startServer(settings, options);

export const registerPerson = async (kernel: Kernel, person: Person): Promise<string> => (await import("./person.ts")).registerPerson(kernel, person);

export const importRegistry = async (kernel: Kernel, work: RegistryImport): Promise<RegistrySummary> => (await import("#feeds")).importRegistry(kernel, work);

export const importFeed = async (services: Services, work: FeedImport): Promise<FeedSummary> => (await import("#feeds")).importFeed(services, work);

export const setSuspended = async (open: Application, given: string, suspended: boolean): Promise<{ readonly uid: string; readonly name: string }> =>
  (await import("./organization.ts")).setSuspended(open, given, suspended);

export const verifyAudit = async (open: Application, verification: Verification): Promise<boolean> =>
  (await import("./audit.ts")).verifyAudit(open, verification);

export const mintToken = async (services: Services, identity: string | undefined, audience: string | undefined): Promise<string> =>
  (await import("./token.ts")).mintToken(services, identity, audience);

export const tailEvents = async (open: Application, tailing: Tailing): Promise<void> => (await import("./tail.ts")).tail(open, tailing);
