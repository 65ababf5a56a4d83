// The tools: one for each operation that is a message in and a message out. All that a client is told of one follows from the
// contract, its comments included; there is no second list.

import { methods } from "#contract/catalog.ts";
import { commandDomainOf } from "#contract/command-domain.ts";
import type { MethodFact } from "#contract/facts.ts";
import { discoveryDefinitions, usualTools } from "./discovery.ts";
import { commentOf, inputSchemaOf, outputSchemaOf } from "./schema.ts";
import { isToolOperation, type Selection } from "./selection.ts";
import type { Tool, ToolDefinition } from "./tool.ts";

const snakeCase = (name: string): string => name.replaceAll(/(?<=[a-z0-9])(?=[A-Z])/g, "_").toLowerCase();

export const toolNameOf = (method: MethodFact): string => `${commandDomainOf(method)}_${snakeCase(method.rpc)}`;

/** "ListRoleBindings": "List role bindings" */
const toolTitleOf = ({ rpc }: MethodFact): string => {
  const words = snakeCase(rpc).replaceAll("_", " ");
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}`;
};

/** What only adds something takes nothing from anybody. Whatever else writes may: of a verb that nobody here knows the worst is said. */
const adds = /^(?:Create|BatchCreate|Accept|Request|Generate|Submit|Restore|Refresh|Test|Replay|Redeliver|Enable)(?=[A-Z])/;
/** Done twice with the same arguments it is as if it were done once. */
const isRepeatable = /^(?:Update|Delete|BatchDelete|Revoke|Set|Enable|Accept|Remove|Restore|Refresh)(?=[A-Z]|$)/;
/** It asks another server: a subscriber's address is outside of this one's world. */
const reachesOut = /^(?:Test|Replay|Redeliver)(?=[A-Z])/;

const annotationsOf = ({ writes, rpc }: MethodFact): Omit<ToolDefinition["annotations"], "title"> => ({
  readOnlyHint: !writes,
  destructiveHint: writes && !adds.test(rpc),
  idempotentHint: !writes || isRepeatable.test(rpc),
  openWorldHint: reachesOut.test(rpc),
});

/** What a tool that writes takes besides the fields of its message. */
const writeArguments = {
  validateOnly: { type: "boolean", description: "true: validates the request and returns its result without changing anything." },
  idempotencyKey: {
    type: "string",
    description: "A unique text for each change: within 24 hours, a repeated call with the same key and arguments does not repeat the change.",
  },
} as const;

const toolOf = (method: MethodFact): Tool => {
  const title = toolTitleOf(method);
  return {
    method,
    toolset: commandDomainOf(method),
    definition: {
      name: toolNameOf(method),
      title,
      description: commentOf(method.name) || title,
      inputSchema: inputSchemaOf(method, method.writes ? writeArguments : {}),
      outputSchema: outputSchemaOf(method),
      annotations: { title, ...annotationsOf(method) },
    },
  };
};

let made: readonly Tool[] | undefined;

/** Every tool, in the order of their names. Made at first use: most servers are never asked. */
export const allTools = (): readonly Tool[] =>
  (made ??= methods
    .filter(isToolOperation)
    .map(toolOf)
    .sort((one, other) => (one.definition.name < other.definition.name ? -1 : 1)));

/** What a selection has. */
export const selectTools = ({ toolsets, writes }: Selection): readonly Tool[] =>
  allTools().filter(({ toolset, method }) => toolsets.has(toolset) && (writes || !method.writes));

/** What a selection shows. Where operations are searched, a result's schema is left out: the result says it. */
export const shownDefinitions = (selection: Selection): readonly ToolDefinition[] => {
  const tools = selectTools(selection).map(({ definition }) => definition);
  if (!selection.isSearched) return tools;
  const usual = tools.filter(({ name }) => usualTools.has(name)).map(({ outputSchema: _, ...definition }) => definition);
  return [...usual, ...discoveryDefinitions(selection.writes)].sort((one, other) => (one.name < other.name ? -1 : 1));
};
