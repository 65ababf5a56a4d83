// Puts the rooms together: store, vault, issuer, kernel. A server adds doors (serve.ts); a command works in it
// directly, beside a running server or without one.

import { openAudit } from "#audit";
import { openAuthn } from "#authn";
import { operatorUid, writeBuiltIns } from "#authz";
import type { Log } from "#base/log.ts";
import { type Clock, systemClock, timestamp } from "#base/time.ts";
import { capabilities } from "#contract/capabilities.ts";
import { readingOf, unreadCall } from "#contract/call.ts";
import { methodByName } from "#contract/catalog.ts";
import type { JsonObject } from "#base/json.ts";
import { type Services, type Kernel, makeServe, openKernel, type Serve, termsOf } from "#kernel";
import { resources } from "#resources";
import { openVault } from "#store";
import type { Settings } from "./config.ts";
import { openDatabase } from "./database.ts";

export interface Application {
  readonly services: Services;
  readonly kernel: Kernel;
  readonly serve: Serve;
  /** Makes a call as the operator, the same way as any other call. */
  call(method: string, request: JsonObject, options?: { readonly idempotencyKey?: string }): Promise<JsonObject>;
  close(): Promise<void>;
}

export interface ApplicationOptions {
  readonly settings: Settings;
  readonly log: Log;
  readonly clock?: Clock;
  readonly progress?: (line: string) => void;
  /** Beside a running server: share its embedded database. */
  readonly join?: boolean;
}

const commandOrigin = { address: "", userAgent: "gantry" };
const commandTokenMs = 10 * 60 * 1000;

export const openApplication = async ({ settings, log, clock = systemClock, progress = () => {}, join = false }: ApplicationOptions): Promise<Application> => {
  const store = await openDatabase({ settings, log, progress, join });
  try {
    const vault = await openVault({ file: settings.secretKeyFile, dataDirectory: settings.dataDirectory, required: settings.databaseUrl !== undefined });
    await store.write((rows) => writeBuiltIns(rows, timestamp(clock())));
    const authn = await openAuthn({
      store,
      vault,
      clock,
      log,
      issuer: settings.publicUrl,
      audiences: settings.audiences,
      egressAllow: settings.egressAllow,
      awsStsUrl: settings.awsStsUrl,
      knownCapabilities: new Set(capabilities.map(({ name }) => name)),
    });
    const audit = openAudit({ store, vault, clock, log, publicUrl: settings.publicUrl });
    const services: Services = {
      store,
      authn,
      audit,
      clock,
      log,
      seal: vault,
      publicUrl: settings.publicUrl,
      openOrganizations: settings.openOrganizations,
      freeMailDomains: settings.freeMailDomains,
      plainIssuers: settings.egressAllow !== "",
      terms: termsOf(settings.terms),
    };
    const kernel = await openKernel(services, resources);
    const serve = makeServe(kernel);
    let token = { text: "", untilMs: 0 };
    const authorization = async (): Promise<string> => {
      if (token.untilMs - clock() < commandTokenMs / 2) {
        const text = await authn.mint({ uid: operatorUid, audience: [settings.publicUrl], lifetimeMs: commandTokenMs });
        token = { text, untilMs: clock() + commandTokenMs };
      }
      return `Bearer ${token.text}`;
    };
    return {
      services,
      kernel,
      serve,
      async call(name, request, { idempotencyKey } = {}) {
        const method = methodByName(name);
        if (!method) throw new Error(`no operation ${name}`);
        const options = { authorization: await authorization(), idempotencyKey, requestId: crypto.randomUUID(), origin: () => commandOrigin };
        const { message } = await serve(unreadCall(method, options, () => readingOf(request)));
        return message;
      },
      async close() {
        await audit.stop();
        await authn.close();
        await store.close();
      },
    };
  } catch (thrown) {
    await store.close();
    throw thrown;
  }
};
