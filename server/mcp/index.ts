// Entry point: API operations as tools of the Model Context Protocol, over HTTP in the server and over standard input in `gantry
// mcp`.

import type { McpStdioOptions } from "./stdio.ts";

export { openMcp } from "./endpoint.ts";

/** Loaded only by the command, because a server does not need the API client. */
export const serveMcpStdio = async (options: McpStdioOptions): Promise<void> => (await import("./stdio.ts")).serveMcpStdio(options);
