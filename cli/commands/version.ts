// `gantry version`: print the versions of this command and of its server.

import { type Command, Option } from "commander";
import { isObject, type Json, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { version } from "#application";
import { newCommand } from "../command.ts";
import { addServerOptions, findContext } from "../context.ts";
import { onOneLine, printableJson } from "../output/escape.ts";
import { formatTable } from "../table.ts";
import type { Terminal } from "../terminal.ts";

interface Options {
  readonly server?: string;
  readonly context?: string;
  readonly output: "table" | "json";
}

/** Returns "" if the server does not respond or is not Gantry. */
const serverVersion = async (server: string): Promise<string> => {
  try {
    const response = await fetch(`${server}/healthz`, { signal: AbortSignal.timeout(limits.outboundTimeoutMs), redirect: "error" });
    const answer = (await response.json()) as Json;
    return response.ok && isObject(answer) ? text(answer, "version") : "";
  } catch {
    return "";
  }
};

export const versionCommand = (terminal: Terminal): Command =>
  addServerOptions(
    newCommand({
      name: "version",
      usage: "[--server URL] [--context NAME] [-o FORMAT]",
      description: "Show the versions of the client and the server. If the server does not respond, the command still succeeds.",
      notes: "Examples:  gantry version\n           gantry version -o json",
    }),
  )
    .addOption(new Option("-o, --output <FORMAT>", "table or json (default: table)").choices(["table", "json"]).default("table"))
    .action(async ({ server: address, context, output }: Options) => {
      const { server } = findContext(terminal, { server: address, context });
      const found = await serverVersion(server);
      if (output === "json") {
        terminal.out.write(`${printableJson(JSON.stringify({ client: version, server: found, address: server }, undefined, 2))}\n`);
        return;
      }
      const rows = [
        ["client", version],
        ["server", found === "" ? `no response from ${server}` : `${found} at ${server}`],
      ];
      terminal.out.write(`${formatTable(rows.map((row) => row.map(onOneLine)))}\n`);
    });
