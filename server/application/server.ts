// The whole server: the application with transports, sign-in, deliveries, scheduled imports and maintenance.

import { join } from "node:path";
import type { ClientLimits } from "#authn";
import type { Endpoint } from "#base/endpoint.ts";
import { limits } from "#base/limits.ts";
import type { Log } from "#base/log.ts";
import { alone, type Siblings } from "#base/siblings.ts";
import { type Clock, systemClock } from "#base/time.ts";
import { type Delivery, openDelivery } from "#events/delivery";
import { openConsole } from "#console";
import { openDocs } from "#docs";
import {
  countOutdatedFeeds,
  openCsaf,
  openDocuments,
  openArchives,
  openOsv,
  openSbomReaders,
  openSecdb,
  openVexRepository,
  type OpenDocument,
  type OsvEndpoint,
  type SbomReaders,
  readFeedsFile,
  type Schedule,
  startFeeds,
} from "#advisories/feeds";
import { openHealth, type RunningProbe, startProbe } from "#health";
import { publicReader } from "#advisories/store";
import { combineDocuments, countLog, type MetricsDocument, openCallMetrics, openMetrics, watchProcess } from "#metrics";
import { findRepoBlob } from "#registry/store";
import { type Calls, openCalls, openTraces, type Traces, type TracesOptions } from "#calls";
import { openSignIn } from "#iam/signin";
import { type AuditTargets, openAuditTargets, readTargetsFile } from "#audit/targets";
import { type HandedConnections, httpStatusOf, openPrivatePort, openTransport, type PrivatePort, type Transport } from "#transport";
import { type Application, openApplication } from "./application.ts";
import { watchCertificate } from "./certificate.ts";
import type { DatabaseAddresses } from "./database.ts";
import { makeFirstOrganization } from "./first-organization.ts";
import { findImportGroup } from "./named-group.ts";
import { openAttachedSboms } from "./attached-sboms.ts";
import { type ImageIndexing, openImageIndexing } from "./image-indexing.ts";
import { listenFault } from "./listen-fault.ts";
import { startMaintenance } from "./maintenance.ts";
import { connectionsFor, descriptorProblem, watchClock, watchMachine } from "./machine.ts";
import { openMcpEndpoints } from "./mcp.ts";
import { watchRows } from "./metrics-rows.ts";
import { watchMemory } from "./memory.ts";
import { metricsPath, openMetricsDocument } from "./metrics-document.ts";
import { openApiSource } from "./openapi-source.ts";
import { openOpenApi } from "./openapi.ts";
import { plaintextWarnings } from "./plaintext.ts";
import type { Settings } from "./settings.ts";
import { startTagEnds } from "./tag-ends.ts";
import { startTagRetention } from "./tag-retention.ts";
import { startUntaggedCollection } from "./untagged-manifests.ts";
import { version } from "./version.ts";

export interface ServerOptions {
  readonly log: Log;
  readonly clock?: Clock;
  readonly progress?: (line: string) => void;
  /** Deliver events only on request (Server.delivery). */
  readonly deliversByHand?: boolean;
  readonly lookMs?: number;
  /** Set for one of several worker processes. */
  readonly worker?: WorkerPart;
}

/** A worker's links to the other processes. */
export interface WorkerPart {
  readonly siblings: Siblings;
  readonly handed: HandedConnections;
  readonly embedded: DatabaseAddresses | undefined;
  readonly readAllMetrics: () => Promise<readonly MetricsDocument[]>;
}

export interface Server {
  readonly application: Application;
  readonly transport: Transport;
  readonly calls: Calls;
  readonly delivery: Delivery;
  /** Created at the very first start; undefined later. */
  readonly firstOrganization: string | undefined;
  readonly auditTargets: AuditTargets;
  /** Scheduled imports; undefined without GANTRY_FEEDS. */
  readonly feeds: Schedule | undefined;
  /** Reads pushed SBOMs in the background. */
  readonly sboms: SbomReaders;
  /** Reads the layers of pushed images in the background. */
  readonly contents: ImageIndexing;
  /** Reloads the certificate. Resolves once it is loaded or refused. */
  reload(): Promise<void>;
  /** Metrics of this process only. */
  readMetrics(): Promise<MetricsDocument>;
  /** Finishes requests in flight within limits.stopMs, then stops the store. */
  close(): Promise<void>;
}

/** Applies the client's rate limit before reading the request. `offered` maps names to finders. */
const limitedDocuments =
  (
    offered: Readonly<Record<string, (path: string) => Partial<OsvEndpoint> | undefined>>,
    clientLimits: ClientLimits,
  ): ((path: string) => Endpoint | undefined) =>
  (path) => {
    let found: Partial<OsvEndpoint> | undefined;
    let name = "";
    for (const [each, find] of Object.entries(offered)) {
      found = find(path);
      name = each;
      if (found !== undefined) break;
    }
    if (found === undefined) return undefined;
    const { GET: get, POST: post, requests = 1, ...rest } = found;
    const limited =
      (handle: NonNullable<Endpoint["GET"]>): NonNullable<Endpoint["GET"]> =>
      async (request) => {
        clientLimits.take("open-reads", request.origin.address, requests);
        return handle(request);
      };
    return { ...rest, name, ...(get ? { GET: limited(get) } : {}), ...(post ? { POST: limited(post) } : {}) };
  };

/** A blob is read through a repo that contains it. */
const openDocumentOf =
  ({ store, blobs }: Application["services"]): OpenDocument =>
  async (repo, digest) => {
    const blob = await findRepoBlob(store.read, repo, digest);
    return blob && (await blobs.read(blob.key));
  };

export const startServer = async (settings: Settings, given: ServerOptions): Promise<Server> => {
  const { worker } = given;
  const siblings = worker?.siblings ?? alone;
  // Background work runs in one process only.
  const leads = siblings.index === 0;
  const runsByItself = leads && given.deliversByHand !== true;
  // Before anything is created or migrated.
  const auditTargets = settings.auditTargetsFile === undefined || !leads ? [] : await readTargetsFile(settings.auditTargetsFile);
  const scheduled = settings.feedsFile === undefined || !leads ? undefined : await readFeedsFile(settings.feedsFile);
  const metrics = settings.metrics && (await openMetrics({ log: given.log }));
  const options = metrics ? { ...given, log: countLog(metrics, given.log) } : given;
  const health = openHealth({ log: options.log, metrics });
  for (const { setting, says, remedy } of leads ? plaintextWarnings(settings) : [])
    options.log("settings.plaintext", { setting, message: `${says}; ${remedy}` });
  const onTime = watchClock(health, given.clock ?? systemClock, metrics);
  const application = await openApplication({ settings, ...options, health, onTime, siblings, embedded: worker?.embedded, ...(metrics ? { metrics } : {}) });
  const { services, kernel, serve, call } = application;
  let feeds: Schedule | undefined;
  let archives: ReturnType<typeof openArchives> | undefined;
  let metricsPort: PrivatePort | undefined;
  let traces: Traces | undefined;
  let descriptors: RunningProbe | undefined;
  try {
    const firstOrganization = leads ? await makeFirstOrganization(call) : undefined;
    if (scheduled !== undefined) feeds = await startFeeds({ services, feeds: scheduled, destination: (group) => findImportGroup(call, group, "group") });
    const { authn, store } = services;
    await store.isReady();
    if (leads) await authn.reportIssuerPatterns();
    const outdated = leads ? await countOutdatedFeeds(store) : 0;
    if (outdated > 0) options.log("feeds.outdated", { sources: outdated });
    const { publicUrl, publisher } = settings;
    const feed = { reader: publicReader(store.read), publicUrl, publisher, restoredMs: services.restoredMs };
    const csaf = openCsaf({ feed, store, vault: services.seal, clock: services.clock, log: options.log, security: settings.securityContact });
    archives = openArchives(store.read, {
      folder: join(settings.dataDirectory, "archives"),
      bytesMax: siblings.share(limits.archiveFilesBytesMax),
      clock: services.clock,
      log: options.log,
    });
    const docs = openDocs({ source: openApiSource(), version, publicUrl: settings.publicUrl, hasConsole: settings.servesConsole });
    const site = settings.servesConsole ? openConsole() : undefined;
    const signIn = openSignIn({
      consoleBuild: site?.build,
      ...services,
      kernel,
      vault: services.seal,
      audiences: settings.audiences,
      redirectUris: settings.redirectUris,
      clients: settings.clients,
      statusOf: httpStatusOf,
    });
    const mcp = openMcpEndpoints(application, settings, options.log);
    const shown = metrics && worker ? { ...metrics, read: async () => combineDocuments(await worker.readAllMetrics()) } : metrics;
    const scrape = shown && openMetricsDocument(shown, settings.metrics?.token);
    const metricsListen = settings.metrics?.listen;
    if (scrape && metricsListen && leads)
      metricsPort = await openPrivatePort({ ...metricsListen, serviceDomain: settings.serviceDomain, log: options.log }, { [metricsPath]: scrape }).catch(
        (thrown: unknown) => {
          throw listenFault(metricsListen, thrown, "GANTRY_METRICS_LISTEN");
        },
      );
    const openMetricsPath = (path: string): Endpoint | undefined =>
      scrape && !metricsListen && path === metricsPath ? { GET: ({ headers }) => scrape(headers.authorization) } : undefined;
    const open = {
      [metricsPath]: openMetricsPath,
      docs,
      ...(site ? { [site.name]: site.find } : {}),
      csaf,
      documents: openDocuments(feed),
      osv: openOsv(feed, archives),
      secdb: openSecdb(feed),
      vex: openVexRepository(feed),
      openapi: openOpenApi(),
    };
    const openFeed = limitedDocuments(open, authn.clientLimits);
    const countSpans: TracesOptions["countSpans"] = metrics && ((outcome, spans) => metrics.count("gantry_trace_spans_total", { outcome }, spans));
    traces =
      settings.traces &&
      (await openTraces({ ...settings.traces, perSecond: siblings.share(settings.traces.perSecond) }, { version, log: options.log, countSpans }));
    const calls = openCalls({ traces, log: options.log, logsRequests: settings.logsRequests, onEnd: (call) => countCall?.(call) });
    const countCall = metrics && openCallMetrics(metrics, () => calls.inFlight());
    const few = descriptorProblem();
    if (few !== undefined && leads) options.log("descriptors.few", { message: few });
    // Only refused connections are a failure.
    let hasRefused = false;
    const probeDescriptors = (): void => {
      const wasRefused = hasRefused;
      hasRefused = false;
      if (wasRefused) throw new Error(`connections were refused: ${few}`);
    };
    descriptors = startProbe(health.watch("descriptors"), probeDescriptors, { calmBeats: limits.calmProbeBeats });
    const transport = await openTransport(
      {
        host: settings.host,
        port: settings.port,
        ...(settings.tls ? { tls: { cert: settings.tls.cert, key: settings.tls.key } } : {}),
        serviceDomain: settings.serviceDomain,
        publicUrl: settings.publicUrl,
        corsOrigins: settings.corsOrigins,
        trustedProxies: settings.trustedProxies,
        bounds: { connectionsPerAddress: settings.connectionsPerAddress },
        fewDescriptors: few === undefined ? undefined : { connectionsMax: connectionsFor(), onRefused: () => (hasRefused = true) },
        log: options.log,
        metrics,
        version,
        handed: worker?.handed,
        siblings,
      },
      {
        serve,
        issuer: signIn,
        documents: (path) => mcp(path) ?? openFeed(path),
        calls,
        ready: () => store.isReady(),
      },
    ).catch((thrown: unknown) => {
      throw listenFault(settings, thrown);
    });
    const certificate = settings.tls && watchCertificate({ ...options, tls: settings.tls, clock: services.clock, metrics, use: transport.renewCertificate });
    const delivery = openDelivery(
      { ...services, traces, vault: services.seal, outbound: authn.outbound, delaysSeconds: settings.deliveryDelaysSeconds, userAgent: `gantry/${version}` },
      { numberEvents: application.numberEvents, kernel, byHand: !runsByItself },
    );
    if (options.deliversByHand !== true) services.audit.start(leads);
    const targets = openAuditTargets({ ...services, outbound: authn.outbound, userAgent: `gantry/${version}` }, auditTargets);
    if (runsByItself) targets.start();
    const maintenance = leads ? startMaintenance(kernel, settings) : undefined;
    const tagEnds = leads ? startTagEnds(kernel) : undefined;
    const tagRetention = leads ? startTagRetention(kernel) : undefined;
    const untagged = leads ? startUntaggedCollection(kernel, settings.untaggedDays) : undefined;
    const memory = watchMemory();
    const machine = watchMachine(settings, health, metrics);
    const ownProcess = metrics && watchProcess(metrics, version);
    if (metrics && !worker) metrics.watch("gantry_workers", () => [{ labels: {}, value: 1 }]);
    if (metrics && leads) watchRows(metrics, { store, clock: services.clock, feeds: feeds?.feeds ?? [], feedStaleMs: services.feedStaleMs });
    const patternReport = leads ? authn.startPatternReport() : undefined;
    const sboms = openSbomReaders({ services, openDocument: openDocumentOf(services), byHand: !runsByItself });
    const contents = openImageIndexing({ services, sboms: openAttachedSboms(kernel), byHand: !runsByItself });
    void feeds?.turn();
    return {
      application,
      transport,
      calls,
      firstOrganization,
      feeds,
      delivery,
      auditTargets: targets,
      sboms,
      contents,
      reload: async () => certificate?.renew(),
      readMetrics: async () => (await metrics?.readDocument()) ?? [],
      async close() {
        certificate?.stop();
        maintenance?.stop();
        memory.stop();
        machine.stop();
        descriptors?.stop();
        ownProcess?.stop();
        patternReport?.stop();
        // Requests that still wait for an unresponsive database fail now.
        const late = setTimeout(() => void store.close(), limits.stopMs);
        // Concurrently: each has its time for work in flight.
        await Promise.all([
          feeds?.stop(),
          archives?.close(),
          sboms.stop(),
          contents.stop(),
          tagEnds?.stop(),
          tagRetention?.stop(),
          untagged?.stop(),
          transport.close(),
          metricsPort?.close(),
          delivery.stop(),
          targets.stop(),
          patternReport?.ended,
        ]);
        await traces?.close();
        await application.close();
        clearTimeout(late);
      },
    };
  } catch (thrown) {
    descriptors?.stop();
    await feeds?.stop();
    await archives?.close();
    await Promise.all([metricsPort?.close(), traces?.close()]);
    await application.close();
    throw thrown;
  }
};
