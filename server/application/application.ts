// Composition root: store, vault, authn, audit log and kernel. The server adds transports and background work (server.ts); commands
// use it directly, with or without a running server.

import { openAudit } from "#audit/log";
import { enqueueEvents } from "#events/delivery";
import { type NumberEvents, openNumbering } from "#outbox";
import { writeBuiltIns } from "#authz";
import { alone } from "#base/siblings.ts";
import { systemClock, timestamp } from "#base/time.ts";
import { type Services, type Kernel, makeServe, openKernel, type Serve, termsOf } from "#kernel";
import { unreported } from "#health";
import { unmeasured } from "#metrics";
import { resources } from "./resources.ts";
import { findRestores } from "#audit/store";
import { openOwnBlobPlace } from "./blob-place.ts";
import { type FoundationOptions, openFoundation } from "./foundation.ts";
import { type OperatorCall, operatorCalls } from "./operator-calls.ts";
import { version } from "./version.ts";

export interface Application {
  readonly services: Services;
  readonly kernel: Kernel;
  readonly serve: Serve;
  readonly numberEvents: NumberEvents;
  readonly call: OperatorCall;
  /** Stops background work, then the store. */
  close(): Promise<void>;
}

export type ApplicationOptions = FoundationOptions;

export const openApplication = async (options: ApplicationOptions): Promise<Application> => {
  const { settings, log, metrics = unmeasured, health = unreported(), clock = systemClock, join = false, siblings = alone } = options;
  const { store, vault, authn } = await openFoundation(options);
  try {
    const numberEvents = openNumbering(store, enqueueEvents, log);
    const audit = openAudit({ siblings, store, vault, clock, log, publicUrl: settings.publicUrl, numberEvents });
    const blobs = await openOwnBlobPlace({ store, clock, settings, health, join });
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
      siblings,
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
    // After openKernel, which reports a table that does not fit the contract more clearly than PostgreSQL would here.
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
