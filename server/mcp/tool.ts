// A tool as shown to clients.

import type { MethodFact } from "#contract/facts.ts";
import type { ObjectSchema } from "./schema.ts";

export interface ToolDefinition {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly inputSchema: ObjectSchema;
  readonly outputSchema?: ObjectSchema;
  readonly annotations: {
    readonly title: string;
    readonly readOnlyHint: boolean;
    readonly destructiveHint: boolean;
    readonly idempotentHint: boolean;
    readonly openWorldHint: boolean;
  };
}

export interface Tool {
  readonly method: MethodFact;
  readonly toolset: string;
  readonly definition: ToolDefinition;
}
