// Derives a command's arguments and flags from the fields of its request. Flags are field names in kebab case; path parameters
// are arguments; fields of the resource have no prefix.

import { methods } from "#contract/catalog.ts";
import { contractTexts } from "#contract/gen/texts.ts";
import type { FieldFact, MessageFact, MethodFact } from "#contract/facts.ts";

export interface FieldFlag {
  /** Without dashes: "descendants-of". */
  readonly name: string;
  /** Path of the value in the request, in JSON names. */
  readonly path: readonly string[];
  readonly field: FieldFact;
  readonly message: MessageFact;
}

export type CommandKind = "list" | "update" | "delete" | "file" | "call";

export interface CommandShape {
  readonly method: MethodFact;
  readonly kind: CommandKind;
  readonly positionals: readonly FieldFlag[];
  readonly flags: readonly FieldFlag[];
  /** Target of -f: the resource, or undefined for the whole request. */
  readonly body: FieldFact | undefined;
  /** For a list: the response field with the entries. */
  readonly listed: FieldFact | undefined;
}

/** Flags of the command line itself, reserved from fields. */
export const ownFlags: ReadonlySet<string> = new Set([
  ...["server", "context", "output", "columns", "timeout", "no-input", "input", "color", "no-color", "help", "version", "limit", "watch"],
  ...["file", "dry-run", "if-match", "yes", "allow-missing", "idempotency-key"],
]);

/** Fields that the command sets itself. */
const filled = new Set(["page_size", "page_token", "pageSize", "pageToken"]);

const kebab = (name: string): string => name.replaceAll("_", "-");

const isUidFilter = ({ message }: FieldFact): boolean => message?.name === "chainguard.platform.common.UIDPFilter" || message?.short === "GroupFilter";

const hasFields = (field: FieldFact): boolean => field.shape === "one" && field.kind === "message" && field.message !== undefined;

/** Returns the list of a response; the first one of messages if there are several. */
const listedIn = ({ output }: MethodFact): FieldFact | undefined => output.fields.find(({ shape, message }) => shape === "list" && message !== undefined);

const kindOf = (method: MethodFact): CommandKind => {
  if (method.givesFile) return "file";
  if (method.input.fields.some(({ kind }) => kind === "mask")) return "update";
  if (method.http[0]?.verb === "DELETE") return "delete";
  const isList = !method.writes && listedIn(method) !== undefined && (method.rpc.startsWith("List") || method.input.byName.has("page_token"));
  return isList ? "list" : "call";
};

/** True for a read whose response is a list and at most flags, so that it is printed as one: gantry names search. */
const answersWithList = ({ writes, output }: MethodFact): boolean =>
  !writes &&
  output.fields.filter(({ shape, message }) => shape === "list" && message !== undefined).length === 1 &&
  output.fields.every(({ shape, kind }) => shape === "list" || kind === "bool");

/** Returns the path parameters, dotted, without the parent of a new resource, which is a flag. */
const capturedPaths = (method: MethodFact): string[] =>
  [...(method.http[0]?.template ?? "").matchAll(/\{([^}=]+)/g)].map(([, name = ""]) => name).filter((name) => name !== "parent" && name !== "parent_id");

const flagAt = (message: MessageFact, dotted: string): FieldFlag | undefined => {
  let [within, last, path]: [MessageFact | undefined, FieldFlag | undefined, string[]] = [message, undefined, []];
  for (const name of dotted.split(".")) {
    const field: FieldFact | undefined = within?.byName.get(name);
    if (field === undefined || within === undefined) return undefined;
    path = [...path, field.json];
    last = { name: kebab(field.name), path, field, message: within };
    within = field.message;
  }
  return last;
};

interface Flattening {
  readonly prefix: string;
  readonly path: readonly string[];
  /** Omits output-only fields, and for an update also immutable ones. */
  readonly resource: "create" | "update" | undefined;
  readonly above: readonly MessageFact[];
}

const flatten = (message: MessageFact, into: Flattening): FieldFlag[] =>
  message.fields.flatMap((field): FieldFlag[] => {
    const { prefix, path, resource, above } = into;
    if (resource !== undefined && (field.outputOnly || field.version1Only)) return [];
    if (resource === "update" && (field.immutable || (above.length === 0 && field.name === "uid"))) return [];
    const name = `${prefix}${kebab(field.name)}`;
    const own: FieldFlag = { name, path: [...path, field.json], field, message };
    if (!hasFields(field) || field.message === undefined || above.includes(field.message)) return [own];
    const inner = flatten(field.message, { prefix: `${name}-`, path: own.path, resource, above: [...above, message] });
    // The presence of an empty message is significant.
    return inner.length === 0 ? [own] : inner;
  });

const withoutClashes = (flags: readonly FieldFlag[], method: MethodFact): FieldFlag[] => {
  const taken = new Set(ownFlags);
  const noun = kebab(method.rpc.replace(/([a-z])([A-Z])/g, "$1_$2").toLowerCase()).replace(/^[a-z]+-/, "");
  return flags.map((flag) => {
    const free = [flag.name, `${noun}-${flag.name}`, flag.path.join("-").toLowerCase()].find((name) => !taken.has(name)) ?? flag.name;
    taken.add(free);
    return { ...flag, name: free };
  });
};

/** The only required text of a read without a uid in its path: gantry names search QUERY. */
const onlyQuestionOf = ({ input }: MethodFact): FieldFlag[] => {
  const [only, ...more] = input.fields.filter(({ required }) => required);
  if (!only || more.length > 0 || only.kind !== "string" || only.shape !== "one") return [];
  return [{ name: kebab(only.name), path: [only.json], field: only, message: input }];
};

export const shapeOf = (method: MethodFact): CommandShape => {
  const kind = kindOf(method);
  const bodyName = method.http[0]?.body ?? "";
  const named = bodyName === "" || bodyName === "*" ? undefined : method.input.byName.get(bodyName);
  // An update without a path parameter: the resource is the only message in its request.
  const body = named ?? (kind === "update" ? method.input.fields.find(hasFields) : undefined);
  const captured = capturedPaths(method).flatMap((dotted) => flagAt(method.input, dotted) ?? []);
  const positionals = captured.length > 0 || kind === "list" || method.writes ? captured : onlyQuestionOf(method);
  const isPositional = (path: readonly string[]): boolean => positionals.some((each) => each.path.join() === path.join());
  const flags = method.input.fields.flatMap((field): FieldFlag[] => {
    if (filled.has(field.name) || field.kind === "mask" || isPositional([field.json])) return [];
    const own: FieldFlag = { name: kebab(field.name), path: [field.json], field, message: method.input };
    if (!hasFields(field) || field.message === undefined) return [own];
    const resource = field === body ? (kind === "update" ? "update" : "create") : undefined;
    const prefix = field === body || isUidFilter(field) ? "" : `${own.name}-`;
    return flatten(field.message, { prefix, path: [field.json], resource, above: [] }).filter(({ path }) => !isPositional(path));
  });
  return {
    method,
    kind,
    positionals,
    flags: withoutClashes(flags, method),
    body: body && hasFields(body) ? body : undefined,
    listed: kind === "list" || (kind === "call" && answersWithList(method)) ? listedIn(method) : undefined,
  };
};

export const fieldText = ({ message, field }: FieldFlag): string =>
  (contractTexts[`${message.name}.${field.name}`] ?? "").replace(/ ?Additive: not part of the public message\./, "").trim();

/** Returns the operation that gets the resource by uid. */
export const readerOf = (message: MessageFact): MethodFact | undefined =>
  methods.find(({ rpc, output, input, http }) => rpc === `Get${message.short}` && output === message && input.fields[0]?.name === "uid" && http.length > 0);

export const resourceOf = ({ method, listed, body }: CommandShape): MessageFact => {
  if (listed?.message !== undefined) return listed.message;
  if (body?.message !== undefined) return body.message;
  const noun = method.rpc.replace(/^(?:Get|Delete)/, "");
  const same = methods.find(({ rpc, service }) => service === method.service && rpc === `Get${noun}`);
  return same?.output ?? method.output;
};
