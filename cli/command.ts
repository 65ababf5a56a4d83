// A command with its help, options and arguments. Commander parses; help is generated from the declared options, and parse errors
// become one-line Faults.

import { Command, type CommanderError, type Option } from "commander";
import { wrongUsage } from "./exit-status.ts";

export interface CommandText {
  readonly name: string;
  /** Options and arguments in the first line of the help. */
  readonly usage?: string;
  readonly description: string;
  /** Exit statuses and examples, after the options. */
  readonly notes: string;
  /** Message for missing or excess arguments; without it the command takes none. */
  readonly wrongArguments?: string;
}

const indent = (text: string, columns: number): string => text.replaceAll(/^(?=.)/gm, " ".repeat(columns));

/** "--group <UID>" as "--group UID". */
const termOf = ({ flags }: Option): string => flags.replaceAll(/[<>]/g, "");

const optionLines = (options: readonly Option[], width: number): string =>
  options.map((option) => `    ${termOf(option).padEnd(width)}  ${option.description.replaceAll("\n", `\n${" ".repeat(width + 6)}`)}\n`).join("");

const optionParts = (options: readonly Option[]): string[] => {
  const width = Math.max(...options.map((option) => termOf(option).length));
  const groups = Map.groupBy(options, ({ helpGroupHeading }) => helpGroupHeading);
  return [...groups].map(([heading, own]) => (heading === undefined ? "" : `  ${heading}:\n`) + optionLines(own, width));
};

/** The full command: "gantry events tail". */
const commandPath = (command: Command): string => (command.parent ? `${commandPath(command.parent)} ${command.name()}` : command.name());

const commandHelp = (command: Command, { usage = "", notes }: CommandText): string => {
  const options = command.options.filter(({ hidden }) => !hidden);
  return [
    `${commandPath(command)} ${usage}`.trimEnd().concat("\n"),
    `${indent(command.description(), 2)}\n`,
    ...optionParts(options),
    `${indent(notes, 2)}\n`,
  ].join("\n");
};

/** Joins "error: unknown option '--jsn'\n(Did you mean --json?)" into one line. */
const parseErrorText = (command: Command, { message }: CommanderError): string => {
  const [text = "", suggestion = ""] = message
    .replace(/^error: /, "")
    .split("\n")
    .map((line) => line.replace(/\.$/, ""));
  const help = ["gantry help", ...commandPath(command).split(" ").slice(1)].join(" ");
  return `${text}${suggestionText(suggestion)}. Run ${help} for usage`;
};

/** Returns commander's "(Did you mean login?)" for use within a sentence; "" if it has no suggestion. */
export const suggestionText = (suggestion: string): string => (suggestion === "" ? "" : ` ${suggestion.replace("(Did", "(did")}`);

const argumentErrors = new Set(["commander.missingArgument", "commander.excessArguments", "commander.unknownCommand", "commander.help"]);

/** Makes commander throw a one-line Fault instead of writing or exiting. */
export const throwFaults = (command: Command, wrongArguments: (error: CommanderError) => string): Command =>
  command.configureOutput({ writeErr: () => {}, outputError: () => {} }).exitOverride((error) => {
    // Help or the version was printed.
    if (error.exitCode === 0) throw error;
    throw wrongUsage(argumentErrors.has(error.code) ? wrongArguments(error) : parseErrorText(command, error), error);
  });

export const newCommand = (text: CommandText): Command =>
  throwFaults(
    new Command(text.name).description(text.description).configureHelp({ formatHelp: (command) => commandHelp(command, text) }),
    () => text.wrongArguments ?? `${text.name} takes no arguments, only options. Run gantry help ${text.name} for usage`,
  );

/**
 * Creates a command that requires a subcommand. Its help is that of its subcommands.
 *
 * @param byDefault the subcommand to run if none is named
 */
export const newGroup = (name: string, commands: Command | readonly Command[], wrongArguments: string, byDefault?: Command): Command => {
  const own: readonly Command[] = commands instanceof Command ? [commands] : commands;
  const formatHelp = (): string => own.map((command) => command.helpInformation()).join("\n");
  const group = throwFaults(new Command(name).configureHelp({ formatHelp }), () => wrongArguments);
  for (const command of own) group.addCommand(command, { isDefault: command === byDefault });
  return group;
};
