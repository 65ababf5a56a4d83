// The composition root: puts store, vault, authn, audit log and kernel together. A server adds the transports, sign-in
// and what runs by itself (server.ts); a command works in it directly, beside a running server or without one.

import { openAudit } from "#audit";
import { checkAuthnOptions, openAuthn } from "#authn";
import { enqueueEvents } from "#delivery";
import { type NumberEvents, openNumbering } from "#outbox";
import { writeBuiltIns } from "#authz";
import type { Log } from "#base/log.ts";
import { type Clock, systemClock, timestamp } from "#base/time.ts";
import { capabilities } from "#contract/capabilities.ts";
import { type Services, type Kernel, makeServe, openKernel, type Serve, termsOf } from "#kernel";
import { type Metrics, unmeasured } from "#metrics";
import { resources } from "#resources";
import { bindSealed, findRestores, openVault, type Vault } from "#store";
import { openOwnBlobPlace } from "./blob-place.ts";
import { openDatabase } from "./database.ts";
import { type OperatorCall, operatorCalls } from "./operator-calls.ts";
import type { Settings } from "./settings.ts";
import { version } from "./version.ts";

export interface Application {
  readonly services: Services;
  readonly kernel: Kernel;
  readonly serve: Serve;
  /** Gives new events their positions. */
  readonly numberEvents: NumberEvents;
  readonly call: OperatorCall;
  /** Stops what runs by itself, then the store. */
  close(): Promise<void>;
}

export interface ApplicationOptions {
  readonly settings: Settings;
  readonly log: Log;
  /** What its parts count with; absent: nothing is counted. */
  readonly metrics?: Metrics;
  readonly clock?: Clock;
  readonly progress?: (line: string) => void;
  /** Beside a running server: share its embedded database. */
  readonly join?: boolean;
}

export const openApplication = async ({
  settings,
  log,
  metrics = unmeasured,
  clock = systemClock,
  progress = () => {},
  join = false,
}: ApplicationOptions): Promise<Application> => {
  // What is wrong in a setting is told before anything is made, migrated or waited for.
  checkAuthnOptions(settings);
  const ownVault = (): Promise<Vault> =>
    openVault({ file: settings.secretKeyFile, dataDirectory: settings.dataDirectory, required: settings.databaseUrl !== undefined });
  const given = settings.secretKeyFile === undefined ? undefined : await ownVault();
  const store = await openDatabase({ settings, log, metrics, progress, join });
  try {
    // Made in the data directory, which the embedded PostgreSQL makes with the rights that it needs.
    const vault = given ?? (await ownVault());
    await bindSealed(store, vault);
    const authn = await openAuthn({
      store,
      vault,
      clock,
      log,
      metrics,
      issuer: settings.publicUrl,
      audiences: settings.audiences,
      egressAllow: settings.egressAllow,
      caFile: settings.caFile,
      issuerHosts: settings.issuerHosts,
      mailIssuers: settings.mailIssuers,
      awsStsUrl: settings.awsStsUrl,
      knownCapabilities: new Set(capabilities.map(({ name }) => name)),
    });
    const numberEvents = openNumbering(store, enqueueEvents, log);
    const audit = openAudit({ store, vault, clock, log, publicUrl: settings.publicUrl, numberEvents });
    const blobs = await openOwnBlobPlace({ store, clock, settings, join });
    const lastWorks: (() => Promise<void>)[] = [];
    const services: Services = {
      onStop: (work) => void lastWorks.push(work),
      store,
      blobs,
      anonymousPull: settings.anonymousPull,
      feedStaleMs: settings.feedStaleHours * 60 * 60 * 1000,
      deletedKeptMs: settings.deletedDays * 24 * 60 * 60 * 1000,
      authn,
      audit,
      clock,
      log,
      metrics,
      seal: vault,
      version,
      publicUrl: settings.publicUrl,
      publisher: settings.publisher,
      openOrganizations: settings.openOrganizations,
      freeMailDomains: settings.freeMailDomains,
      listMax: settings.listMax,
      plainIssuers: settings.egressAllow !== "",
      terms: termsOf(settings.terms),
      restoredMs: (await findRestores(store.read)).at(-1)?.restoreMs,
    };
    const kernel = await openKernel(services, resources);
    // Only now: a table that does not fit the contract is told as such, and not as what PostgreSQL says of this statement.
    await store.write((rows) => writeBuiltIns(rows, timestamp(clock())));
    const serve = makeServe(kernel);
    return {
      services,
      kernel,
      serve,
      numberEvents,
      call: operatorCalls(serve, services),
      async close() {
        await Promise.all(lastWorks.map((work) => work()));
        await audit.stop();
        await authn.close();
        await blobs.close();
        await store.close();
      },
    };
  } catch (thrown) {
    await store.close();
    throw thrown;
  }
};
