// Fetches client metadata documents (draft-ietf-oauth-client-id-metadata-document). Unauthenticated callers can name any URL. So
// there are no redirects, few requests at a time per host, and a rate limit and a cache share per client address. Only content of a
// valid document is disclosed.

import { Fault } from "#base/fault.ts";
import { isObject, type Json, type JsonObject } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import type { Log } from "#base/log.ts";
import { networkOf } from "#base/origin.ts";
import type { Clock } from "#base/time.ts";
import type { ClientLimits } from "./client-limits.ts";
import type { Outbound } from "./outbound.ts";
import { sharedCache } from "./shared-cache.ts";
import { isClean } from "./token.ts";

/** One error for all failures, so that callers cannot probe the server's network. */
const unknownClient = (cause?: unknown): Fault =>
  new Fault("INVALID_ARGUMENT", "unknown client, or its metadata document cannot be read or is invalid", {
    cause,
    details: [{ kind: "reason", reason: "invalid_client" }],
  });

/** Accepts the canonical spelling only: the same text is compared, shown and fetched. Egress rules limit plain HTTP (egress.ts). */
const isClientAddress = (text: string): boolean => {
  const url = text.length > limits.clientIdLengthMax || !isClean(text) ? null : URL.parse(text);
  return (
    url !== null &&
    (url.protocol === "https:" || url.protocol === "http:") &&
    url.href === text &&
    url.username === "" &&
    url.password === "" &&
    !text.includes("#") &&
    !text.includes("?") &&
    url.pathname !== "/"
  );
};

const mediaType = /^application\/(?:[\w.-]+\+)?json\s*(?:;|$)/i;

/** Returns a text with the reason if the document is invalid. */
const readClientDocument = (clientId: string, status: number, contentType: string, body: Uint8Array): JsonObject | string => {
  if (status !== 200) return `answered with status ${status}`;
  if (!mediaType.test(contentType)) return "does not have a JSON content type";
  let value: Json;
  try {
    value = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body)) as Json;
  } catch {
    return "is not JSON";
  }
  if (!isObject(value)) return "is not an object";
  // Compared letter by letter: a document about another client is worthless.
  return value.client_id === clientId ? value : "names another client_id";
};

export interface ClientDocumentsDependencies {
  readonly outbound: Pick<Outbound, "fetch">;
  readonly clientLimits: Pick<ClientLimits, "take">;
  readonly clock: Clock;
  readonly log: Log;
}

interface Known {
  /** Undefined if missing or invalid. */
  readonly document: JsonObject | undefined;
  readonly weight: number;
  readonly untilMs: number;
}

export const openClientDocuments = ({
  outbound,
  clientLimits,
  clock,
  log,
}: ClientDocumentsDependencies): ((clientId: string, address: string) => Promise<JsonObject>) => {
  // Separate caches, so that invalid documents cannot evict valid ones.
  const good = sharedCache<Known>(limits.clientDocumentsShareKiB, limits.clientDocumentPartiesMax);
  const wrong = sharedCache<Known>(limits.clientDocumentsShareKiB, limits.clientDocumentPartiesMax);
  const pending = new Map<string, Promise<Known>>();

  const fetchDocument = async (clientId: string, address: string): Promise<Known> => {
    let found: JsonObject | string;
    let weight = 1;
    try {
      const { status, headers, body } = await outbound.fetch("client", clientId, {
        tenant: { address },
        headers: { accept: "application/json" },
        timeoutMs: limits.clientDocumentTimeoutMs,
        bytesMax: limits.clientDocumentBytesMax,
      });
      weight = Math.max(1, Math.ceil(body.length / 1024));
      found = readClientDocument(clientId, status, headers["content-type"] ?? "", body);
    } catch (thrown) {
      // A rate limit says nothing about the document.
      if (thrown instanceof Fault && thrown.code === "RESOURCE_EXHAUSTED") throw thrown;
      found = thrown instanceof Fault && thrown.cause instanceof Error ? thrown.cause.message : "cannot be reached";
    }
    if (typeof found !== "string") return { document: found, weight, untilMs: clock() + limits.clientDocumentLifetimeMs };
    log("authn.client.refused", { client: clientId, why: found });
    return { document: undefined, weight: 1, untilMs: clock() + limits.clientDocumentPauseMs };
  };

  const fetchOnce = (clientId: string, fairnessKey: string, address: string): Promise<Known> => {
    const running = pending.get(clientId);
    if (running !== undefined)
      return running.catch((thrown: unknown) => {
        // The fetch waited in another caller's full queue; this caller has its own share.
        if (thrown instanceof Fault && thrown.code === "RESOURCE_EXHAUSTED") return fetchOnce(clientId, fairnessKey, address);
        throw thrown;
      });
    const begun = fetchDocument(clientId, address)
      .then((known) => {
        (known.document ? good : wrong).set(clientId, known, fairnessKey, known.weight);
        return known;
      })
      .finally(() => pending.delete(clientId));
    pending.set(clientId, begun);
    return begun;
  };

  return async (clientId, address) => {
    if (!isClientAddress(clientId)) throw unknownClient();
    const fairnessKey = networkOf(address);
    const held = [good.use(clientId, fairnessKey), wrong.use(clientId, fairnessKey)].find((known) => known !== undefined && known.untilMs > clock());
    if (!held) clientLimits.take("client-documents", address);
    const { document } = held ?? (await fetchOnce(clientId, fairnessKey, address));
    if (!document) throw unknownClient();
    return document;
  };
};
