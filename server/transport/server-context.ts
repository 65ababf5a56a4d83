// State shared by all requests of a server: configuration, dependencies, and whether it is stopping.

import type { BlockList, Socket } from "node:net";
import type { Endpoint } from "#base/endpoint.ts";
import type { Calls } from "#calls";
import { limits } from "#base/limits.ts";
import type { Siblings } from "#base/siblings.ts";
import type { Log } from "#base/log.ts";
import type { Serve } from "#kernel";
import type { Metrics } from "#metrics";
import type { Budget } from "./budget.ts";
import type { IssuerEndpoints } from "./issuer-endpoints.ts";
import type { OriginOf } from "./origin.ts";
import type { WholeLists } from "./whole-lists.ts";

/** base/limits.ts as numbers; tests shorten the times. */
export type Bounds = Readonly<Record<keyof typeof limits, number>>;

/** Connections that another process accepts, counts and distributes. */
export interface HandedConnections {
  start(accept: (socket: Socket) => void): void;
}

export interface Config {
  readonly host: string;
  readonly port: number;
  /** If set, the port accepts TLS only: with clear text too, a mistyped URL would expose a token. */
  readonly tls?: { readonly cert: string | Buffer; readonly key: string | Buffer };
  /** "example.com" makes ErrorInfo.domain "iam.example.com". */
  readonly serviceDomain: string;
  readonly publicUrl: string;
  /** Origins allowed by CORS, exactly as browsers send them; none: no CORS headers. */
  readonly corsOrigins: readonly string[];
  /** Proxies with a trusted X-Forwarded-For; absent: the header is ignored. */
  readonly trustedProxies?: BlockList;
  readonly log: Log;
  readonly metrics?: Pick<Metrics, "watch"> | undefined;
  readonly version: string;
  readonly bounds?: Partial<Bounds>;
  /** Set if the process may open too few files for all connections. */
  readonly fewDescriptors?: { readonly connectionsMax: number; readonly onRefused: () => void } | undefined;
  /** Used instead of listening. */
  readonly handed?: HandedConnections | undefined;
  /** The processes of this server; absent: only this one. */
  readonly siblings?: Siblings;
}

export interface Dependencies {
  readonly serve: Serve;
  readonly issuer: IssuerEndpoints;
  /** Open documents at paths below the API; undefined for other paths. */
  readonly documents?: (path: string) => Endpoint | undefined;
  /** False while the server cannot work (the store is unavailable). */
  readonly ready: () => Promise<boolean>;
  /** Records every request; absent: only slow requests are logged. */
  readonly calls?: Calls;
}

export interface ServerContext {
  readonly dependencies: Dependencies;
  readonly config: Config;
  readonly bounds: Bounds;
  readonly calls: Calls;
  readonly budget: Budget;
  /** Headers of every response: names and values alternate. */
  readonly fixedHeaders: readonly string[];
  readonly originOf: OriginOf;
  readonly wholeLists: WholeLists;
  readonly draining: () => boolean;
  /** Calls `end` once the server starts to stop, so that long-lived calls can end. Returns a function that removes it. */
  readonly onDrain: (end: () => void) => () => void;
  /** Reserves memory of all request bodies; false if exhausted. The caller must release it, however the request ends. */
  readonly reserveBytes: (bytes: number) => boolean;
  readonly releaseBytes: (bytes: number) => void;
}

/**
 * RFC 6797: browsers use TLS for all later requests to this host. Not sent in clear text (7.2), and without subdomains, which are
 * not Gantry's to decide.
 */
export const fixedHeadersOf = ({ tls }: Config, { hstsSeconds }: Bounds): readonly string[] =>
  tls ? ["strict-transport-security", `max-age=${hstsSeconds}`] : [];

export const boundsOf = (config: Config): Bounds => ({ ...limits, ...config.bounds });
