// The command of an API operation: its help, arguments and flags, generated from the contract.

import { Command, Option } from "commander";
import type { Json, JsonObject } from "#base/json.ts";
import { contractTexts } from "#contract/gen/texts.ts";
import type { FieldFact, MessageFact, MethodFact } from "#contract/facts.ts";
import { newCommand } from "../command.ts";
import { exitStatusText } from "../exit-status.ts";
import { outputFormats } from "../output/format.ts";
import { shortValues } from "../output/columns.ts";
import type { Terminal } from "../terminal.ts";
import { addPresetOptions, type PresetOptions, runCreateIdentity, takesPresets } from "./identity-presets.ts";
import { runList } from "./list.ts";
import { messageReferredTo, messagesReferredTo, nounOf } from "./references.ts";
import { buildRequest, contentReader, type Given } from "./request.ts";
import { runInSession, type SessionOptions } from "./session.ts";
import { type CommandShape, type FieldFlag, fieldText, shapeOf } from "./shape.ts";
import { isMultiLine, readValue, shownValuesMax, type ValueReader } from "./values.ts";
import { type ListEdit, listFlags, runCall, runDelete, runFile, runUpdate } from "./write.ts";

interface CommandOptions extends SessionOptions {
  readonly limit?: string;
  readonly watch?: boolean;
  readonly file?: string;
  readonly dryRun?: boolean;
  readonly ifMatch?: string;
  readonly idempotencyKey?: string;
  readonly yes?: boolean;
  readonly allowMissing?: boolean;
}

const textColumns = 92;

export const wrapped = (text: string, columns: number): string =>
  text
    .split("\n")
    .map((paragraph) => {
      const lines: string[] = [];
      let line = "";
      for (const word of paragraph.split(" ")) {
        if (line !== "" && line.length + 1 + word.length > columns) {
          lines.push(line);
          line = word;
        } else line = line === "" ? word : `${line} ${word}`;
      }
      return [...lines, line].join("\n");
    })
    .join("\n");

const upper = (name: string): string =>
  name
    .replace(/-?uid$/, "")
    .replaceAll("-", "_")
    .toUpperCase();

const placeholderOf = (messages: readonly MessageFact[]): string => messages.map((message) => upper(nounOf(message).replaceAll(" ", "-"))).join("|");

const placeholder = (flag: FieldFlag, shape: CommandShape): string => {
  const { field } = flag;
  const referred = messagesReferredTo(flag, shape);
  const kinds: Readonly<Partial<Record<FieldFact["kind"], string>>> = {
    timestamp: "TIME",
    duration: "DURATION",
    int32: "NUMBER",
    int64: "NUMBER",
    double: "NUMBER",
    enum: "VALUE",
    message: "JSON",
    any: "JSON",
    bytes: "BYTES",
  };
  const one = referred.length === 0 ? (kinds[field.kind] ?? "TEXT") : placeholderOf(referred);
  if (field.shape === "map") return "KEY=VALUE";
  return field.shape === "list" && field.kind !== "message" ? `${one},…` : one;
};

const positionalName = (flag: FieldFlag, shape: CommandShape): string => {
  const referred = messagesReferredTo(flag, shape);
  return referred.length === 0 ? upper(flag.name) || "UID" : placeholderOf(referred);
};

/** Returns true for a secret input, which events and responses omit. Redacted fields of resources do not count. */
const isSecret = ({ field, message }: FieldFlag): boolean =>
  field.redacted && field.kind === "string" && (field.inputOnly || !message.fields.some(({ name }) => name === "uid"));

const flagText = (flag: FieldFlag): string => {
  const { field } = flag;
  const known = field.enum === undefined ? [] : shortValues(field.enum);
  const values = known.length === 0 || known.length > shownValuesMax ? "" : ` One of: ${known.join(", ")}.`;
  const negation = field.kind === "bool" && field.shape === "one" ? ` (--no-${flag.name}: false)` : "";
  const source = isSecret(flag)
    ? " Pass it as @FILE, or - for standard input, to keep it off the command line."
    : isMultiLine(field)
      ? " @FILE reads a file, - standard input."
      : "";
  // A single sentence is shown as a phrase without a period, like other options.
  const sentences = fieldText(flag);
  const says = sentences.includes(". ") || values + source !== "" ? sentences : sentences.replace(/\.$/, "");
  return `${says}${negation}${values}${source}`.trim() || "See the API reference";
};

/** A flag may be repeated; an empty value clears the field. */
const collectValue = (value: string, before: readonly string[] | undefined): readonly string[] => [...(before ?? []), value];

const isFlagOnly = ({ field }: FieldFlag): boolean => field.kind === "bool" && field.shape === "one";

const addFieldOption = (command: Command, flag: FieldFlag, shape: CommandShape): void => {
  if (!isFlagOnly(flag)) {
    const option = new Option(`--${flag.name} <${placeholder(flag, shape)}>`, flagText(flag)).argParser(collectValue);
    // For completion only; the value reader validates.
    if (flag.field.enum !== undefined) option.argChoices = shortValues(flag.field.enum);
    command.addOption(option);
    return;
  }
  command.addOption(new Option(`--${flag.name}`, flagText(flag)));
  command.addOption(new Option(`--no-${flag.name}`).hideHelp());
};

const addOwnOptions = (command: Command, shape: CommandShape): void => {
  const { kind, method, body } = shape;
  if (kind === "list") {
    command.option("--limit <NUMBER>", "Maximum number of results (default: all)");
    command.option("--watch", "After the list, keep running and show each resource that changes");
  }
  const takesFile = kind !== "list" && kind !== "delete" && method.writes && (body !== undefined || method.http[0]?.body === "*");
  if (takesFile) command.option("-f, --file <FILE>", "JSON or YAML file in the form of get -o yaml; - for standard input. Flags take precedence");
  if (kind === "delete") {
    command.option("--yes", "Skip the confirmation prompt");
    command.option("--allow-missing", "Succeed if the resource does not exist");
  }
  if (method.writes) {
    if (!method.credentials)
      command.option("--dry-run", kind === "update" ? "Show what would change, without changing it" : "Validate the request without changing anything");
    if (kind === "update" || kind === "delete") command.option("--if-match <ETAG>", "Fail unless the resource still has this ETag");
    command.option("--idempotency-key <KEY>", "Apply requests with the same key only once");
  }
  if (kind !== "file") {
    const output = new Option("-o, --output <FORMAT>", `${outputFormats.join(", ")} (default: table)`);
    output.argChoices = [...outputFormats];
    command.addOption(output);
    command.option("--columns <NAME,…>", "Columns of table, wide and csv: JSON names of fields, with dots");
  }
  command.option("--server <URL>", "Server address (default: GANTRY_SERVER, the context's server, or the local server)");
  command.option("--context <NAME>", "Context to use (default: GANTRY_CONTEXT, or the current context)");
  command.option("--timeout <TIME>", "Time limit, such as 30s or 5m");
  command.option("--no-input", "Never prompt");
  command.option("--color <WHEN>", "always, never or auto (default: auto, only on a terminal)");
  command.addOption(new Option("--no-color").hideHelp());
};

/** Required by the resource's rules, although optional in the public contract. */
const isNeeded = (flag: FieldFlag): boolean => flag.field.required || fieldText(flag).endsWith("Needed on create.");

/** Required fields of an optional message do not count. */
const isRequired = (flag: FieldFlag, { method, body, kind }: CommandShape): boolean =>
  isNeeded(flag) && (flag.message === method.input || (flag.message === body?.message && kind !== "update"));

/** `also`: flags that turned out to be required. */
const usageOf = (shape: CommandShape, also: readonly FieldFlag[] = []): string => {
  const { kind, positionals, flags } = shape;
  const words = positionals.map((flag) => positionalName(flag, shape)).map((name) => (kind === "delete" ? `${name}…` : name));
  const required = flags
    .filter((flag) => isRequired(flag, shape) || also.includes(flag))
    .map((flag) => (isFlagOnly(flag) ? `--${flag.name}` : `--${flag.name} ${placeholder(flag, shape)}`));
  return [...words, ...required, "[OPTIONS]"].join(" ");
};

/** Flags of every command, and rarely used ones. */
const furtherFlags: ReadonlySet<string> = new Set([
  ...["--server", "--context", "--timeout", "--no-input", "--color", "--columns", "--idempotency-key", "--if-match", "--allow-missing", "--skip"],
]);

/** Order of the help: required flags, common ones, the rest. */
const helpGroups = ["Required", "Options", "More options"] as const;

const addGrouped = (command: Command, options: readonly Option[], shape: CommandShape): void => {
  const flags = new Map(shape.flags.map((flag) => [`--${flag.name}`, flag]));
  const groupOf = ({ long }: Option): (typeof helpGroups)[number] => {
    const flag = flags.get(long ?? "");
    if (flag !== undefined && isRequired(flag, shape)) return "Required";
    return furtherFlags.has(long ?? "") || (flag !== undefined && flag.path.length > 2) ? "More options" : "Options";
  };
  for (const group of helpGroups) for (const option of options) if (groupOf(option) === group) command.addOption(option.helpGroup(group));
};

const exampleValue = (flag: FieldFlag, shape: CommandShape): string | undefined => {
  const { field } = flag;
  const referred = messageReferredTo(flag, shape);
  if (referred !== undefined)
    return referred.short === "Group" ? "acme" : referred.byName.has("name") ? `acme/${nounOf(referred).split(" ").at(-1)}` : field.example || undefined;
  if (field.example !== "") return /^[\w.:/@,-]+$/.test(field.example) ? field.example : `'${field.example.replaceAll("'", "")}'`;
  if (field.enum !== undefined) return shortValues(field.enum)[0];
  if (field.kind === "timestamp") return "+30d";
  if (field.kind === "string" && field.name === "name") return "app";
  return undefined;
};

/** Example flags of operations that need one of several optional flags. */
const exampleFlags: Readonly<Record<string, string>> = {
  "gantry.vulnerabilities.v1.AuthoredAdvisoryEventsService/CreateAuthoredAdvisoryEvent": "--fixed-fixed-version 3.3.2-r0",
  "gantry.vulnerabilities.v1.AuthoredAdvisoryEventsService/UpdateAuthoredAdvisoryEvent": "--review-state approved",
};

const isChildrenOf = ({ name }: FieldFlag): boolean => name === "children-of";

/** Returns what arguments a command takes, and how a list is limited to one parent. */
const argumentsText = (shape: CommandShape): string => {
  if (shape.positionals.length > 0) return shape.positionals.map((flag) => positionalName(flag, shape)).join(" ");
  const children = shape.flags.find(isChildrenOf);
  return `no arguments, only options${children ? ` (--${children.name} ${placeholder(children, shape)} limits the list)` : ""}`;
};

/** Returns example commands; the first is complete. */
export const examplesOf = (words: string, shape: CommandShape): string[] => {
  const { kind, positionals, flags, body, method } = shape;
  const places = positionals.map((flag) => exampleValue(flag, shape) ?? positionalName(flag, shape));
  const base = ["gantry", words, ...places].join(" ");
  const given = flags.flatMap((flag) => {
    const needed = isRequired(flag, shape);
    // A uid without an example is shown as its placeholder.
    const value = isFlagOnly(flag) ? undefined : (exampleValue(flag, shape) ?? (needed && flag.field.uid ? placeholder(flag, shape) : undefined));
    const wanted = needed || (kind === "update" && flag.field.kind === "string" && !flag.field.uid);
    return wanted && value !== undefined ? [`--${flag.name} ${value}`] : [];
  });
  const own = exampleFlags[method.name];
  const parts = [base, ...(kind === "update" ? (own === undefined ? given.slice(0, 1) : []) : given), ...(own === undefined ? [] : [own])];
  // Long examples continue on further lines, as in a shell.
  const full = parts.join(" ").length > textColumns ? parts.join(" \\\n      ") : parts.join(" ");
  const children = flags.find(isChildrenOf);
  if (kind === "list" && children)
    return [full, `${full} --${children.name} ${exampleValue(children, shape) ?? placeholder(children, shape)} --limit 10 -o json`];
  if (kind === "list") return [full, `${full} --limit 10 -o json`];
  if (kind === "delete") return [base, `${base} --yes --allow-missing`];
  if (kind === "file") return [`${base} > FILE`];
  if (body !== undefined && method.writes) return [full, `${base} -f FILE${method.credentials ? "" : " --dry-run"}`];
  return [full];
};

const notesOf = (words: string, shape: CommandShape): string => {
  const takesNames = [...shape.positionals, ...shape.flags].some((flag) => messageReferredTo(flag, shape) !== undefined);
  const naming = "Name a resource by its uid, by its name if that is unique, or by its path of names: acme/team/app.\n\n";
  return `${takesNames ? naming : ""}${exitStatusText}\n\nExamples:\n${examplesOf(words, shape)
    .map((line) => `  ${line}`)
    .join("\n")}`;
};

const givenOf = (command: Command, shape: CommandShape, positionals: readonly string[], file: string | undefined): Given => {
  const flags = new Map<string, readonly string[]>();
  for (const { name } of shape.flags) {
    const option = command.options.find(({ long }) => long === `--${name}`);
    const value: unknown = option === undefined ? undefined : command.getOptionValue(option.attributeName());
    if (value === undefined || command.getOptionValueSource(option?.attributeName() ?? "") === "default") continue;
    flags.set(name, Array.isArray(value) ? value.map(String) : [String(value)]);
  }
  return { positionals, flags, file };
};

/** "--add-capabilities": adds entries to a list and keeps the others. */
const editsOf = async (command: Command, shape: CommandShape, reader: ValueReader): Promise<ListEdit[]> => {
  const read = async (word: "add" | "remove", flag: FieldFlag): Promise<Json[]> => {
    const option = command.options.find(({ long }) => long === `--${word}-${flag.name}`);
    const values: unknown = option === undefined ? undefined : command.getOptionValue(option.attributeName());
    if (!Array.isArray(values)) return [];
    const entries = await readValue(`--${word}-${flag.name}`, flag.field, values.map(String), reader);
    return Array.isArray(entries) ? entries : [];
  };
  const edits: ListEdit[] = [];
  for (const flag of listFlags(shape)) {
    const [add, remove] = [await read("add", flag), await read("remove", flag)];
    if (add.length > 0 || remove.length > 0) edits.push({ flag, add, remove });
  }
  return edits;
};

/** Creates the command of an operation. `words` call it: "iam groups list". */
export const operationCommand = (terminal: Terminal, name: string, words: string, method: MethodFact): Command => {
  const shape = shapeOf(method);
  const { kind, positionals, flags } = shape;
  const description = wrapped(contractTexts[method.name] ?? `${method.rpc} of ${method.service}.`, 100);
  const usage = usageOf(shape);
  const wrongArguments = `${words} takes ${argumentsText(shape)}. Run gantry ${words} --help for usage`;
  const command = newCommand({ name, usage, description, notes: notesOf(words, shape), wrongArguments });
  // An update may take it from its file.
  for (const flag of positionals) {
    const word = positionalName(flag, shape);
    command.argument(kind === "delete" ? `<${word}...>` : kind === "update" ? `[${word}]` : `<${word}>`);
  }
  // Commander keeps the order in which options are added, so they are sorted first.
  const draft = new Command();
  for (const flag of flags) addFieldOption(draft, flag, shape);
  for (const { name: list } of listFlags(shape))
    for (const [word, text] of [
      ["add", "Add entries to the list"],
      ["remove", "Remove entries from the list"],
    ] as const)
      draft.addOption(new Option(`--${word}-${list} <VALUE,…>`, text).argParser(collectValue));
  if (takesPresets(method)) addPresetOptions(draft);
  for (const option of draft.options) option.description = wrapped(option.description, textColumns);
  addOwnOptions(draft, shape);
  addGrouped(command, draft.options, shape);
  return command.action(async () => {
    const options = command.opts<CommandOptions>();
    const typed = command.args;
    const given = options.file === undefined ? new Set(givenOf(command, shape, typed, undefined).flags.keys()) : undefined;
    const typedUsage = (required: readonly FieldFlag[]): string => `gantry ${words} ${usageOf(shape, required)}`;
    await runInSession(terminal, { shape, options, given, usage: typedUsage }, async (session) => {
      const reader: ValueReader = { nowMs: Date.now, readContent: contentReader(terminal.input ?? process.stdin) };
      const build = async (values: readonly string[]) =>
        buildRequest({
          shape,
          given: givenOf(command, shape, values, options.file),
          names: session.names,
          reader,
          organization: session.context.organization,
        });
      const write = { dryRun: options.dryRun === true, ifMatch: options.ifMatch, idempotencyKey: options.idempotencyKey };
      if (kind === "delete") {
        const request = async (value: string): Promise<JsonObject> => (await build([value])).request;
        return runDelete(session, shape, typed, request, { ...write, yes: options.yes === true, allowMissing: options.allowMissing === true });
      }
      const built = await build(typed);
      if (shape.listed !== undefined) return runList(session, shape, built.request, { limit: options.limit, watch: options.watch === true });
      if (kind === "file") return runFile(session, shape, built.request);
      if (kind === "update") return runUpdate(session, shape, built, await editsOf(command, shape, reader), { ...write, fromFile: options.file !== undefined });
      if (takesPresets(method)) return runCreateIdentity(session, shape, built, write, command.opts<PresetOptions>());
      await runCall(session, shape, built, write);
    });
  });
};
