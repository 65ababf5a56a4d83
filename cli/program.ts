// The tree of commands. Later ones find their place in it:
//
//   gantry serve | token | register | suspend | resume | import | export | explain | who-can | events | audit | config | doctor | health
//   gantry login | logout | mcp                       what a client does
//   gantry iam pull-tokens                            the same, for what the API's resources are made of
//   gantry admin migrate | quota | registry | end-of-life        what needs the data directory or the database
//   gantry DOMAIN RESOURCES VERB                      the API
//
// Only the command that is called is loaded; of the others the list shows the summary that stands here.

import { Command, CommanderError } from "commander";
import { version } from "#application";
import { suggestionText, throwFaults } from "./command.ts";
import type { Terminal } from "./terminal.ts";

interface CommandEntry {
  readonly summary: string;
  readonly load: () => Promise<(terminal: Terminal) => Command>;
}

const commands: Readonly<Record<string, CommandEntry>> = {
  serve: { summary: "run the server", load: async () => (await import("./commands/serve.ts")).serveCommand },
  login: { summary: "sign in at a terminal, through any browser", load: async () => (await import("./commands/login.ts")).loginCommand },
  logout: { summary: "remove the tokens of a sign-in from this machine", load: async () => (await import("./commands/logout.ts")).logoutCommand },
  mcp: { summary: "serve the API as tools for language models", load: async () => (await import("./commands/mcp.ts")).mcpCommand },
  iam: { summary: "make, list and revoke tokens that pull images", load: async () => (await import("./commands/iam.ts")).iamCommand },
  token: { summary: "print a token for testing", load: async () => (await import("./commands/token.ts")).tokenCommand },
  register: { summary: "let a person of another issuer in", load: async () => (await import("./commands/register.ts")).registerCommand },
  suspend: { summary: "close an organization to its members", load: async () => (await import("./commands/suspend.ts")).suspendCommand },
  resume: { summary: "open a suspended organization again", load: async () => (await import("./commands/resume.ts")).resumeCommand },
  import: { summary: "fill the server from files and feeds", load: async () => (await import("./commands/import.ts")).importCommand },
  export: { summary: "write images into files", load: async () => (await import("./commands/export.ts")).exportCommand },
  explain: { summary: "tell why an identity may do something, or may not", load: async () => (await import("./commands/explain.ts")).explainCommand },
  "who-can": { summary: "list who holds a capability at a place", load: async () => (await import("./commands/who-can.ts")).whoCanCommand },
  events: { summary: "watch what happens", load: async () => (await import("./commands/events.ts")).eventsCommand },
  audit: { summary: "check that the audit log is what was written", load: async () => (await import("./commands/audit.ts")).auditCommand },
  admin: { summary: "work in the database, beside the server or without it", load: async () => (await import("./commands/admin.ts")).adminCommand },
  config: { summary: "show the settings, and where they come from", load: async () => (await import("./commands/config.ts")).configCommand },
  doctor: { summary: "check whether this installation works", load: async () => (await import("./commands/doctor.ts")).doctorCommand },
  health: { summary: "ask the running server whether it is ready", load: async () => (await import("./commands/health.ts")).healthCommand },
};

const listText = (program: Command): string => `gantry: a self-hosted server for the Platform API v2

${program.commands.map((command) => `  ${command.name().padEnd(10)}${command.summary()}`).join("\n")}

gantry help COMMAND tells more; gantry --version says which one this is.
`;

/** "gantry help lgoin" asks for a command, too. */
const unknownCommand = ({ args: [first = "", second = ""] }: Command, { message }: CommanderError): string =>
  `there is no command ${JSON.stringify(first === "help" ? second : first)}${suggestionText(message.split("\n")[1] ?? "")}; gantry --help lists them`;

/** The tree for these arguments: the commands that they name are ready to run. */
const newProgram = async (args: readonly string[], terminal: Terminal): Promise<Command> => {
  const program = new Command("gantry")
    .version(`gantry ${version}`, "-v, --version")
    // What stands behind a command is the command's own.
    .enablePositionalOptions()
    .configureHelp({ formatHelp: listText });
  throwFaults(program, (error) => unknownCommand(program, error));
  for (const [name, { summary, load }] of Object.entries(commands))
    program.addCommand((args.includes(name) ? (await load())(terminal) : new Command(name)).summary(summary));
  // An option with an empty value is one that was not set, as in --group "$GROUP".
  program.hook("preAction", (_, command) => {
    for (const [name, value] of Object.entries(command.opts())) if (value === "") command.setOptionValue(name, undefined);
  });
  return program;
};

/** Runs the command that the arguments call. Returns the exit status; throws what the command throws, a Fault for arguments that mean nothing. */
export const runCommand = async (args: readonly string[], terminal: Terminal): Promise<number> => {
  const [first = "", ...others] = args;
  // Help needs no more than the name of a command, wherever it stands.
  const words = ["help", "--help", "-h"].includes(first) ? ["help", ...others.filter((word) => !word.startsWith("-")).slice(0, 1)] : args;
  const program = await newProgram(words, terminal);
  if (words.length === 0) {
    terminal.out.write(program.helpInformation());
    return 1;
  }
  try {
    await program.parseAsync(words, { from: "user" });
    return terminal.status;
  } catch (thrown) {
    // Help was shown, or the version.
    if (thrown instanceof CommanderError && thrown.exitCode === 0) return 0;
    throw thrown;
  }
};
