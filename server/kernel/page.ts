// Page tokens: the position where a list continues. Sealed (authenticated and unreadable), bound to caller, operation and query, and
// expired after three days. Pure but for the seal.
//
// requirement: Limits, Errors. An expired token restarts the list without an error; a forged one, or one of another caller, query or
// order, is INVALID_ARGUMENT (attack 25). page_size and skip may change between pages.

import { hash } from "node:crypto";
import { type Fault, invalid } from "#base/fault.ts";
import type { Json, JsonObject } from "#base/json.ts";
import { limits } from "#base/limits.ts";

export interface Seal {
  seal(purpose: string, plaintext: string, boundTo: readonly string[]): string;
  open(purpose: string, sealed: string, boundTo: readonly string[]): string | undefined;
  /** Returns a deterministic digest that reveals nothing about the text without the key. */
  digest(purpose: string, text: string): string;
}

export interface Position {
  /** Position of the last record in the list's order. */
  readonly key: readonly string[];
  readonly total: number;
}

const purpose = "page token";
/** Empty: the text contains caller, operation and query, so a mismatch has its own error. */
const boundWithin: readonly string[] = [];

/** Returns a hash of everything that must stay the same between pages. */
export const queryOf = (caller: string, method: string, request: JsonObject): string => {
  const { pageToken: _token, pageSize: _size, skip: _skip, ...query } = request;
  const canonical = (value: Json): Json =>
    Array.isArray(value)
      ? value.map(canonical)
      : typeof value === "object" && value !== null
        ? Object.fromEntries(
            Object.entries(value)
              .sort(([one], [other]) => (one < other ? -1 : 1))
              .map(([key, entry]) => [key, canonical(entry)]),
          )
        : value;
  return hash("sha256", JSON.stringify([caller, method, canonical(query)]), "base64url").slice(0, 22);
};

export const writePageToken = (seal: Seal, query: string, position: Position, nowMs: number): string =>
  seal.seal(purpose, JSON.stringify([query, nowMs, position.key, position.total]), boundWithin);

/**
 * Returns the position to continue from; "expired" after three days or a database restore, which may have removed rows already
 * shown. Throws INVALID_ARGUMENT on page_token.
 */
export const readPageToken = (seal: Seal, query: string, token: string, nowMs: number, restoredMs = Number.NEGATIVE_INFINITY): Position | "expired" => {
  const refuse = (description: string): Fault => invalid([{ field: "page_token", description }]);
  const opened = seal.open(purpose, token, boundWithin);
  if (opened === undefined) throw refuse("is not a page token of this server");
  const content: unknown = JSON.parse(opened);
  if (!Array.isArray(content)) throw refuse("is not a page token of this server");
  const [madeFor, madeMs, key, total] = content;
  if (madeFor !== query) throw refuse("belongs to another caller or another query; start again without it");
  if (nowMs - Number(madeMs) > limits.pageTokenLifetimeMs || Number(madeMs) <= restoredMs) return "expired";
  if (!Array.isArray(key)) throw refuse("is not a page token of this server");
  return { key: key.map(String), total: Number(total) };
};
