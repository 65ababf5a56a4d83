// MCP over standard input and output: one client, which started this process and gave it its credentials. A line is a message, and
// nothing else is ever written to standard output.

import type { Client } from "#contract-client";
import { callsOf } from "./client-calls.ts";
import { newMcpServer } from "./server.ts";
import { readToolsets } from "./selection.ts";

export interface McpStdioOptions {
  readonly version: string;
  /** Names of sets of tools, separated by commas; undefined: the usual ones. */
  readonly toolsets: string | undefined;
  readonly writes: boolean;
  readonly client: Client;
  /** An error of the API as its reader can do something about it. */
  readonly explain: (thrown: unknown) => unknown;
  /** Told of what the protocol cannot answer, such as a line that is no message. */
  readonly onError: (error: Error) => void;
}

/** Serves until the client closes standard input. Throws INVALID_ARGUMENT for a set of tools that is not there. */
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
