// `gantry mcp`: the API's operations as tools for a program that works with a language model, which starts this command and speaks
// with it over standard input and output.

import type { Command } from "commander";
import { version } from "#application";
import { explainRefusal } from "#contexts";
import { newCommand } from "../command.ts";
import { findContext } from "../context.ts";
import { exitStatusText } from "../exit-status.ts";
import type { Terminal } from "../terminal.ts";

interface Options {
  readonly toolsets?: string;
  readonly write?: boolean;
  readonly server?: string;
  readonly context?: string;
}

export const mcpCommand = (terminal: Terminal): Command =>
  newCommand({
    name: "mcp",
    usage: "[--toolsets NAME,…] [--write] [--server URL] [--context NAME]",
    description: `Serves the API's operations as tools of the Model Context Protocol (MCP) over standard input and output, for the program
that starts it: an editor, an assistant. Tools do what your own token may, at the server and with the credential that every command
uses; tools that change something are there with --write alone. Standard output holds the protocol and nothing else.

A server offers the same over HTTP, at its address with /mcp behind it.`,
    notes: `${exitStatusText}

Examples:  gantry mcp
           gantry mcp --toolsets iam,registry
           gantry mcp --toolsets all --write --context staging
           claude mcp add gantry -- gantry mcp`,
  })
    .option("--toolsets <NAMES>", "sets of tools, separated by commas, or all (usual operations, and a search for the others)")
    .option("--write", "with the tools that change something")
    .option("--server <URL>", "the server's address (that of the context)")
    .option("--context <NAME>", "the context to use (the current one)")
    .action(async ({ toolsets, write, server, context }: Options) => {
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
