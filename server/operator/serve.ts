// `gantry serve`: the whole server, and what a person is told at its start.

import { Fault } from "#base/fault.ts";
import type { Log } from "#base/log.ts";
import { text } from "#base/json.ts";
import type { Clock } from "#base/time.ts";
import { openDocuments, type Schedule } from "#feeds";
import { openSignIn } from "#signin";
import { type Transport, httpStatusOf, openTransport } from "#transport";
import { type Delivery, openDelivery } from "#delivery";
import type { Settings } from "./config.ts";
import { destination } from "./destination.ts";
import { openApplication, type Application } from "./application.ts";
import { issuerEndpoints } from "./issuer-endpoints.ts";
import { startMaintenance } from "./maintenance.ts";
import { version } from "./version.ts";

export interface ServerOptions {
  readonly log: Log;
  readonly clock?: Clock;
  readonly progress?: (line: string) => void;
  /** Events are sent when somebody says so (Server.delivery), not by themselves. */
  readonly deliversByHand?: boolean;
}

export interface Server {
  readonly application: Application;
  readonly transport: Transport;
  readonly delivery: Delivery;
  /** The organization made at the very first start; undefined at every later one. */
  readonly firstOrganization: string | undefined;
  /** Imports that the server repeats by itself; undefined without GANTRY_FEEDS. */
  readonly feeds: Schedule | undefined;
  /** Finishes what is in flight, then stops the store. */
  close(): Promise<void>;
}

const listRoots = { name: "chainguard.platform.iam.v2.GroupsService/ListGroups", request: { uidp: { inRoot: true }, pageSize: 1 } };

/** An empty store gets its first organization, once, also when several servers start at the same time. */
const makeFirstOrganization = async ({ call }: Application): Promise<string | undefined> => {
  const { totalCount } = await call(listRoots.name, listRoots.request);
  if (totalCount !== "0") return undefined;
  const made = await call(
    "chainguard.platform.iam.v2.GroupsService/CreateGroup",
    { group: { name: "first organization" } },
    { idempotencyKey: "first organization" },
  );
  return text(made, "uid");
};

/** Why the port cannot be had, in one line; anything else as it is. */
const portFault = ({ host, port }: Settings, thrown: unknown): unknown => {
  const code = thrown instanceof Error && "code" in thrown ? String(thrown.code) : "";
  const reasons: Readonly<Record<string, string>> = {
    EADDRINUSE: "another program listens there already",
    EADDRNOTAVAIL: "it is no address of this machine",
    EACCES: "this user may not listen there",
    ENOTFOUND: "there is no host of that name",
    EAI_AGAIN: "the host's name cannot be looked up",
  };
  const reason = reasons[code];
  return reason === undefined ? thrown : new Fault("FAILED_PRECONDITION", `GANTRY_LISTEN: cannot listen on ${host}:${port}: ${reason}`, { cause: thrown });
};

export const startServer = async (settings: Settings, options: ServerOptions): Promise<Server> => {
  const open = await openApplication({ settings, ...options });
  let feeds: Schedule | undefined;
  try {
    const firstOrganization = await makeFirstOrganization(open);
    if (settings.feedsFile !== undefined) {
      const { startFeeds } = await import("#feeds");
      feeds = await startFeeds(settings.feedsFile, open.services, (group) => destination(open, group, "group"));
    }
    const { authn, store } = open.services;
    const signIn = openSignIn({ ...open.services, vault: open.services.seal, origins: settings.corsOrigins, statusOf: httpStatusOf });
    const doors = await openTransport(
      {
        host: settings.host,
        port: settings.port,
        ...(settings.tls ? { tls: settings.tls } : {}),
        serviceDomain: settings.serviceDomain,
        publicUrl: settings.publicUrl,
        corsOrigins: settings.corsOrigins,
        trustedProxies: settings.trustedProxies,
        log: options.log,
        version,
      },
      {
        serve: open.serve,
        issuer: issuerEndpoints(signIn),
        documents: openDocuments({ store, publicUrl: settings.publicUrl }),
        ready: async () => (await store.read.query("select 1")).length === 1,
      },
    ).catch((thrown: unknown) => {
      throw portFault(settings, thrown);
    });
    const delivery = openDelivery(
      { ...open.services, vault: open.services.seal, outbound: authn.outbound, delaysSeconds: settings.deliveryDelaysSeconds, userAgent: `gantry/${version}` },
      { publicUrl: settings.publicUrl, byHand: options.deliversByHand === true },
    );
    if (options.deliversByHand !== true) open.services.audit.start();
    const upkeep = startMaintenance(open.services, settings.auditMonths);
    void feeds?.turn();
    return {
      application: open,
      transport: doors,
      firstOrganization,
      feeds,
      delivery,
      async close() {
        upkeep.stop();
        // At once: each has its seconds for what is in flight.
        await Promise.all([feeds?.stop(), doors.close(), delivery.stop()]);
        await open.close();
      },
    };
  } catch (thrown) {
    await feeds?.stop();
    await open.close();
    throw thrown;
  }
};
