// MCP over standard input and output: one client, which started this process and gave it its credentials. A line is a message, and
// nothing else is ever written to standard output.

import { newMcpServer, type CallTool } from "./server.ts";
import { readToolsets } from "./selection.ts";

export interface McpStdioOptions {
  readonly version: string;
  /** Names of sets of tools, separated by commas; undefined: the usual ones. */
  readonly toolsets: string | undefined;
  readonly writes: boolean;
  readonly call: CallTool;
  /** Told of what the protocol cannot answer, such as a line that is no message. */
  readonly onError: (error: Error) => void;
}

/** Serves until the client closes standard input, or `stop` is aborted. Throws INVALID_ARGUMENT for a set of tools that is not there. */
export const serveMcpStdio = async ({ version, toolsets, writes, call, onError }: McpStdioOptions, stop: AbortSignal): Promise<void> => {
  const selection = { toolsets: readToolsets(toolsets), writes };
  const { serveStdio, StdioServerTransport } = await import("@modelcontextprotocol/server/stdio");
  const transport = new StdioServerTransport();
  const handle = serveStdio(() => newMcpServer({ version, selection, call }), { transport, onerror: onError });
  await new Promise<void>((resolve) => {
    process.stdin.once("end", resolve).once("close", resolve);
    stop.addEventListener("abort", () => resolve(), { once: true });
  });
  await handle.close();
};
