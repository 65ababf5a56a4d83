// The public entry: the API's operations as tools of the Model Context Protocol, over HTTP in the server and over standard input in the
// command `gantry mcp`. It knows the contract, and is given what calls an operation.

import type { McpStdioOptions } from "./stdio.ts";

export { openMcp } from "./endpoint.ts";

/** Loaded by the command alone: a server has no use for the client of the API. */
export const serveMcpStdio = async (options: McpStdioOptions): Promise<void> => (await import("./stdio.ts")).serveMcpStdio(options);
