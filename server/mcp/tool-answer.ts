// Input and output of tool calls, independent of the transport.

import type { JsonObject } from "#base/json.ts";
import type { MethodFact } from "#contract/facts.ts";

/** Body of an error (AIP-193), with the code's name. */
export interface Refusal {
  readonly code: string;
  readonly refusal: JsonObject;
}

/** Message and headers of a response, or a refusal. */
export type ToolAnswer = { readonly message: JsonObject; readonly headers: Readonly<Record<string, string>> } | Refusal;

/** Arguments of a write in addition to the message's fields. */
export interface WriteOptions {
  readonly validateOnly: boolean;
  readonly idempotencyKey: string | undefined;
}

/** Calls an operation as the client. Never throws for a refusal. */
export type CallTool = (method: MethodFact, given: JsonObject, options: WriteOptions) => Promise<ToolAnswer>;
