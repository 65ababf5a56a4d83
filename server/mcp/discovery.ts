// Default tools of a client that selects no toolset: a few common operations, and tools to find and call the others. So a
// conversation contains only the schemas that it uses.

import { isObject, type JsonObject, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { synonymsOf } from "#base/search-synonyms.ts";
import { invalidArguments } from "./refusal.ts";
import { seenText } from "./result.ts";
import type { Refusal } from "./tool-answer.ts";
import type { Tool, ToolDefinition } from "./tool.ts";

/** Tool names of operations shown without a search. */
export const usualTools: ReadonlySet<string> = new Set([
  "events_list_events",
  "iam_explain",
  "iam_list_groups",
  "iam_who_can",
  "registry_list_affected_images",
  "registry_list_repos",
  "registry_list_tags",
]);

export const searchTool = "search_operations";
export const readTool = "read_operation";
export const writeTool = "write_operation";

const callSchema = {
  type: "object" as const,
  properties: {
    operation: { type: "string", description: `Name of the operation, as ${searchTool} gives it.` },
    arguments: { type: "object", description: "The arguments, as described by the operation's inputSchema." },
  },
  required: ["operation"],
};

const definitionOf = (name: string, title: string, description: string, writes: boolean): ToolDefinition => ({
  name,
  title,
  description,
  inputSchema: callSchema,
  annotations: { title, readOnlyHint: !writes, destructiveHint: writes, idempotentHint: !writes, openWorldHint: writes },
});

const searchDefinition: ToolDefinition = {
  name: searchTool,
  title: "Search operations",
  description:
    `Finds operations of the API by words such as "role binding", and returns the name, description and inputSchema of at most ` +
    `${limits.mcpOperationsMax}. Call the operations with ${readTool}.`,
  inputSchema: {
    type: "object",
    properties: { query: { type: "string", description: "Search words. Example: list pull tokens" } },
    required: ["query"],
  },
  annotations: { title: "Search operations", readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
};

/** Returns the tools that are not operations. */
export const discoveryDefinitions = (writes: boolean): readonly ToolDefinition[] => [
  searchDefinition,
  definitionOf(readTool, "Read operation", `Calls an operation that changes nothing. ${searchTool} finds operations.`, false),
  ...(writes
    ? [
        definitionOf(
          writeTool,
          "Write operation",
          `Calls an operation that changes something. Try it with validateOnly first. ${searchTool} finds operations.`,
          true,
        ),
      ]
    : []),
];

const wordsOf = (content: string): string[] => (content.toLowerCase().match(/[a-z0-9]+/g) ?? []).map((word) => word.replace(/(?:ies|y)$|(?<=[^s])s$/, ""));

/** Words of the name count most, then the first sentence, then the rest. Synonyms count half, and only in place of a word that is not found. */
const scoreOf = ({ definition }: Tool, query: readonly string[], synonyms: ReadonlyMap<string, readonly string[]>): number => {
  const [first = "", ...rest] = definition.description.split(/(?<=\.) /);
  const parts = [
    wordsOf(definition.name.replaceAll("_", " ")),
    wordsOf(first),
    wordsOf(`${rest.join(" ")} ${Object.keys(definition.inputSchema.properties).join(" ")}`),
  ];
  const weightOf = (word: string): number => [9, 3, 1][parts.findIndex((words) => words.includes(word))] ?? 0;
  return query.reduce((sum, word) => sum + (weightOf(word) || Math.max(0, ...(synonyms.get(word) ?? []).map(weightOf)) / 2), 0);
};

/** A type, not an interface: it is sent as JSON. */
export type SearchResult = { readonly operations: JsonObject[]; readonly note?: string };

/** Returns the best matches first. Of equals, a shorter name is the more general operation. */
export const searchOperations = (tools: readonly Tool[], given: JsonObject): SearchResult | Refusal => {
  const asked = text(given, "query");
  if (asked.length > limits.mcpQueryLengthMax)
    return invalidArguments([{ field: "query", description: `must have at most ${limits.mcpQueryLengthMax} characters` }]);
  const query = [...new Set(wordsOf(asked))];
  const synonyms = new Map(query.map((word) => [word, wordsOf(synonymsOf(word).join(" "))]));
  const found = tools
    .map((tool) => ({ tool, score: scoreOf(tool, query, synonyms) }))
    .filter(({ score }) => score > 0)
    .sort((one, other) => other.score - one.score || one.tool.definition.name.length - other.tool.definition.name.length)
    .slice(0, limits.mcpOperationsMax);
  return {
    operations: found.map(({ tool: { method, definition } }) => ({
      name: definition.name,
      description: definition.description,
      calledWith: method.writes ? writeTool : readTool,
      inputSchema: { ...definition.inputSchema },
    })),
    ...(found.length === 0 ? { note: `no operation has any of these words: ${seenText(query.join(" "))}` } : {}),
  };
};

export const namedCall = (given: JsonObject): { readonly operation: string; readonly given: JsonObject } => ({
  operation: text(given, "operation"),
  given: isObject(given.arguments) ? given.arguments : {},
});
