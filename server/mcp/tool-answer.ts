// What a tool's call is made with, and what comes of it: free of who makes it.

import type { JsonObject } from "#base/json.ts";
import type { MethodFact } from "#contract/facts.ts";

/** The body of an error (AIP-193), with the code's name. */
export interface Refusal {
  readonly code: string;
  readonly refusal: JsonObject;
}

/** What an operation answered: its message and the headers beside it, or its refusal. */
export type ToolAnswer = { readonly message: JsonObject; readonly headers: Readonly<Record<string, string>> } | Refusal;

/** How a write is made: the tool's arguments beside the fields of its message. */
export interface WriteOptions {
  readonly validateOnly: boolean;
  /** Undefined: none. */
  readonly idempotencyKey: string | undefined;
}

/** Calls an operation as whoever asks, with its fields side by side. Never throws for what the operation refuses. */
export type CallTool = (method: MethodFact, given: JsonObject, options: WriteOptions) => Promise<ToolAnswer>;
