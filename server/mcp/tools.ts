// Tools: one per suitable operation, generated from the contract and its comments.

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

/** Verbs that only add. Other writes, including unknown verbs, count as destructive. */
const adds = /^(?:Create|BatchCreate|Accept|Request|Generate|Submit|Restore|Refresh|Test|Replay|Redeliver|Enable)(?=[A-Z])/;
/** Verbs that are idempotent with equal arguments. */
const isRepeatable = /^(?:Update|Delete|BatchDelete|Revoke|Set|Enable|Accept|Remove|Restore|Refresh)(?=[A-Z]|$)/;
/** Verbs that contact another server, such as a subscriber's. */
const reachesOut = /^(?:Test|Replay|Redeliver)(?=[A-Z])/;

const annotationsOf = ({ writes, rpc }: MethodFact): Omit<ToolDefinition["annotations"], "title"> => ({
  readOnlyHint: !writes,
  destructiveHint: writes && !adds.test(rpc),
  idempotentHint: !writes || isRepeatable.test(rpc),
  openWorldHint: reachesOut.test(rpc),
});

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

/** Returns every tool, sorted by name. Created on first use, because most servers never need them. */
export const allTools = (): readonly Tool[] =>
  (made ??= methods
    .filter(isToolOperation)
    .map(toolOf)
    .sort((one, other) => (one.definition.name < other.definition.name ? -1 : 1)));

/** Returns the tools of a selection. */
export const selectTools = ({ toolsets, writes }: Selection): readonly Tool[] =>
  allTools().filter(({ toolset, method }) => toolsets.has(toolset) && (writes || !method.writes));

/** Returns the tools to list. With a search, output schemas are omitted, because results are self-explanatory. */
export const shownDefinitions = (selection: Selection): readonly ToolDefinition[] => {
  const tools = selectTools(selection).map(({ definition }) => definition);
  if (!selection.isSearched) return tools;
  const usual = tools.filter(({ name }) => usualTools.has(name)).map(({ outputSchema: _, ...definition }) => definition);
  return [...usual, ...discoveryDefinitions(selection.writes)].sort((one, other) => (one.name < other.name ? -1 : 1));
};
