// `gantry iam pull-tokens`: tokens for machines that pull images, made, listed and revoked by way of the API.

import { type Command, Option } from "commander";
import { limits } from "#base/limits.ts";
import type { Client } from "#contract-client";
import { findContext } from "../context.ts";
import { readDuration } from "../duration.ts";
import { newCommand, newGroup } from "../command.ts";
import { formatTable } from "../table.ts";
import type { Terminal } from "../terminal.ts";

interface ServerOptions {
  readonly server?: string;
  readonly issuer?: string;
  readonly context?: string;
  readonly json?: boolean;
}

interface CreateOptions extends ServerOptions {
  readonly group?: string;
  readonly name: string;
  readonly description?: string;
  readonly ttl: string;
}

interface ListOptions extends ServerOptions {
  readonly group?: string;
}

const wrongArguments = "what of pull-tokens? gantry iam pull-tokens create makes one, list shows them, revoke UID ends one";

const addServerOptions = (command: Command): Command =>
  command
    .option("--server <URL>", "the server's address (GANTRY_SERVER, or the current context's)")
    .option("--context <NAME>", "the context (GANTRY_CONTEXT, or the current one)")
    // What --server was called.
    .addOption(new Option("--issuer <URL>").hideHelp());

const whoActs = `Acts as whoever signed in with gantry login at that server, or with the token of GANTRY_TOKEN or of the file that
GANTRY_TOKEN_FILE names. Needs nothing of the server's machine.`;

const open = async (terminal: Terminal, { server: named, issuer, context }: ServerOptions) => {
  const { server, organization, credential } = findContext(terminal, { server: named ?? issuer, context });
  const [commands, { createClient }] = await Promise.all([import("#pull-tokens"), import("#contract-client")]);
  const client = createClient({ server, token: credential.token });
  return { server, commands, client, organization };
};

/** The group's uid, whose name or path of names stands here or in the context; undefined where none is named. */
const findGroupUid = async (client: Client, group: string | undefined): Promise<string | undefined> => {
  if (group === undefined) return undefined;
  const [{ openNames }, { messageByName }] = await Promise.all([import("../operations/references.ts"), import("#contract/catalog.ts")]);
  const message = messageByName("chainguard.platform.iam.v2.Group");
  return message === undefined ? group : openNames(client).resolve("--group", message, group);
};

const day = (time: string): string => time.slice(0, 10);

const createCommand = (terminal: Terminal): Command =>
  addServerOptions(
    newCommand({
      name: "create",
      usage: "[--group GROUP] [--name NAME] [--description TEXT] [--ttl TIME] [--server URL] [--context NAME] [--json]",
      description: `Makes a pull token: an identity in the group, with keys of its own and bound to the role registry.pull there. It may
pull from the group's repos and from those of the groups below. The password is shown once, and nobody can show it again.
${whoActs}`,
      notes: `Examples:
  gantry iam pull-tokens create --server https://gantry.example.com --group acme/team --name ci --ttl 90d
  gantry iam pull-tokens create --server https://gantry.example.com --json > token.json
  jq -r .password token.json | docker login gantry.example.com --username "$(jq -r .uid token.json)" --password-stdin`,
      wrongArguments: "create takes no arguments besides its options",
    }),
  )
    .option("--group <GROUP>", "where it may pull: a uid or a path of names (the context's, or the only organization that you see)")
    .option("--name <NAME>", "what it is called", "pull-token")
    .option("--description <TEXT>", "what it is for")
    .option("--ttl <TIME>", "how long it is good: 12h, 30d, a year at most (30d)", "30d")
    .option("--json", "one line of JSON with uid and password")
    .action(async (options: CreateOptions) => {
      const lifetimeMs = readDuration("--ttl", options.ttl, limits.staticKeysLifetimeMs);
      const { server, commands, client, organization } = await open(terminal, options);
      const group = await commands.findGroup(client, await findGroupUid(client, options.group ?? organization));
      const made = await commands.createPullToken(client, server, { group, name: options.name, description: options.description ?? "", lifetimeMs });
      if (options.json) {
        terminal.out.write(`${JSON.stringify(made)}\n`);
        return;
      }
      const { host } = new URL(server);
      terminal.out.write(`The pull token ${made.name} for ${group} is good until ${made.expireTime}.

User name:  ${made.uid}
Password:   ${made.password}

The password is not shown again. To pull with it:

    docker login ${host} --username ${made.uid} --password-stdin
`);
    });

const listCommand = (terminal: Terminal): Command =>
  addServerOptions(
    newCommand({
      name: "list",
      usage: "[--group GROUP] [--server URL] [--context NAME] [--json]",
      description: `Lists the pull tokens that you may see, with the day on which each ends.
${whoActs}`,
      notes: "Example:  gantry iam pull-tokens list --server https://gantry.example.com",
      wrongArguments: "list takes no arguments besides its options",
    }),
  )
    .option("--group <GROUP>", "of this group and those below it alone")
    .option("--json", "one line of JSON each")
    .action(async (options: ListOptions) => {
      const { server, commands, client } = await open(terminal, options);
      const found = await commands.listPullTokens(client, server, await findGroupUid(client, options.group));
      if (options.json) {
        terminal.out.write(found.map((each) => `${JSON.stringify(each)}\n`).join(""));
        return;
      }
      const rows = found.map((each) => {
        const ends = Date.parse(each.expireTime) <= Date.now() ? `${day(each.expireTime)} (over)` : day(each.expireTime);
        return [each.uid, each.name, day(each.createTime), ends, each.lastSeenTime === each.createTime ? "-" : day(each.lastSeenTime), each.description];
      });
      terminal.out.write(`${formatTable([["UID", "NAME", "MADE", "ENDS", "LAST USED", "DESCRIPTION"], ...rows])}\n`);
    });

const revokeCommand = (terminal: Terminal): Command =>
  addServerOptions(
    newCommand({
      name: "revoke",
      usage: "UID [--server URL] [--context NAME]",
      description: `Ends a pull token at once: removes its identity and the binding with it.
${whoActs}`,
      notes: "Example:  gantry iam pull-tokens revoke 0a1b2c3d4e5f60718293a4b5c6d7e8f901234567/89abcdef01234567",
      wrongArguments: "name the pull token by its uid: gantry iam pull-tokens revoke UID",
    }),
  )
    .argument("<UID>")
    .action(async (uid: string, options: ServerOptions) => {
      const { server, commands, client } = await open(terminal, options);
      const { name } = await commands.revokePullToken(client, server, uid);
      terminal.out.write(`The pull token ${name} (${uid}) is revoked\n`);
    });

export const pullTokensCommand = (terminal: Terminal): Command =>
  newGroup("pull-tokens", [createCommand(terminal), listCommand(terminal), revokeCommand(terminal)], wrongArguments);
