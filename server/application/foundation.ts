// What everything in the database stands on: the store, the vault and authn. A command that needs no operation of the API works with
// these alone, without loading the rest.

import { type Authn, checkAuthnOptions, openAuthn } from "#authn";
import type { Log } from "#base/log.ts";
import { alone, type Siblings } from "#base/siblings.ts";
import { type Clock, systemClock } from "#base/time.ts";
import { capabilities } from "#contract/capabilities.ts";
import { type Metrics, unmeasured } from "#metrics";
import { openVault, type Store, type Vault } from "#db";
import { type DatabaseAddresses, openDatabase } from "./database.ts";
import type { Settings } from "./settings.ts";

export interface FoundationOptions {
  readonly settings: Settings;
  readonly log: Log;
  /** What its parts count with; absent: nothing is counted. */
  readonly metrics?: Metrics;
  readonly clock?: Clock;
  readonly progress?: (line: string) => void;
  /** Beside a running server: share its embedded database. */
  readonly join?: boolean;
  /** The processes that serve together; absent: this one alone. */
  readonly siblings?: Siblings;
  /** The embedded database, which another process of this server has started. */
  readonly embedded?: DatabaseAddresses | undefined;
}

export interface Foundation {
  readonly store: Store;
  readonly vault: Vault;
  readonly authn: Authn;
}

export const openFoundation = async ({
  settings,
  log,
  metrics = unmeasured,
  clock = systemClock,
  progress = () => {},
  join = false,
  siblings = alone,
  embedded,
}: FoundationOptions): Promise<Foundation> => {
  // What is wrong in a setting is told before anything is made, migrated or waited for.
  checkAuthnOptions(settings);
  const ownVault = (): Promise<Vault> =>
    openVault({ file: settings.secretKeyFile, dataDirectory: settings.dataDirectory, required: settings.databaseUrl !== undefined });
  const given = settings.secretKeyFile === undefined ? undefined : await ownVault();
  const store = await openDatabase({ settings, log, metrics, progress, join, siblings, embedded });
  try {
    // Made in the data directory, which the embedded PostgreSQL makes with the rights that it needs.
    const vault = given ?? (await ownVault());
    const authn = await openAuthn({
      store,
      vault,
      clock,
      log,
      metrics,
      siblings,
      issuer: settings.publicUrl,
      audiences: settings.audiences,
      egressAllow: settings.egressAllow,
      caFile: settings.caFile,
      issuerHosts: settings.issuerHosts,
      mailIssuers: settings.mailIssuers,
      awsStsUrl: settings.awsStsUrl,
      knownCapabilities: new Set(capabilities.map(({ name }) => name)),
    });
    return { store, vault, authn };
  } catch (thrown) {
    await store.close();
    throw thrown;
  }
};
