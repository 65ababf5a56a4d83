// A command of the tree: what its help says, and its options and arguments, which commander parses. Help is written from
// the declared options, so that it names each of them; what cannot be parsed becomes a Fault of one line.

import { Command, type CommanderError, type Option } from "commander";
import { wrongUsage } from "./exit-status.ts";

export interface CommandText {
  readonly name: string;
  /** Options and arguments, as the first line of the help shows them behind the name. */
  readonly usage?: string;
  readonly description: string;
  /** Exit statuses and examples, behind the options. */
  readonly notes: string;
  /** The answer to arguments that are missing or too many; without it the command takes none. */
  readonly wrongArguments?: string;
}

const indent = (text: string, columns: number): string => text.replaceAll(/^(?=.)/gm, " ".repeat(columns));

/** "--group <UID>" as "--group UID". */
const termOf = ({ flags }: Option): string => flags.replaceAll(/[<>]/g, "");

/** A line for each option; what goes on in a second line is set below the first. */
const optionLines = (options: readonly Option[], width: number): string =>
  options.map((option) => `    ${termOf(option).padEnd(width)}  ${option.description.replaceAll("\n", `\n${" ".repeat(width + 6)}`)}\n`).join("");

/** The options by their groups, in the order in which these first stand. */
const optionParts = (options: readonly Option[]): string[] => {
  const width = Math.max(...options.map((option) => termOf(option).length));
  const groups = Map.groupBy(options, ({ helpGroupHeading }) => helpGroupHeading);
  return [...groups].map(([heading, own]) => (heading === undefined ? "" : `  ${heading}:\n`) + optionLines(own, width));
};

/** The words that call it: "gantry events tail". */
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

/** "error: unknown option '--jsn'\n(Did you mean --json?)" as one line, like every other of ours. */
const parseErrorText = (command: Command, { message }: CommanderError): string => {
  const [text = "", suggestion = ""] = message
    .replace(/^error: /, "")
    .split("\n")
    .map((line) => line.replace(/\.$/, ""));
  const help = ["gantry help", ...commandPath(command).split(" ").slice(1)].join(" ");
  return `${text}${suggestionText(suggestion)}. Run ${help} for usage`;
};

/** commander's "(Did you mean login?)" within a sentence; "" where it has no suggestion. */
export const suggestionText = (suggestion: string): string => (suggestion === "" ? "" : ` ${suggestion.replace("(Did", "(did")}`);

/** What commander says of arguments that are missing, too many or none of its commands. */
const argumentErrors = new Set(["commander.missingArgument", "commander.excessArguments", "commander.unknownCommand", "commander.help"]);

/** For every command: commander neither writes nor ends the process; what cannot be parsed is thrown as a Fault of one line. */
export const throwFaults = (command: Command, wrongArguments: (error: CommanderError) => string): Command =>
  command.configureOutput({ writeErr: () => {}, outputError: () => {} }).exitOverride((error) => {
    // Help was shown, or the version.
    if (error.exitCode === 0) throw error;
    throw wrongUsage(argumentErrors.has(error.code) ? wrongArguments(error) : parseErrorText(command, error), error);
  });

export const newCommand = (text: CommandText): Command =>
  throwFaults(
    new Command(text.name).description(text.description).configureHelp({ formatHelp: (command) => commandHelp(command, text) }),
    () => text.wrongArguments ?? `${text.name} takes no arguments, only options. Run gantry help ${text.name} for usage`,
  );

/**
 * A command that is nothing without one of its own commands. Its help is theirs, one behind the other.
 * @param byDefault which of them is meant where none is named
 */
export const newGroup = (name: string, commands: Command | readonly Command[], wrongArguments: string, byDefault?: Command): Command => {
  const own: readonly Command[] = commands instanceof Command ? [commands] : commands;
  const formatHelp = (): string => own.map((command) => command.helpInformation()).join("\n");
  const group = throwFaults(new Command(name).configureHelp({ formatHelp }), () => wrongArguments);
  for (const command of own) group.addCommand(command, { isDefault: command === byDefault });
  return group;
};
