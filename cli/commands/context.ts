// `gantry context`: manage the user's saved servers.

import { rmSync } from "node:fs";
import { type Command, Option } from "commander";
import { changeContexts, checkContextName, contextFilePath, readContexts, readServer, type StoredContext } from "#contexts";
import { Fault } from "#base/fault.ts";
import { isUid } from "#base/uid.ts";
import { newCommand, newGroup } from "../command.ts";
import { findContext } from "../context.ts";
import { wrongUsage } from "../exit-status.ts";
import { onOneLine } from "../output/escape.ts";
import { formatTable } from "../table.ts";
import type { Terminal } from "../terminal.ts";

interface OutputOptions {
  readonly output?: "table" | "json";
}

interface SetOptions {
  readonly server?: string;
  readonly organization?: string;
  readonly identity?: string;
  readonly output?: string;
  readonly unset?: readonly (keyof StoredContext)[];
}

const wrongArguments = "subcommand required: list, use, set, show or delete. Run gantry help context for details";

const outputOption = (): Option => new Option("-o, --output <FORMAT>", "table or json (default: table)").choices(["table", "json"]).default("table");

const missing = (name: string): Fault => new Fault("NOT_FOUND", `context ${onOneLine(name)} not found. List the contexts with gantry context list`);

const listCommand = ({ environment, out }: Terminal): Command =>
  newCommand({
    name: "list",
    usage: "[-o FORMAT]",
    description: "List the contexts. * marks the current one.",
    notes: "Example:  gantry context list",
    wrongArguments: "list takes no arguments, only options",
  })
    .addOption(outputOption())
    .action(({ output }: OutputOptions) => {
      const { current, contexts } = readContexts(environment);
      const all = [...contexts].map(([name, { server, organization, identity }]) => ({ name, current: name === current, server, organization, identity }));
      if (output === "json") {
        out.write(`${JSON.stringify({ contexts: all }, undefined, 2)}\n`);
        return;
      }
      if (all.length === 0) return;
      const rows = all.map((each) => [each.current ? "*" : "", each.name, each.server, each.organization ?? "-", each.identity ?? "-"].map(onOneLine));
      out.write(`${formatTable([["", "NAME", "SERVER", "ORGANIZATION", "IDENTITY"], ...rows])}\n`);
    });

const useCommand = ({ environment, out }: Terminal): Command =>
  newCommand({
    name: "use",
    usage: "NAME",
    description: `Make this context the current one, for all your terminals. Commands use it unless --context, GANTRY_CONTEXT, --server or
GANTRY_SERVER is set. To change the context of one terminal, set GANTRY_CONTEXT there.`,
    notes: "Example:  gantry context use acme",
    wrongArguments: "one context name required: gantry context use NAME",
  })
    .argument("<CONTEXT>")
    .action(async (name: string) => {
      const { contexts } = await changeContexts(environment, (before) => {
        if (!before.contexts.has(checkContextName(name))) throw missing(name);
        return { ...before, current: name };
      });
      out.write(`Current context: ${name} (${onOneLine(contexts.get(name)?.server ?? "")})\n`);
    });

const unsettable = ["organization", "identity", "output"] as const;

/** Sign-in data does not carry over to another server or identity. */
const withChanges = (stored: StoredContext | undefined, changes: Partial<StoredContext>): StoredContext => {
  const server = changes.server ?? stored?.server;
  if (server === undefined) throw wrongUsage("--server is required for a new context");
  if (stored === undefined) return { ...changes, server };
  const isElsewhere = server !== stored.server;
  const isOther = isElsewhere || ("identity" in changes && changes.identity !== stored.identity);
  const kept = isElsewhere ? { output: stored.output } : stored;
  return { ...kept, ...(isOther ? { identityTokenFile: undefined } : {}), ...changes, server };
};

const setCommand = ({ environment, out }: Terminal): Command =>
  newCommand({
    name: "set",
    usage: "NAME [--server URL] [--organization ORGANIZATION] [--identity UID] [--output FORMAT] [--unset FIELD]",
    description: `Create or update a context, without contacting the server. gantry login also does this. The first context becomes the
current one.`,
    notes: "Example:  gantry context set acme --server https://gantry.example.com --organization acme",
    wrongArguments: "one context name required: gantry context set NAME --server URL",
  })
    .argument("<CONTEXT>")
    .option("--server <URL>", "Server address")
    .option("--organization <ORGANIZATION>", "Default organization of commands: its uid or name")
    .option("--identity <UID>", "Identity of the tokens")
    .option("--output <FORMAT>", "Default output format of commands")
    .addOption(
      new Option("--unset <FIELD>", "Field to unset: organization, identity or output; can be repeated").argParser((field: string, before?: string[]) => [
        ...(before ?? []),
        field,
      ]),
    )
    .action(async (name: string, options: SetOptions) => {
      checkContextName(name);
      const { server, organization, identity, output, unset = [] } = options;
      const unknown = unset.find((field) => !unsettable.some((each) => each === field));
      if (unknown !== undefined) throw wrongUsage(`--unset must be one of ${unsettable.join(", ")}, not ${JSON.stringify(unknown)}`);
      if (identity !== undefined && !isUid(identity)) throw wrongUsage(`--identity must be the uid of an identity, not ${JSON.stringify(identity)}`);
      for (const [flag, value] of Object.entries({ organization, output }))
        if (value !== undefined && onOneLine(value) !== value) throw wrongUsage(`--${flag} must not have invisible characters`);
      const given = Object.entries({ server: server && readServer("--server", server), organization, identity, output }).filter(
        ([, value]) => value !== undefined,
      );
      const changes: Partial<StoredContext> = Object.fromEntries([...given, ...unset.map((field) => [field, undefined])]);
      const { current } = await changeContexts(environment, (before) => ({
        current: before.current ?? name,
        contexts: new Map(before.contexts).set(name, withChanges(before.contexts.get(name), changes)),
      }));
      out.write(`Context ${name} saved. ${current === name ? "It is the current context" : `To make it current, run gantry context use ${name}`}\n`);
    });

const showCommand = (terminal: Terminal): Command =>
  newCommand({
    name: "show",
    usage: "[NAME] [-o FORMAT]",
    description: `Show the server, the organization and the token source of the current context, or of NAME, without contacting the server.
gantry whoami also asks the server.`,
    notes: "Example:  gantry context show",
    wrongArguments: "at most one context name: gantry context show NAME",
  })
    .argument("[CONTEXT]")
    .addOption(outputOption())
    .action((name: string | undefined, { output }: OutputOptions) => {
      const { environment, out } = terminal;
      const found = findContext(terminal, { context: name });
      const lines: Readonly<Record<string, string>> = {
        context: found.name ?? "",
        server: found.server,
        serverFrom: found.serverOrigin,
        organization: found.organization ?? "",
        identity: found.stored?.identity ?? "",
        output: found.output ?? "",
        credential: found.credential.origin,
        file: contextFilePath(environment),
      };
      if (output === "json") out.write(`${JSON.stringify(lines, undefined, 2)}\n`);
      else out.write(`${formatTable(Object.entries(lines).map(([key, value]) => [key, value === "" ? "-" : onOneLine(value)]))}\n`);
    });

const deleteCommand = ({ environment, out }: Terminal): Command =>
  newCommand({
    name: "delete",
    usage: "NAME",
    description: `Delete a context and its own sign-in. The first sign-in at a server is shared with other clients, and stays until gantry
logout.`,
    notes: "Example:  gantry context delete acme",
    wrongArguments: "one context name required: gantry context delete NAME",
  })
    .argument("<CONTEXT>")
    .action(async (name: string) => {
      let removed: StoredContext | undefined;
      const { current } = await changeContexts(environment, (before) => {
        removed = before.contexts.get(checkContextName(name));
        if (removed === undefined) throw missing(name);
        const contexts = new Map(before.contexts);
        contexts.delete(name);
        return { current: before.current === name ? undefined : before.current, contexts };
      });
      if (removed?.alias !== undefined) {
        const { removeTokens, tokenFile } = await import("#login");
        const place = { audience: removed.server, alias: removed.alias };
        removeTokens(environment, place);
        rmSync(`${tokenFile(environment, place, "refresh-token")}.lock`, { force: true });
      }
      out.write(`Context ${name} deleted${current === undefined ? ". No context is current" : ""}\n`);
    });

export const contextCommand = (terminal: Terminal): Command =>
  newGroup(
    "context",
    [listCommand, useCommand, setCommand, showCommand, deleteCommand].map((make) => make(terminal)),
    wrongArguments,
  );
