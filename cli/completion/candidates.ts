// Completion candidates for commands, options and values, read from the command tree itself; only the branch in use is built.
// Sends no request and writes only candidates.

import type { Argument, Command, Option } from "commander";
import { readContexts } from "#contexts";
import type { Terminal } from "../terminal.ts";

export interface Candidate {
  readonly value: string;
  /** Short description; "" if the value suffices. */
  readonly says: string;
}

/** Leaves completion to the shell. */
export const files = "files";

const candidatesOf = (values: Iterable<string>): Candidate[] => [...values].map((value) => ({ value, says: "" }));

const valuesByPlaceholder: Readonly<Record<string, (terminal: Terminal) => Candidate[] | typeof files>> = {
  FILE: () => files,
  DIRECTORY: () => files,
  SOURCE: () => files,
  CONTEXT: ({ environment }) => [...readContexts(environment).contexts].map(([value, { server }]) => ({ value, says: server })),
  URL: ({ environment }) => candidatesOf(new Set([...readContexts(environment).contexts.values()].map(({ server }) => server))),
  METHOD: () => candidatesOf(["GET", "POST", "PUT", "PATCH", "DELETE"]),
};

const placeholderOf = (text: string): string => /[<[]([A-Z]+)(?:\.{3})?[>\]]/.exec(text)?.[1] ?? "";

const valuesOf = (terminal: Terminal, { argChoices }: Pick<Option | Argument, "argChoices">, placeholder: string): Candidate[] | typeof files =>
  argChoices === undefined ? (valuesByPlaceholder[placeholder]?.(terminal) ?? []) : candidatesOf(argChoices);

const valuesOfOption = (terminal: Terminal, option: Option): Candidate[] | typeof files =>
  valuesOf(terminal, option, option.long === "--context" ? "CONTEXT" : placeholderOf(option.flags));

const takesValue = ({ required, optional }: Option): boolean => required || optional;

const optionOf = (command: Command, flag: string): Option | undefined => command.options.find(({ long, short }) => flag === long || flag === short);

const firstSentence = (text: string): string => {
  const sentence = text.replaceAll(/\s+/g, " ").split(/[.:;](?: |$)/)[0] ?? "";
  return sentence.length > 80 ? `${sentence.slice(0, 79)}…` : sentence;
};

const visibleCommands = (command: Command): Candidate[] =>
  command
    .createHelp()
    .visibleCommands(command)
    .filter((each) => each.name() !== "help" && !each.name().startsWith("__"))
    .map((each) => ({ value: each.name(), says: firstSentence(each.summary() || each.description()) }));

const visibleOptions = (command: Command): Candidate[] =>
  command.options
    .filter(({ hidden, long }) => !hidden && long !== undefined)
    .map(({ long, description }) => ({ value: long ?? "", says: firstSentence(description) }));

interface Place {
  readonly command: Command;
  /** The option whose value is at the cursor. */
  readonly option: Option | undefined;
  readonly argumentsBefore: number;
  /** True after "--". */
  readonly isBehindDashes: boolean;
}

const findPlace = (program: Command, before: readonly string[]): Place => {
  let place: Place = { command: program, option: undefined, argumentsBefore: 0, isBehindDashes: false };
  for (const word of before) {
    if (place.option !== undefined) place = { ...place, option: undefined };
    else if (place.isBehindDashes) place = { ...place, argumentsBefore: place.argumentsBefore + 1 };
    else if (word === "--") place = { ...place, isBehindDashes: true };
    else if (word.startsWith("-") && word.length > 1) {
      const option = word.includes("=") ? undefined : optionOf(place.command, word);
      if (option !== undefined && takesValue(option)) place = { ...place, option };
    } else {
      const next = place.command.commands.find((each) => each.name() === word || each.aliases().includes(word));
      place = next === undefined ? { ...place, argumentsBefore: place.argumentsBefore + 1 } : { ...place, command: next, argumentsBefore: 0 };
    }
  }
  return place;
};

const valuesOfArgument = (terminal: Terminal, { command, argumentsBefore }: Place): Candidate[] | typeof files => {
  const declared = command.registeredArguments;
  const last = declared.at(-1);
  const argument = declared[argumentsBefore] ?? (last?.variadic ? last : undefined);
  return argument === undefined ? [] : valuesOf(terminal, argument, argument.name());
};

const startingWith = (found: Candidate[] | typeof files, current: string, prefix = ""): Candidate[] | typeof files =>
  found === files ? files : found.filter(({ value }) => value.startsWith(current)).map(({ value, says }) => ({ value: `${prefix}${value}`, says }));

/** Returns the candidates for the last word. `words` follow "gantry"; the last may be incomplete. */
export const findCandidates = (program: Command, terminal: Terminal, words: readonly string[]): Candidate[] | typeof files => {
  const current = words.at(-1) ?? "";
  const place = findPlace(program, words.slice(0, -1));
  if (place.option !== undefined) return startingWith(valuesOfOption(terminal, place.option), current);
  if (current.startsWith("-") && !place.isBehindDashes) {
    const [flag = "", value] = current.split(/=(.*)/s);
    const option = optionOf(place.command, flag);
    if (value === undefined) return startingWith(visibleOptions(place.command), current);
    return option === undefined ? [] : startingWith(valuesOfOption(terminal, option), value, `${flag}=`);
  }
  const commands = place.argumentsBefore === 0 && !place.isBehindDashes ? visibleCommands(place.command) : [];
  const own = valuesOfArgument(terminal, place);
  return own === files ? (commands.length > 0 ? startingWith(commands, current) : files) : startingWith([...commands, ...own], current);
};

/** Returns the output of `gantry __complete`: one candidate per line, free of control characters. */
export const candidateLines = (found: Candidate[] | typeof files): string =>
  found === files ? ":files\n" : found.map(({ value, says }) => `${value}${says === "" ? "" : `\t${says}`}\n`).join("");
