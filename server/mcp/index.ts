// The public entry: the API's operations as tools of the Model Context Protocol, over HTTP in the server and over standard input in the
// command `gantry mcp`. It knows the contract, and is given what calls an operation.

export { mcpPath, openMcp } from "./endpoint.ts";
export type { CallTool, ToolAnswer } from "./server.ts";
export { serveMcpStdio } from "./stdio.ts";
