// The official MCP clients for the current protocol (2026-07-28) and the earlier one, which starts with `initialize`. Tests thus
// see what users' programs see.

import { Client as NewClient, StreamableHTTPClientTransport as NewHttp } from "@modelcontextprotocol/client";
import { StdioClientTransport as NewStdio } from "@modelcontextprotocol/client/stdio";
import { Client as OldClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as OldStdio } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport as OldHttp } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { isObject, type Json, type JsonObject } from "#base/json.ts";

export const mcpLines = ["2026-07-28", "with initialize"] as const;
export type McpLine = (typeof mcpLines)[number];

export interface ListedTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: JsonObject;
  readonly outputSchema: JsonObject;
  readonly annotations: JsonObject;
}

export interface ToolResult {
  readonly isError: boolean;
  readonly structured: JsonObject | undefined;
  /** Text blocks in order. */
  readonly texts: readonly string[];
}

export interface McpClient {
  readonly revision: string | undefined;
  /** Returns the tools of all pages and the number of pages. */
  listTools(): Promise<{ readonly tools: readonly ListedTool[]; readonly pages: number }>;
  callTool(name: string, given: JsonObject): Promise<ToolResult>;
  close(): Promise<void>;
}

/** The server: a URL with headers, or a command with its environment. */
export type McpPlace =
  | { readonly url: string; readonly headers: Readonly<Record<string, string>> }
  | { readonly command: string; readonly args: readonly string[]; readonly env: Readonly<Record<string, string>> };

const plain = (value: unknown): JsonObject => {
  const json = JSON.parse(JSON.stringify(value ?? {})) as Json;
  return isObject(json) ? json : {};
};

const toolOf = (listed: unknown): ListedTool => {
  const { name, description, inputSchema, outputSchema, annotations } = plain(listed);
  const objectOf = (value: Json | undefined): JsonObject => (isObject(value) ? value : {});
  return {
    name: String(name),
    description: String(description),
    inputSchema: objectOf(inputSchema),
    outputSchema: objectOf(outputSchema),
    annotations: objectOf(annotations),
  };
};

const resultOf = (result: unknown): ToolResult => {
  const { isError, structuredContent, content } = plain(result);
  const blocks = Array.isArray(content) ? content.filter(isObject) : [];
  return { isError: isError === true, structured: isObject(structuredContent) ? structuredContent : undefined, texts: blocks.map(({ text }) => String(text)) };
};

interface AnyClient {
  listTools(params?: { cursor: string }): Promise<{ tools: unknown[]; nextCursor?: string | undefined }>;
  callTool(params: { name: string; arguments: JsonObject }): Promise<unknown>;
  close(): Promise<void>;
}

const wrap = (client: AnyClient, revision: string | undefined): McpClient => ({
  revision,
  async listTools() {
    const tools: ListedTool[] = [];
    let pages = 0;
    for (let cursor: string | undefined; ; pages++) {
      const page = await client.listTools(...(cursor === undefined ? [] : [{ cursor }]));
      tools.push(...page.tools.map(toolOf));
      cursor = page.nextCursor;
      if (cursor === undefined) return { tools, pages: pages + 1 };
    }
  },
  callTool: async (name, given) => resultOf(await client.callTool({ name, arguments: given })),
  close: () => client.close(),
});

const info = { name: "gantry-test", version: "1.0.0" };

/** Connects a client of this protocol version. Throws the client's errors. */
export const connectMcp = async (line: McpLine, place: McpPlace): Promise<McpClient> => {
  if (line === "2026-07-28") {
    const client = new NewClient(info, { versionNegotiation: { mode: { pin: "2026-07-28" } } });
    const transport =
      "url" in place
        ? new NewHttp(new URL(place.url), { requestInit: { headers: place.headers } })
        : new NewStdio({ command: place.command, args: [...place.args], env: { ...place.env }, stderr: "pipe" });
    await client.connect(transport);
    return wrap(client, client.getNegotiatedProtocolVersion());
  }
  const client = new OldClient(info);
  const transport =
    "url" in place
      ? new OldHttp(new URL(place.url), { requestInit: { headers: place.headers } })
      : new OldStdio({ command: place.command, args: [...place.args], env: { ...place.env }, stderr: "pipe" });
  // The earlier client's types need looser compiler settings.
  await client.connect(transport as Parameters<OldClient["connect"]>[0]);
  return wrap(client as AnyClient, undefined);
};
