// The command tree:
//
//   gantry serve | token | register | suspend | resume | import | export | explain | who-can | config | doctor | health
//   gantry login | logout | mcp                       client commands
//   gantry admin migrate | quota | registry | end-of-life | names   require the data directory or the database
//   gantry DOMAIN RESOURCES VERB                      the API, generated from the contract (cli/operations)
//   gantry vulnerabilities coverage, an alias of its advisory-coverage list
//   gantry iam pull-tokens, registry promote, registry images, findings check, events tail, audit verify, audit export:
//     domain commands that are not API operations
//
// Only the called command is loaded; the list uses the summaries in this file.

import { Command, CommanderError } from "commander";
import { version } from "#application";
import { domainSummaries, newDomainCommand, proposalElsewhere } from "./operations/branch.ts";
import { suggestionText, throwFaults } from "./command.ts";
import { narrow } from "./narrow.ts";
import type { Terminal } from "./terminal.ts";

interface CommandEntry {
  readonly summary: string;
  /** A client command: its exit status states the kind of error (exit-status.ts). */
  readonly isClient?: true;
  readonly load: () => Promise<(terminal: Terminal) => Command>;
}

const commands: Readonly<Record<string, CommandEntry>> = {
  serve: { summary: "Run the server", load: async () => (await import("./commands/serve.ts")).serveCommand },
  login: { isClient: true, summary: "Sign in to a server", load: async () => (await import("./commands/login.ts")).loginCommand },
  logout: {
    isClient: true,
    summary: "Sign out of a server",
    load: async () => (await import("./commands/logout.ts")).logoutCommand,
  },
  whoami: { isClient: true, summary: "Show the signed-in identity", load: async () => (await import("./commands/whoami.ts")).whoamiCommand },
  context: {
    isClient: true,
    summary: "Manage contexts: servers, organizations and sign-ins",
    load: async () => (await import("./commands/context.ts")).contextCommand,
  },
  api: { isClient: true, summary: "Send a request to any path of the server", load: async () => (await import("./commands/api.ts")).apiCommand },
  completion: {
    isClient: true,
    summary: "Print a shell completion script",
    load: async () => (await import("./commands/completion.ts")).completionCommand,
  },
  mcp: { isClient: true, summary: "Serve the API as tools for AI assistants (MCP)", load: async () => (await import("./commands/mcp.ts")).mcpCommand },
  token: { summary: "Print an access token", load: async () => (await import("./commands/token.ts")).tokenCommand },
  register: { summary: "Register a user of an external issuer", load: async () => (await import("./commands/register.ts")).registerCommand },
  suspend: { summary: "Suspend an organization", load: async () => (await import("./commands/suspend.ts")).suspendCommand },
  resume: { summary: "Resume a suspended organization", load: async () => (await import("./commands/resume.ts")).resumeCommand },
  import: { summary: "Import images, advisories and other data", load: async () => (await import("./commands/import.ts")).importCommand },
  export: { summary: "Export images to files", load: async () => (await import("./commands/export.ts")).exportCommand },
  explain: { summary: "Explain why an identity has or lacks a permission", load: async () => (await import("./commands/explain.ts")).explainCommand },
  "who-can": { summary: "List the identities that have a capability", load: async () => (await import("./commands/who-can.ts")).whoCanCommand },
  admin: { summary: "Administer the database and the registry", load: async () => (await import("./commands/admin.ts")).adminCommand },
  config: { summary: "Show the settings and their sources", load: async () => (await import("./commands/config.ts")).configCommand },
  doctor: { summary: "Check the installation for problems", load: async () => (await import("./commands/doctor.ts")).doctorCommand },
  version: {
    isClient: true,
    summary: "Show the versions of the client and the server",
    load: async () => (await import("./commands/version.ts")).versionCommand,
  },
  open: { isClient: true, summary: "Open the server's pages in a browser", load: async () => (await import("./commands/open.ts")).openCommand },
  health: { summary: "Check whether the server is ready", load: async () => (await import("./commands/health.ts")).healthCommand },
};

/** Commands within a domain that are not operations of the contract. */
const besideResources: Readonly<Record<string, () => Promise<readonly ((terminal: Terminal) => Command)[]>>> = {
  iam: async () => [(await import("./commands/iam-pull-tokens.ts")).pullTokensCommand, (await import("./commands/iam-capabilities.ts")).capabilitiesCommand],
  registry: async () => [(await import("./commands/registry-promote.ts")).promoteCommand, (await import("./commands/registry-images.ts")).imagesCommand],
  vulnerabilities: async () => [(await import("./commands/vulnerability-coverage.ts")).coverageCommand],
  findings: async () => [(await import("./commands/findings-check.ts")).checkCommand],
  events: async () => [(await import("./commands/events.ts")).tailCommand],
  audit: async () => [(await import("./commands/audit.ts")).verifyCommand, (await import("./commands/audit-export.ts")).auditExportCommand],
};

const lines = (list: readonly Command[]): string => list.map((command) => `  ${command.name().padEnd(17)}${command.summary()}`).join("\n");

const isDomain = (command: Command): boolean => Object.hasOwn(domainSummaries, command.name());

const listText = ({ commands: all }: Command): string => `gantry: a self-hosted server for the Platform API v2

${lines(all.filter((command) => !isDomain(command)))}

API operations, on any server:  gantry DOMAIN RESOURCE VERB

${lines(all.filter(isDomain))}

Run gantry help COMMAND for details, or gantry --version for the version.
`;

/** "gantry help lgoin" also names a command. */
const unknownCommand = ({ args: [first = "", second = ""] }: Command, { message }: CommanderError): string => {
  const typed = first === "help" ? second : first;
  const proposal = suggestionText(message.split("\n")[1] ?? "") || proposalElsewhere(typed);
  return `unknown command ${JSON.stringify(typed)}${proposal}. Run gantry --help for a list`;
};

const wordsBehind = (args: readonly string[], word: string): readonly string[] => args.slice(args.indexOf(word) + 1);

const loadDomain = async (args: readonly string[], terminal: Terminal, domain: string): Promise<Command> => {
  const own = (await besideResources[domain]?.()) ?? [];
  return newDomainCommand(
    terminal,
    domain,
    wordsBehind(args, domain),
    own.map((make) => make(terminal)),
  );
};

const writeHelpTo = (command: Command, terminal: Terminal): void => {
  command.configureOutput({ writeOut: (content) => void terminal.out.write(narrow(content, terminal.out.columns)) });
  for (const each of command.commands) writeHelpTo(each, terminal);
};

/** Builds the tree; only the commands named by the arguments are ready to run. */
const newProgram = async (args: readonly string[], terminal: Terminal): Promise<Command> => {
  const program = new Command("gantry")
    .version(`gantry ${version}`, "-v, --version")
    // Options after a command belong to that command.
    .enablePositionalOptions()
    .configureHelp({ formatHelp: listText });
  throwFaults(program, (error) => unknownCommand(program, error));
  for (const [name, { summary, load }] of Object.entries(commands))
    program.addCommand((args.includes(name) ? (await load())(terminal) : new Command(name)).summary(summary));
  // The first word only: a resource may be named like a command.
  const called = args.find((word) => !word.startsWith("-") && word !== "help");
  for (const [domain, summary] of Object.entries(domainSummaries))
    program.addCommand((called === domain ? await loadDomain(args, terminal, domain) : new Command(domain)).summary(summary));
  writeHelpTo(program, terminal);
  // An empty value counts as unset, as in --group "$GROUP".
  program.hook("preAction", (_, command) => {
    for (const [name, value] of Object.entries(command.opts())) if (value === "") command.setOptionValue(name, undefined);
  });
  return program;
};

/** Returns true for commands whose exit status states the kind of error; local commands use only 0, 1 and 2. */
export const isClientCommand = (args: readonly string[]): boolean => {
  const [first = "", second = ""] = args;
  if ((first === "events" && second === "tail") || (first === "audit" && ["verify", "export"].includes(second))) return false;
  const entry = Object.hasOwn(commands, first) ? commands[first] : undefined;
  return entry?.isClient ?? (Object.hasOwn(domainSummaries, first) || (first === "token" && args.includes("--login")));
};

/** Writes the completions for the words after "gantry" (cli/completion). Errors yield no candidates. */
const writeCandidates = async (words: readonly string[], terminal: Terminal): Promise<void> => {
  try {
    const { candidateLines, findCandidates } = await import("./completion/candidates.ts");
    terminal.out.write(candidateLines(findCandidates(await newProgram(words, terminal), terminal, words)));
  } catch {
    // For example an unreadable context file, which the command itself reports.
  }
};

/** Runs the command and returns its exit status. Throws the command's errors, and a Fault for invalid arguments. */
export const runCommand = async (args: readonly string[], terminal: Terminal): Promise<number> => {
  const [first = "", ...others] = args;
  if (first === "__complete") {
    await writeCandidates(others.slice(1), terminal);
    return 0;
  }
  // "help" may precede or follow the command.
  const named = others.filter((word) => !word.startsWith("-"));
  const asksHelp = ["help", "--help", "-h"].includes(first);
  const words = !asksHelp ? args : named.length > 1 ? [...named, "--help"] : ["help", ...named];
  const program = await newProgram(words, terminal);
  if (words.length === 0) {
    terminal.out.write(narrow(program.helpInformation(), terminal.out.columns));
    return 1;
  }
  try {
    await program.parseAsync(words, { from: "user" });
    return terminal.status;
  } catch (thrown) {
    // Help or the version was printed.
    if (thrown instanceof CommanderError && thrown.exitCode === 0) return 0;
    throw thrown;
  }
};
