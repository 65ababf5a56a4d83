// Store, vault and authn. Commands that need no API operation use only these, without loading the rest.

import { type Authn, checkAuthnOptions, openAuthn } from "#authn";
import type { Log } from "#base/log.ts";
import { alone, type Siblings } from "#base/siblings.ts";
import { type Clock, systemClock } from "#base/time.ts";
import { capabilities } from "#contract/capabilities.ts";
import { type Health, unreported } from "#health";
import { type Metrics, unmeasured } from "#metrics";
import { openVault, type Store, type StoreOptions, type Vault } from "#db";
import { type DatabaseAddresses, openDatabase } from "./database.ts";
import type { Settings } from "./settings.ts";

export interface FoundationOptions {
  readonly settings: Settings;
  readonly log: Log;
  readonly metrics?: Metrics;
  readonly health?: Health;
  readonly onTime?: StoreOptions["onTime"];
  readonly clock?: Clock;
  readonly progress?: (line: string) => void;
  readonly join?: boolean;
  readonly siblings?: Siblings;
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
  health = unreported(),
  onTime,
  clock = systemClock,
  progress = () => {},
  join = false,
  siblings = alone,
  embedded,
}: FoundationOptions): Promise<Foundation> => {
  // Reports invalid settings before anything is created or migrated.
  checkAuthnOptions(settings);
  const ownVault = (): Promise<Vault> =>
    openVault({ file: settings.secretKeyFile, dataDirectory: settings.dataDirectory, required: settings.databaseUrl !== undefined });
  const given = settings.secretKeyFile === undefined ? undefined : await ownVault();
  const store = await openDatabase({ settings, log, metrics, health, onTime, progress, join, siblings, embedded });
  try {
    // Created in the data directory, after embedded PostgreSQL has created that with its permissions.
    const vault = given ?? (await ownVault());
    const authn = await openAuthn({
      store,
      vault,
      clock,
      log,
      metrics,
      health,
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
