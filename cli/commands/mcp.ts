// `gantry mcp`: serve API operations as MCP tools over standard input and output, started by a program that uses a language
// model.

import type { Command } from "commander";
import { version } from "#application";
import { explainRefusal } from "#contexts";
import { newCommand } from "../command.ts";
import { addServerOptions, findContext } from "../context.ts";
import { exitStatusText } from "../exit-status.ts";
import type { Terminal } from "../terminal.ts";

interface Options {
  readonly toolsets?: string;
  readonly write?: boolean;
  readonly server?: string;
  readonly context?: string;
}

export const mcpCommand = (terminal: Terminal): Command =>
  addServerOptions(
    newCommand({
      name: "mcp",
      usage: "[--toolsets NAME,…] [--write] [--server URL] [--context NAME]",
      description: `Serve the API's operations as tools of the Model Context Protocol (MCP) over standard input and output, for an editor or an AI
assistant that starts this command. Tools use the server and the credential of your other commands, and have their permissions. Tools
that change something require --write. Standard output has only the protocol.

Servers also offer these tools over HTTP, at the path /mcp.`,
      notes: `${exitStatusText}

Examples:  gantry mcp
           gantry mcp --toolsets iam,registry
           gantry mcp --toolsets all --write --context staging
           claude mcp add gantry -- gantry mcp`,
    })
      .option("--toolsets <NAMES>", "Sets of tools, separated by commas, or all (default: common operations, and a search for the others)")
      .option("--write", "Include tools that change something"),
  ).action(async ({ toolsets, write, server, context }: Options) => {
    const found = findContext(terminal, { server, context });
    const [{ createClient }, { serveMcpStdio }] = await Promise.all([import("#contract-client"), import("#mcp")]);
    await serveMcpStdio({
      version,
      toolsets,
      writes: write === true,
      client: createClient({ server: found.server, token: found.credential.token, headers: { "user-agent": `gantry-mcp/${version}` } }),
      explain: (thrown) => explainRefusal(found.credential, thrown),
      onError: (error) => terminal.err.write(`gantry mcp: ${error.message}\n`),
    });
  });
