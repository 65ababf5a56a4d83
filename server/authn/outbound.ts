// The client for all requests to other servers. It uses no proxy and limits time and size. Each connection goes to an address
// checked after resolution (egress.ts), which prevents DNS rebinding (attack 20). Redirects are opt-in, and checked like the first
// URL (attack 83).
//
// All failures are UNAVAILABLE with the same text, because callers could otherwise scan the operator's network (attack 21). The
// cause is for the log.

import { isIP, type Socket } from "node:net";
import type { SecureContext } from "node:tls";
import type { Agent, buildConnector } from "undici";
import { Fault } from "#base/fault.ts";
import { alone, type Siblings } from "#base/siblings.ts";
import { limits } from "#base/limits.ts";
import { networkOf } from "#base/origin.ts";
import { unreachableText } from "#base/refused-address.ts";
import { type Log, silent } from "#base/log.ts";
import { type Clock, systemClock } from "#base/time.ts";
import { tracePart } from "#calls";
import { type Authorities, type ClientCertificate, openAuthorities } from "./authorities.ts";
import { type Egress, egressRefusal, type Purpose, purposes, readEgress } from "./egress.ts";
import { openPauses } from "./pauses.ts";
import { resolveName } from "./resolve.ts";
import { openShares, type Shares } from "./shares.ts";

/**
 * Tenant that a request counts for; each has a share of concurrent requests.
 *
 *   organization   the organization that named the URL, by its root UID
 *   address        an anonymous caller, by its client address (an IPv6 /64 counts as one)
 *   "operator"     a URL from the settings: a share per host
 *   "people"       an issuer with registered users, whatever their organization: a share per host
 */
export type OutboundTenant = { readonly organization: string } | { readonly address: string } | "operator" | "people";

export interface OutboundRequest {
  readonly tenant: OutboundTenant;
  readonly method?: "GET" | "POST";
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  /** For the whole exchange, up to the last byte. */
  readonly timeoutMs?: number;
  /** Of the response. */
  readonly bytesMax?: number;
  /** Discards the body, whatever its length. */
  readonly discard?: boolean;
  /** Maximum idle time within the exchange; default: the whole timeout. */
  readonly idleMs?: number;
  /** Streams the body of a 200 instead of buffering it, within bytesMax. `fetch` rethrows its errors. */
  readonly receive?: (piece: Uint8Array) => Promise<void>;
  readonly redirectsMax?: number;
  /** In addition to the timeout. */
  readonly signal?: AbortSignal;
}

export interface OutboundReply {
  readonly status: number;
  /** Lower-case names; the first value of repeated headers. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  /** After redirects. */
  readonly url: string;
}

export interface ConnectTarget {
  readonly host: string;
  readonly port: number;
  /** Plain connections require a listed address. */
  readonly secure: boolean;
  readonly shown?: ClientCertificate | undefined;
}

export interface Outbound {
  /**
   * Sends a request and returns the response of any status, including redirects that are not followed. Throws RESOURCE_EXHAUSTED
   * beyond the limits of purpose or tenant, and UNAVAILABLE for any other failure.
   */
  fetch(purpose: Purpose, url: string, request: OutboundRequest): Promise<OutboundReply>;
  /** Opens a connection for another protocol, with the same checks and errors. */
  connect(purpose: Purpose, target: ConnectTarget): Promise<Socket>;
  close(): Promise<void>;
}

const errorTextOf = (thrown: unknown): string => (thrown instanceof Error ? thrown.message : String(thrown));

/** Concerns the host rather than one resource. */
class ConnectFailed extends Error {}

class AddressRefused extends Error {}

// Loaded with the first request: it takes 5 MB and a tenth of a second, and some servers never need it.
type Client = typeof import("undici");

const loadClient = (): Promise<Client> => import("undici");

/** Connects undici to the checked address; the name serves only for the certificate. */
const guardedConnector = (
  makeConnector: Client["buildConnector"],
  purpose: Purpose,
  egress: Egress,
  resolve: (name: string) => Promise<readonly string[]>,
  authorities: Authorities,
  shown?: ClientCertificate,
): buildConnector.connector => {
  return (target, connected) => {
    // One deadline for resolution and all addresses.
    const endMs = performance.now() + limits.outboundConnectMs;
    const callback: buildConnector.Callback = (...[error, socket]) => {
      if (error === null) connected(null, socket);
      else if (error instanceof AddressRefused) connected(error, null);
      else connected(new ConnectFailed(error.message, { cause: error }), null);
    };
    // A literal IPv6 address has brackets in a URL.
    const name = target.hostname.replace(/^\[|\]$/g, "");
    const port = Number(target.port || (target.protocol === "https:" ? 443 : 80));
    const attempt = (addresses: readonly string[], last: Error, trust: { readonly secureContext?: SecureContext }): void => {
      const [address, ...others] = addresses;
      if (address === undefined) {
        callback(last, null);
        return;
      }
      const why = egressRefusal(egress, purpose, target.protocol, address, port);
      if (why !== undefined) {
        attempt(others, new AddressRefused(why), trust);
        return;
      }
      const leftMs = Math.ceil(endMs - performance.now());
      if (leftMs <= 0) {
        callback(last, null);
        return;
      }
      // Each remaining address gets an equal part of the time.
      const connect = makeConnector({ timeout: Math.ceil(leftMs / (others.length + 1)), allowH2: false, ...trust });
      const { servername: _, ...rest } = target;
      // Without a name the certificate must match the address.
      const certificateName = target.protocol === "https:" && isIP(name) === 0 ? { servername: name } : {};
      connect({ ...rest, ...certificateName, hostname: address, host: address }, (...[error, socket]) => {
        if (error === null) callback(null, socket);
        else attempt(others, error, trust);
      });
    };
    const trusting = target.protocol === "https:" ? authorities(shown) : Promise.resolve(undefined);
    Promise.all([resolve(name), trusting]).then(
      ([found, secureContext]) =>
        attempt(found.slice(0, limits.outboundAddressesMax), new Error(`${name} has no address`), secureContext === undefined ? {} : { secureContext }),
      (error: unknown) => callback(error instanceof Error ? error : new Error(errorTextOf(error)), null),
    );
  };
};

/** Error of the caller's `receive` rather than of the remote server. */
class NotReceived extends Error {}

const passBody = async (stream: AsyncIterable<Uint8Array>, bytesMax: number, receive: (piece: Uint8Array) => Promise<void>): Promise<void> => {
  let length = 0;
  for await (const chunk of stream) {
    length += chunk.byteLength;
    if (length > bytesMax) throw new Error(`the response is longer than ${bytesMax} bytes`);
    await receive(chunk).catch((cause: unknown) => {
      throw new NotReceived("", { cause });
    });
  }
};

const readBody = async (stream: AsyncIterable<Uint8Array>, bytesMax: number): Promise<Uint8Array> => {
  const chunks: Uint8Array[] = [];
  await passBody(stream, bytesMax, async (chunk) => {
    chunks.push(chunk);
  });
  return Buffer.concat(chunks);
};

const parseTargetUrl = (text: string): URL => {
  const url = URL.parse(text);
  if (url === null) throw new Error("not a URL");
  if (url.protocol !== "https:" && url.protocol !== "http:") throw new Error("neither https nor http");
  // https://issuer@evil looks like one host and leads to the other (attack 17).
  if (url.username !== "" || url.password !== "") throw new Error("the URL carries a user name or password");
  return url;
};

const redirectStatuses: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/** Undefined if it is no redirect. Throws for a downgrade to http or a URL with a password. The address is checked on connect. */
const redirectTarget = (from: URL, status: number, location: string | undefined): URL | undefined => {
  if (!redirectStatuses.has(status) || location === undefined) return undefined;
  const to = parseTargetUrl(URL.parse(location, from.href)?.href ?? location);
  if (from.protocol === "https:" && to.protocol !== "https:") throw new Error(`${from.host} leads from https to http`);
  return to;
};

// Content negotiation only; other headers may hold secrets for the original host.
const harmlessHeaders: ReadonlySet<string> = new Set(["accept", "if-none-match", "if-modified-since"]);

const headersFor = (headers: Readonly<Record<string, string>>, isSameOrigin: boolean): Readonly<Record<string, string>> =>
  isSameOrigin ? headers : Object.fromEntries(Object.entries(headers).filter(([name]) => harmlessHeaders.has(name.toLowerCase())));

const firstHeaders = (headers: Readonly<Record<string, string | string[] | undefined>>): Record<string, string> => {
  const found: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    const first = Array.isArray(value) ? value[0] : value;
    if (first !== undefined) found[name] = first;
  }
  return found;
};

/** Returns the key of the tenant's share. */
export const shareKey = (tenant: OutboundTenant, host: string): string => {
  if (typeof tenant === "string") return host;
  return "organization" in tenant ? tenant.organization : networkOf(tenant.address);
};

const openPurposeShares: Readonly<Record<Purpose, (siblings: Siblings) => Shares>> = {
  issuer: ({ share }) => openShares({ all: share(limits.issuerFetchesMax), each: share(limits.issuerFetchesEachMax) }, "issuers"),
  sink: () => openShares({ all: limits.sinkFetchesMax, each: limits.sinkFetchesEachMax }, "sinks"),
  feed: () => openShares({ all: limits.feedFetchesMax, each: limits.feedFetchesEachMax }, "feeds"),
  client: ({ share }) => openShares({ all: share(limits.clientFetchesMax), each: share(limits.clientFetchesEachMax) }, "clients"),
  audit: () => openShares({ all: limits.auditFetchesMax, each: limits.auditFetchesEachMax }, "targets of the audit log"),
};

export interface OutboundOptions {
  readonly siblings?: Siblings;
  readonly allow: string;
  readonly caFile?: string | undefined;
  readonly log?: Log;
  readonly clock?: Clock;
  /** For tests. */
  readonly resolve?: (name: string) => Promise<readonly string[]>;
}

export const openOutbound = ({ siblings = alone, allow, caFile, log = silent, clock = systemClock, resolve = resolveName }: OutboundOptions): Outbound => {
  const egress = readEgress(allow);
  const authorities = openAuthorities(caFile, log);
  // Pooled per purpose: a connection allowed for a webhook endpoint must not serve an issuer.
  const dispatchers = new Map<Purpose, Agent>();
  let isClosed = false;
  const dispatcherOf = ({ Agent, buildConnector }: Client, purpose: Purpose): Agent => {
    const found = dispatchers.get(purpose) ?? new Agent({ connect: guardedConnector(buildConnector, purpose, egress, resolve, authorities), pipelining: 1 });
    dispatchers.set(purpose, found);
    return found;
  };
  const shares = new Map(purposes.map((purpose) => [purpose, openPurposeShares[purpose](siblings)]));
  // Webhook endpoints and feeds have their own backoff.
  const silentHosts = openPauses(clock, limits.silentHostsMax);
  return {
    fetch: async (purpose, address, request) => {
      const share = shares.get(purpose);
      let fairnessKey = "";
      let origin = "";
      let leave = (): void => {};
      const fromMs = performance.now();
      // Host only, because the rest of the URL may be secret. Trace context is not propagated.
      const tell = (attributes: Readonly<Record<string, number>>, failed?: string): void =>
        tracePart(
          `ask ${purpose}`,
          fromMs,
          { "server.address": URL.parse(address)?.host ?? "", "http.request.method": request.method ?? "GET", ...attributes },
          failed,
        );
      try {
        const url = parseTargetUrl(address);
        if (share === undefined) throw new Error(`no purpose ${purpose}`);
        origin = url.origin;
        fairnessKey = shareKey(request.tenant, url.host);
        if (purpose === "issuer" && !silentHosts.mayTry(origin)) throw new Error(`${origin} could not be connected to, and is left alone for a while`);
        const timeoutMs = request.timeoutMs ?? limits.outboundTimeoutMs;
        const queueEnds = AbortSignal.timeout(timeoutMs);
        leave = await share.enter(fairnessKey, queueEnds);
        // Results of these are cached for all tenants, so time in one tenant's queue must not count as a silent host.
        const ends = purpose === "issuer" || purpose === "client" ? AbortSignal.timeout(timeoutMs) : queueEnds;
        const signal = request.signal === undefined ? ends : AbortSignal.any([ends, request.signal]);
        const client = await loadClient();
        if (isClosed) throw new Error("the server has stopped");
        const dispatcher = dispatcherOf(client, purpose);
        let target = url;
        for (let redirects = 0; ; redirects++) {
          const answer = await client.request(target, {
            dispatcher,
            method: request.method ?? "GET",
            // Uncompressed: a small body could unpack beyond the limit.
            headers: { "accept-encoding": "identity", "user-agent": "gantry", ...headersFor(request.headers ?? {}, target.origin === origin) },
            ...(request.body === undefined ? {} : { body: request.body }),
            signal,
            headersTimeout: request.idleMs ?? timeoutMs,
            bodyTimeout: request.idleMs ?? timeoutMs,
          });
          const headers = firstHeaders(answer.headers);
          const next = redirects < (request.redirectsMax ?? 0) ? redirectTarget(target, answer.statusCode, headers.location) : undefined;
          if (next !== undefined) {
            await answer.body.dump({ limit: limits.outboundBytesMax });
            target = next;
            continue;
          }
          const bytesMax = request.bytesMax ?? limits.outboundBytesMax;
          const isReceived = request.receive !== undefined && answer.statusCode === 200;
          if (request.discard) await answer.body.dump({ limit: limits.outboundBytesMax });
          else if (request.receive !== undefined && isReceived) await passBody(answer.body, bytesMax, request.receive);
          const body =
            request.discard || isReceived
              ? new Uint8Array()
              : await readBody(answer.body, Math.min(bytesMax, request.receive ? limits.outboundBytesMax : bytesMax));
          if (purpose === "issuer") silentHosts.succeeded(origin);
          tell({ "http.response.status_code": answer.statusCode });
          return { status: answer.statusCode, headers, body, url: target.href };
        }
      } catch (cause) {
        tell({}, "unreachable");
        if (cause instanceof Fault && cause.code === "RESOURCE_EXHAUSTED") throw cause;
        if (cause instanceof NotReceived) throw cause.cause;
        if (purpose === "issuer" && cause instanceof ConnectFailed) silentHosts.failed(origin, fairnessKey);
        throw new Fault("UNAVAILABLE", unreachableText(address), { cause });
      } finally {
        leave();
      }
    },
    connect: async (purpose, { host, port, secure, shown }) => {
      try {
        const { buildConnector } = await loadClient();
        if (isClosed) throw new Error("the server has stopped");
        const connector = guardedConnector(buildConnector, purpose, egress, resolve, authorities, shown);
        return await new Promise((connected, failed) =>
          connector({ hostname: host, protocol: secure ? "https:" : "http:", port: String(port) }, (...[error, socket]) => {
            if (error === null) connected(socket);
            else failed(error);
          }),
        );
      } catch (cause) {
        throw new Fault("UNAVAILABLE", `${host}:${port} cannot be reached`, { cause });
      }
    },
    close: async () => {
      isClosed = true;
      await Promise.all([...dispatchers.values()].map((dispatcher) => dispatcher.close()));
    },
  };
};
