// The one client for everything that the server fetches or sends to others: issuers' discovery and keys, webhook
// sinks, feeds. No proxy, limits on time and size, and each connection goes to an address that was checked (egress.ts)
// after the name was resolved, so that no second look-up can answer differently (attack 20). Redirects are followed for
// whoever asks for it alone, a few of them, each checked like the first address (attack 83).
//
// Whatever goes wrong is UNAVAILABLE with the same text: a caller who could tell a refused address from a closed
// port would have a scanner of the operator's network (attack 21). The reason is the fault's cause, for the log.

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
 * The tenant that a request counts for: each has a share of the requests under way.
 *
 *   organization   the organization that named the address, by its root uid
 *   address        an anonymous caller, by its client address (an IPv6 /64 counts as one)
 *   "operator"     an address from the settings: each host has a share
 *   "people"       an issuer whose users are registered here, whichever organization's they are: each host has a share
 */
export type OutboundTenant = { readonly organization: string } | { readonly address: string } | "operator" | "people";

export interface OutboundRequest {
  readonly tenant: OutboundTenant;
  readonly method?: "GET" | "POST";
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  /** For the whole exchange, the last byte included. */
  readonly timeoutMs?: number;
  /** Longest answer that is read. */
  readonly bytesMax?: number;
  /** Only the status counts: the answer's body, of whatever length, is thrown away. */
  readonly discard?: boolean;
  /** The longest silence within the exchange; the whole time without it. */
  readonly idleMs?: number;
  /** The body of a 200, piece by piece, instead of in memory; bytesMax holds. What it throws is thrown by `fetch`. */
  readonly receive?: (piece: Uint8Array) => Promise<void>;
  /** How many redirects are followed; none without it. */
  readonly redirectsMax?: number;
  /** The caller's own end, besides the time limit. */
  readonly signal?: AbortSignal;
}

export interface OutboundReply {
  readonly status: number;
  /** Lower-case names; of a repeated header the first. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  /** Where the answer came from, behind all redirects. */
  readonly url: string;
}

export interface ConnectTarget {
  readonly host: string;
  readonly port: number;
  /** True: by TLS. Otherwise listed addresses alone are connected to. */
  readonly secure: boolean;
  /** By TLS: what this side shows to a server that asks for it. */
  readonly shown?: ClientCertificate | undefined;
}

export interface Outbound {
  /**
   * One request and its whole answer, of any status: a redirect that is not followed is an answer like any other. Throws
   * RESOURCE_EXHAUSTED where too much is under way for that purpose or organization, and UNAVAILABLE for anything else.
   */
  fetch(purpose: Purpose, url: string, request: OutboundRequest): Promise<OutboundReply>;
  /** A connection for another protocol than HTTP, to an address that was checked the same way. Throws the same. */
  connect(purpose: Purpose, target: ConnectTarget): Promise<Socket>;
  close(): Promise<void>;
}

const errorTextOf = (thrown: unknown): string => (thrown instanceof Error ? thrown.message : String(thrown));

/** No connection came to be, whatever was asked for: it says something of the host, not of one resource on it. */
class ConnectFailed extends Error {}

/** None was tried: we do not connect to such an address. */
class AddressRefused extends Error {}

// Only with the first request: it takes 5 MB and a tenth of a second, and there are servers that ask nobody.
type Client = typeof import("undici");

const loadClient = (): Promise<Client> => import("undici");

/** Connects by address: undici is given the one that was checked, and the name only for the certificate. */
const guardedConnector = (
  makeConnector: Client["buildConnector"],
  purpose: Purpose,
  egress: Egress,
  resolve: (name: string) => Promise<readonly string[]>,
  authorities: Authorities,
  shown?: ClientCertificate,
): buildConnector.connector => {
  return (target, connected) => {
    // One end for the name and all its addresses.
    const endMs = performance.now() + limits.outboundConnectMs;
    const callback: buildConnector.Callback = (...[error, socket]) => {
      if (error === null) connected(null, socket);
      else if (error instanceof AddressRefused) connected(error, null);
      else connected(new ConnectFailed(error.message, { cause: error }), null);
    };
    // A literal IPv6 address wears brackets in a URL.
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
      // Each of those that are left has an equal part of the time.
      const connect = makeConnector({ timeout: Math.ceil(leftMs / (others.length + 1)), allowH2: false, ...trust });
      const { servername: _, ...rest } = target;
      // Without a name the certificate is checked against the address itself, which is then what the URL says.
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

/** What the caller's own `receive` threw: the fault of the caller, not of who answers. */
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

/** The URL, if it is one that we would ever contact. */
const parseTargetUrl = (text: string): URL => {
  const url = URL.parse(text);
  if (url === null) throw new Error("not a URL");
  if (url.protocol !== "https:" && url.protocol !== "http:") throw new Error("neither https nor http");
  // https://issuer@evil reads as the one and leads to the other (attack 17).
  if (url.username !== "" || url.password !== "") throw new Error("the URL carries a user name or password");
  return url;
};

const redirectStatuses: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/**
 * Where a redirect leads; undefined where it is none, or leads nowhere. Throws where it must not be followed: to what is
 * encrypted no longer, or to an address that carries a password. The address itself is checked when it is connected to.
 */
const redirectTarget = (from: URL, status: number, location: string | undefined): URL | undefined => {
  if (!redirectStatuses.has(status) || location === undefined) return undefined;
  const to = parseTargetUrl(URL.parse(location, from.href)?.href ?? location);
  if (from.protocol === "https:" && to.protocol !== "https:") throw new Error(`${from.host} leads from https to http`);
  return to;
};

// What says how an answer shall be; anything else may be a secret, which is for the host that it was given for.
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

/** The key of the tenant's share. */
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
  /** The processes that serve together; absent: this one alone. */
  readonly siblings?: Siblings;
  /** GANTRY_EGRESS_ALLOW; a wrong one throws an Error of one line. */
  readonly allow: string;
  /** GANTRY_CA_FILE: certificate authorities besides the public ones. */
  readonly caFile?: string | undefined;
  readonly log?: Log;
  readonly clock?: Clock;
  /** For tests: where names are looked up. */
  readonly resolve?: (name: string) => Promise<readonly string[]>;
}

/** Opens the client. */
export const openOutbound = ({ siblings = alone, allow, caFile, log = silent, clock = systemClock, resolve = resolveName }: OutboundOptions): Outbound => {
  const egress = readEgress(allow);
  const authorities = openAuthorities(caFile, log);
  // Connections are kept per purpose: one that was allowed for a sink must not serve an issuer.
  const dispatchers = new Map<Purpose, Agent>();
  let isClosed = false;
  const dispatcherOf = ({ Agent, buildConnector }: Client, purpose: Purpose): Agent => {
    const found = dispatchers.get(purpose) ?? new Agent({ connect: guardedConnector(buildConnector, purpose, egress, resolve, authorities), pipelining: 1 });
    dispatchers.set(purpose, found);
    return found;
  };
  const shares = new Map(purposes.map((purpose) => [purpose, openPurposeShares[purpose](siblings)]));
  // Sinks and feeds have schedules of their own, with pauses that grow.
  const silentHosts = openPauses(clock, limits.silentHostsMax);
  return {
    fetch: async (purpose, address, request) => {
      const share = shares.get(purpose);
      let party = "";
      let origin = "";
      let leave = (): void => {};
      const fromMs = performance.now();
      // The host alone: the rest of an address may be a secret. Whom we ask learns nothing of the trace.
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
        party = shareKey(request.tenant, url.host);
        if (purpose === "issuer" && !silentHosts.mayTry(origin)) throw new Error(`${origin} could not be connected to, and is left alone for a while`);
        const timeoutMs = request.timeoutMs ?? limits.outboundTimeoutMs;
        const queueEnds = AbortSignal.timeout(timeoutMs);
        leave = await share.enter(party, queueEnds);
        // The result of these is remembered for all tenants: time in one tenant's queue must not make a host look silent to others.
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
            // Nothing compressed: a small body could unpack to more than the limit.
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
        if (purpose === "issuer" && cause instanceof ConnectFailed) silentHosts.failed(origin, party);
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
