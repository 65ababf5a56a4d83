// What every request of a server shares: its configuration, what it calls, and whether it is stopping. No code but the
// defaults.

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

/** Connections that another process accepts and counts, of which this one is given some. */
export interface HandedConnections {
  /** From now on each is given to `accept`. */
  start(accept: (socket: Socket) => void): void;
}

export interface Config {
  readonly host: string;
  readonly port: number;
  /** Where there is one, the port speaks TLS only. A port that also took clear text would let a token out by a typing error. */
  readonly tls?: { readonly cert: string | Buffer; readonly key: string | Buffer };
  /** "example.com": ErrorInfo.domain is "iam.example.com". */
  readonly serviceDomain: string;
  readonly publicUrl: string;
  /** Origins whose pages may call us, exactly as browsers send them. None: no cross-origin answer at all. */
  readonly corsOrigins: readonly string[];
  /** Proxies whose X-Forwarded-For counts. None: nobody's is looked at. */
  readonly trustedProxies?: BlockList;
  readonly log: Log;
  readonly metrics?: Pick<Metrics, "watch"> | undefined;
  readonly version: string;
  readonly bounds?: Partial<Bounds>;
  /** Instead of a port of its own. */
  readonly handed?: HandedConnections | undefined;
  /** The processes that serve together; absent: this one alone. */
  readonly siblings?: Siblings;
}

/** What the transport calls. */
export interface Dependencies {
  readonly serve: Serve;
  readonly issuer: IssuerEndpoints;
  /** Documents at addresses of their own, below paths of the API; open. Undefined for a path of something else. */
  readonly documents?: (path: string) => Endpoint | undefined;
  /** False while the server cannot do its work (the store is away). */
  readonly ready: () => Promise<boolean>;
  /** Is told of every request; without it there is the line of a slow one alone. */
  readonly calls?: Calls;
}

export interface ServerContext {
  readonly dependencies: Dependencies;
  readonly config: Config;
  readonly bounds: Bounds;
  readonly calls: Calls;
  /** What one message may hold. */
  readonly budget: Budget;
  /** What every response carries: names and values in turn. */
  readonly fixedHeaders: readonly string[];
  readonly originOf: OriginOf;
  readonly wholeLists: WholeLists;
  readonly draining: () => boolean;
  /** `end` is called once when the server begins to stop: calls that stay open end themselves then. Returns what removes it. */
  readonly onDrain: (end: () => void) => () => void;
  /**
   * Takes `bytes` out of what all request bodies together may hold in memory; false where that is spent. Whoever
   * reserved them releases them, however its request ends.
   */
  readonly reserveBytes: (bytes: number) => boolean;
  readonly releaseBytes: (bytes: number) => void;
}

/**
 * RFC 6797: browsers that have been here once ask over TLS from then on, whatever a link says. In clear text it is not
 * sent (7.2). Of this host alone: what others below its name speak is not ours to say.
 */
export const fixedHeadersOf = ({ tls }: Config, { hstsSeconds }: Bounds): readonly string[] =>
  tls ? ["strict-transport-security", `max-age=${hstsSeconds}`] : [];

export const boundsOf = (config: Config): Bounds => ({ ...limits, ...config.bounds });
