// MCP over standard input and output, for the one client that started this process. Each line is a message; nothing else is written
// to standard output.

import type { Client } from "#contract-client";
import { callsOf } from "./client-calls.ts";
import { newMcpServer } from "./server.ts";
import { readToolsets } from "./selection.ts";

export interface McpStdioOptions {
  readonly version: string;
  /** Comma-separated toolsets; undefined: the common operations. */
  readonly toolsets: string | undefined;
  readonly writes: boolean;
  readonly client: Client;
  /** Turns an API error into one with a remedy. */
  readonly explain: (thrown: unknown) => unknown;
  /** Receives errors that have no response, such as a malformed line. */
  readonly onError: (error: Error) => void;
}

/** Serves until the client closes standard input. Throws INVALID_ARGUMENT for an unknown toolset. */
export const serveMcpStdio = async ({ version, toolsets, writes, client, explain, onError }: McpStdioOptions): Promise<void> => {
  const selection = { ...readToolsets(toolsets), writes };
  const call = callsOf(client, explain);
  const { serveStdio } = await import("@modelcontextprotocol/server/stdio");
  const ended = new Promise<void>((resolve) => {
    process.stdin.once("end", resolve).once("close", resolve);
  });
  const handle = serveStdio(() => newMcpServer({ version, selection, call }), { onerror: onError });
  await ended;
  await handle.close();
};
