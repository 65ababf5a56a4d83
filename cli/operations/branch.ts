// Commands generated from the contract: domains, resources and verbs. Only what the arguments name is built; the rest is listed
// by name (contract/gen/commands.ts).

import { Command } from "commander";
import { commands } from "#contract/gen/commands.ts";
import { throwFaults } from "../command.ts";
import { nearestOf } from "../nearest.ts";
import type { Terminal } from "../terminal.ts";

interface Row {
  readonly domain: string;
  readonly resource: string;
  readonly verb: string;
  readonly operation: string;
  readonly summary: string;
}

const rows: readonly Row[] = commands.map(([domain, resource, verb, operation, summary]) => ({ domain, resource, verb, operation, summary }));

/** Summaries in the list of all commands. */
export const domainSummaries: Readonly<Record<string, string>> = {
  iam: "Groups, identities, roles and role bindings",
  registry: "Repos, tags and image metadata",
  advisory: "Published advisories and their feeds",
  vulnerabilities: "Advisories, their history and coverage",
  findings: "Findings in images: severity, exploitation and fix",
  libraries: "Library artifacts and requests for them",
  events: "Events, subscriptions and deliveries",
  audit: "The audit log: entries and verification",
  names: "Search the resources that you can list, and resolve paths of names",
  deletions: "Deleted resources: restore or purge them",
  sessions: "Sessions of signed-in clients: list and revoke them",
  auth: "Token validation and registration",
  oidc: "Token exchange",
  ping: "Check that the server responds",
};

const unique = (names: readonly string[]): string[] => [...new Set(names)];

const resourcesOf = (domain: string): string[] =>
  unique(rows.filter((row) => row.domain === domain && row.resource !== "").map(({ resource }) => resource.split(" ", 1)[0] ?? "")).sort();

/** Returns the nested resources: "events" of "advisories". */
const nestedResourcesOf = (domain: string, resource: string): string[] =>
  unique(rows.flatMap((row) => (row.domain === domain && row.resource.startsWith(`${resource} `) ? [row.resource.slice(resource.length + 1)] : []))).sort();

const verbRows = (domain: string, resource: string): Row[] =>
  rows.filter((row) => row.domain === domain && row.resource === resource).sort((one, other) => (one.verb < other.verb ? -1 : 1));

const verbAliases: Readonly<Record<string, readonly string[]>> = { list: ["ls"], delete: ["rm"], get: ["describe"] };

const resourceAliases: Readonly<Record<string, readonly string[]>> = { groups: ["folders", "organizations", "organization", "orgs", "org", "folder"] };

const singularOf = (resource: string): string =>
  resource
    .replace(/ies$/, "y")
    .replace(/(ss|us|x)es$/, "$1")
    .replace(/([^su])s$/, "$1");

const aliasesOf = (resource: string): string[] => [singularOf(resource), ...(resourceAliases[resource] ?? [])].filter((alias) => alias !== resource);

/** Lists the verbs and nested resources of a resource. */
const wordsBelow = (domain: string, resource: string): string =>
  unique([...verbRows(domain, resource).map(({ verb }) => verb), ...nestedResourcesOf(domain, resource)])
    .sort()
    .join(", ");

const indentedRows = (pairs: readonly (readonly [name: string, text: string])[]): string => {
  const width = Math.max(0, ...pairs.map(([name]) => name.length));
  return pairs.map(([name, text]) => `  ${name.padEnd(width)}  ${text}`.trimEnd()).join("\n");
};

/** Returns the list command as an example, or the help of the first verb if there is no list. */
const firstExample = (words: string, names: readonly string[]): string =>
  `gantry ${words} ${names.includes("list") ? "list" : `${names[0] ?? ""} --help`}`.replace(/ {2,}/, " ");

const wrongWord = (words: string, command: Command): string => {
  const [typed] = command.args;
  const names = command.commands.map((each) => each.name()).filter((name) => name !== "help");
  if (typed === undefined) return `subcommand required: ${names.join(", ")}. Run gantry ${words} --help for details`;
  const nearest = nearestOf(typed, names);
  const proposal = nearest === undefined ? proposalElsewhere(typed) : ` (did you mean ${nearest}?)`;
  return `unknown command ${JSON.stringify(`${words} ${typed}`)}${proposal}. Run gantry ${words} --help for a list`;
};

/** Returns where a word is found in the tree, " (did you mean iam groups?)", or "". */
export const proposalElsewhere = (typed: string): string => {
  const places = new Map<string, string>();
  for (const { domain, resource } of rows) {
    if (resource === "") continue;
    for (const name of [resource, ...aliasesOf(resource)]) if (!places.has(name)) places.set(name, `${domain} ${resource}`);
  }
  const found = places.get(typed) ?? places.get(nearestOf(typed, places.keys()) ?? "");
  return found === undefined ? "" : ` (did you mean ${found}?)`;
};

const newBranch = (name: string, words: string): Command => {
  const branch = new Command(name).helpCommand(false);
  return throwFaults(branch, () => wrongWord(words, branch));
};

const resourceHelp = (words: string, command: Command): string =>
  [
    `gantry ${words} VERB\n`,
    `${indentedRows(command.commands.map((each) => [each.name(), each.summary()] as const))}\n`,
    `  Example:  ${firstExample(
      words,
      command.commands.map((each) => each.name()),
    )}\n`,
    `  Run gantry ${words} VERB --help for details.\n`,
  ].join("\n");

/** Adds the verbs of a resource; only the typed one is ready to run. */
const addVerbs = async (parent: Command, terminal: Terminal, domain: string, resource: string, typed: string | undefined): Promise<void> => {
  const words = [domain, resource].filter((word) => word !== "").join(" ");
  for (const { verb, operation, summary } of verbRows(domain, resource)) {
    const aliases = verbAliases[verb] ?? [];
    if (verb === "") continue;
    const isTyped = typed === verb || aliases.some((alias) => alias === typed);
    const command = isTyped ? await loadOperation(terminal, verb, `${words} ${verb}`, operation) : new Command(verb);
    parent.addCommand(command.summary(summary).aliases(aliases));
  }
};

const loadOperation = async (terminal: Terminal, name: string, words: string, operation: string): Promise<Command> => {
  const [{ operationCommand }, { methodByName }] = await Promise.all([import("./command.ts"), import("#contract/catalog.ts")]);
  const method = methodByName(operation);
  if (method === undefined) throw new Error(`contract/gen/commands.ts names the unknown operation ${operation}. Run npm run gen`);
  return operationCommand(terminal, name, words, method);
};

/** Returns true if the word is the resource or another name of it: "group" of "groups". */
export const isWordOf = (resource: string, typed: string | undefined): boolean =>
  typed !== undefined && (typed === resource || aliasesOf(resource).includes(typed));

const commandSummary = (command: Command): string =>
  command.summary() ||
  command
    .description()
    .replace(/[,.:]\s.*$/s, "")
    .replaceAll("\n", " ");

const domainHelp = (domain: string, own: readonly Command[]): string => {
  const ownLines = own.map(
    (command) => [command.name(), command.commands.length > 0 ? command.commands.map((each) => each.name()).join(", ") : commandSummary(command)] as const,
  );
  const lines = resourcesOf(domain).map((resource) => [resource, wordsBelow(domain, resource)] as const);
  const verbs = verbRows(domain, "").map(({ verb, summary }) => [verb, summary] as const);
  const all = [...lines, ...verbs, ...ownLines].sort(([one], [other]) => (one < other ? -1 : 1));
  const resource = resourcesOf(domain).find((each) => verbRows(domain, each).some(({ verb }) => verb === "list")) ?? resourcesOf(domain)[0];
  const example =
    resource === undefined
      ? firstExample(
          domain,
          verbs.map(([verb]) => verb),
        )
      : firstExample(
          `${domain} ${resource}`,
          verbRows(domain, resource).map(({ verb }) => verb),
        );
  return [
    `gantry ${domain} ${lines.length > 0 ? "RESOURCE VERB" : "VERB"}\n`,
    `${indentedRows(all)}\n`,
    `  Example:  ${example}\n`,
    `  Run gantry ${domain} ${lines.length > 0 ? "RESOURCE" : "VERB"} --help for details.\n`,
  ].join("\n");
};

/** Creates a resource; only the typed one gets its verbs. */
const newResourceBranch = async (
  terminal: Terminal,
  domain: string,
  resource: string,
  typed: string | undefined,
  typedVerb: string | undefined,
): Promise<Command> => {
  const [words, name] = [`${domain} ${resource}`, resource.replace(/^.* /, "")];
  const branch = newBranch(name, words);
  branch.aliases(aliasesOf(name));
  if (isWordOf(name, typed)) {
    await addVerbs(branch, terminal, domain, resource, typedVerb);
    branch.configureHelp({ formatHelp: () => resourceHelp(words, branch) });
  }
  return branch;
};

/** Creates a domain with its resources. `args` follow its name; `own` are commands outside the contract. */
export const newDomainCommand = async (terminal: Terminal, domain: string, args: readonly string[], own: readonly Command[] = []): Promise<Command> => {
  const whole = verbRows(domain, "").find(({ verb }) => verb === "");
  if (whole !== undefined) return (await loadOperation(terminal, domain, domain, whole.operation)).summary(domainSummaries[domain] ?? whole.summary);
  const command = newBranch(domain, domain);
  command.configureHelp({ formatHelp: () => domainHelp(domain, own) });
  const [first, second, third] = args.filter((word) => !word.startsWith("-"));
  for (const each of own) command.addCommand(each);
  await addVerbs(command, terminal, domain, "", first);
  for (const resource of resourcesOf(domain)) {
    const branch = await newResourceBranch(terminal, domain, resource, first, second);
    if (isWordOf(resource, first)) {
      for (const nested of nestedResourcesOf(domain, resource)) {
        const inner = await newResourceBranch(terminal, domain, `${resource} ${nested}`, second, third);
        branch.addCommand(inner.summary(wordsBelow(domain, `${resource} ${nested}`)));
      }
    }
    command.addCommand(branch);
  }
  return command;
};

export const domainNames: readonly string[] = unique(rows.map(({ domain }) => domain)).sort();
