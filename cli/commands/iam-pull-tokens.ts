// `gantry iam pull-tokens`: create, list and revoke tokens for machines that pull images, through the API.

import { type Command, Option } from "commander";
import { limits } from "#base/limits.ts";
import type { Client } from "#contract-client";
import { addServerOptions, findContext } from "../context.ts";
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

const wrongArguments = "subcommand required: create, list or revoke. Run gantry help iam pull-tokens for details";

/** Also accepts --issuer, the earlier name of --server. */
const addIssuerOptions = (command: Command): Command => addServerOptions(command).addOption(new Option("--issuer <URL>").hideHelp());

const whoActs = `Works from any machine, with the sign-in of gantry login at that server, the token in GANTRY_TOKEN, or the token in the file
GANTRY_TOKEN_FILE.`;

const open = async (terminal: Terminal, { server: named, issuer, context }: ServerOptions) => {
  const { server, organization, credential } = findContext(terminal, { server: named ?? issuer, context });
  const [commands, { createClient }] = await Promise.all([import("#pull-tokens"), import("#contract-client")]);
  const client = createClient({ server, token: credential.token });
  return { server, commands, client, organization };
};

/** Resolves the group named by the option or the context to its uid; undefined if neither names one. */
const findGroupUid = async (client: Client, group: string | undefined): Promise<string | undefined> => {
  if (group === undefined) return undefined;
  const [{ openNames }, { openPaths }, { messageByName }] = await Promise.all([
    import("../operations/references.ts"),
    import("../operations/paths.ts"),
    import("#contract/catalog.ts"),
  ]);
  const message = messageByName("chainguard.platform.iam.v2.Group");
  return message === undefined ? group : openNames(client, openPaths(client)).resolve("--group", [message], group);
};

const day = (time: string): string => time.slice(0, 10);

const createCommand = (terminal: Terminal): Command =>
  addIssuerOptions(
    newCommand({
      name: "create",
      usage: "[--group GROUP] [--name NAME] [--description TEXT] [--ttl TIME] [--server URL] [--context NAME] [--json]",
      description: `Create a pull token: an identity in the group with its own keys and the role registry.pull. It can pull from the repos of
the group and of the groups below it. The password is shown only once.
${whoActs}`,
      notes: `Examples:
  gantry iam pull-tokens create --server https://gantry.example.com --group acme/team --name ci --ttl 90d
  gantry iam pull-tokens create --server https://gantry.example.com --json > token.json
  jq -r .password token.json | docker login gantry.example.com --username "$(jq -r .uid token.json)" --password-stdin`,
      wrongArguments: "create takes no arguments, only options",
    }),
  )
    .option("--group <GROUP>", "Group of the token: a uid or a path of names (default: the context's, or your only organization)")
    .option("--name <NAME>", "Name of the token (default: pull-token)", "pull-token")
    .option("--description <TEXT>", "Purpose of the token")
    .option("--ttl <TIME>", "Lifetime, such as 12h or 30d; at most a year (default: 30d)", "30d")
    .option("--json", "Print uid and password as one line of JSON")
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
      terminal.out.write(`Created pull token ${made.name} for ${group}, valid until ${made.expireTime}.

User name:  ${made.uid}
Password:   ${made.password}

The password is not shown again. To sign in with it:

    docker login ${host} --username ${made.uid} --password-stdin
`);
    });

const listCommand = (terminal: Terminal): Command =>
  addIssuerOptions(
    newCommand({
      name: "list",
      usage: "[--group GROUP] [--server URL] [--context NAME] [--json]",
      description: `List the pull tokens that are visible to you, with their expiration dates.
${whoActs}`,
      notes: "Example:  gantry iam pull-tokens list --server https://gantry.example.com",
      wrongArguments: "list takes no arguments, only options",
    }),
  )
    .option("--group <GROUP>", "Only tokens of this group and the groups below it")
    .option("--json", "Print one line of JSON for each token")
    .action(async (options: ListOptions) => {
      const { server, commands, client } = await open(terminal, options);
      const found = await commands.listPullTokens(client, server, await findGroupUid(client, options.group));
      if (options.json) {
        terminal.out.write(found.map((each) => `${JSON.stringify(each)}\n`).join(""));
        return;
      }
      const rows = found.map((each) => {
        const ends = Date.parse(each.expireTime) <= Date.now() ? `${day(each.expireTime)} (expired)` : day(each.expireTime);
        return [each.uid, each.name, day(each.createTime), ends, each.lastSeenTime === each.createTime ? "-" : day(each.lastSeenTime), each.description];
      });
      terminal.out.write(`${formatTable([["UID", "NAME", "CREATED", "EXPIRES", "LAST USED", "DESCRIPTION"], ...rows])}\n`);
    });

const revokeCommand = (terminal: Terminal): Command =>
  addIssuerOptions(
    newCommand({
      name: "revoke",
      usage: "UID [--server URL] [--context NAME]",
      description: `Revoke a pull token immediately: delete its identity and role binding.
${whoActs}`,
      notes: "Example:  gantry iam pull-tokens revoke 0a1b2c3d4e5f60718293a4b5c6d7e8f901234567/89abcdef01234567",
      wrongArguments: "uid of a pull token required: gantry iam pull-tokens revoke UID",
    }),
  )
    .argument("<UID>")
    .action(async (uid: string, options: ServerOptions) => {
      const { server, commands, client } = await open(terminal, options);
      const { name } = await commands.revokePullToken(client, server, uid);
      terminal.out.write(`Revoked pull token ${name} (${uid})\n`);
    });

export const pullTokensCommand = (terminal: Terminal): Command =>
  newGroup("pull-tokens", [createCommand(terminal), listCommand(terminal), revokeCommand(terminal)], wrongArguments);
