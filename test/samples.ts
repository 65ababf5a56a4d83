// Valid bodies for every message of the contract from its facts: examples, patterns, references, bounds. A new resource needs no
// samples if its contract has examples for patterns that cannot be guessed.

import { isObject, type Json, type JsonObject } from "#base/json.ts";
import { capabilityByName } from "#contract/capabilities.ts";
import { messageByName, methods } from "#contract/catalog.ts";
import type { FieldFact, MessageFact, MethodFact } from "#contract/facts.ts";
import { builtInRoles } from "../server/authz/roles.ts";

export interface Sampling {
  /** Returns the uid of a resource of this kind for a reference. */
  readonly refer: (message: string) => Promise<string>;
  /** Different numbers yield different values. */
  readonly variant: number;
  readonly nowMs: number;
  /** Capabilities (symbols) for lists; default: one harmless capability. */
  readonly capabilities?: readonly string[] | undefined;
}

// Not in the contract: fields that accept a uid among other values.
const alsoRefers: Readonly<Record<string, string>> = {
  "chainguard.platform.registry.v2.SyncConfig.source": "chainguard.platform.registry.v2.Repo",
};

/** Fields that take configured values; the contract's example is one. */
const configured: ReadonlySet<string> = new Set(["chainguard.platform.iam.v2.AcceptTermsRequest.document_ids", "gantry.findings.v1.VexSource.public_key"]);

// Rules across fields: only a verified organization has a kind. A retention rule keeps all tags or a number of them. Only a decision of
// NOT_AFFECTED has a justification.
const completeBodies: Readonly<Record<string, JsonObject>> = {
  "chainguard.platform.iam.v2.Group": { verified: true },
  "gantry.registry.v1.RetentionRule": { keepAll: false },
  "gantry.decisions.v1.FindingDecision": { state: "FINDING_DECISION_STATE_NOT_AFFECTED" },
};

/**
 * Other required parts: a retention rule keeps some tags, a false positive needs no more than a reason, a due date policy has a number of days,
 * an overlay adds something, and a list of requirements has a format.
 */
const neededParts: Readonly<Record<string, (variant: number) => JsonObject>> = {
  "gantry.registry.v1.RetentionRule": () => ({ keepLast: 3 }),
  "gantry.decisions.v1.FindingDecision": () => ({ state: "FINDING_DECISION_STATE_FALSE_POSITIVE" }),
  "gantry.findings.v1.DueDatePolicy": () => ({ criticalDays: 7 }),
  "chainguard.platform.registry.v2beta1.Overlay": () => ({ config: { contents: { packages: ["curl"] } } }),
  "chainguard.platform.libraries.v2beta1.CreateRequestGroupRequest": (variant) => ({
    format: "INPUT_FORMAT_REQUIREMENTS_TXT",
    content: Array.from({ length: 13 }, (_, index) => `sample-${variant}-${index}==1.${index}`).join("\n"),
  }),
};

const capabilityEnum = "chainguard.capabilities.Capability";

/** Capabilities that an owner can grant and any role may have. */
export const grantable: readonly string[] = (builtInRoles.owner ?? []).filter((name) => capabilityByName(name)?.internalOnly === false);

const symbolOf = (name: string | undefined): string => capabilityByName(name ?? "")?.symbol ?? "";

/** Returns the contract's pattern as a regular expression over the whole value. */
export const matcherOf = (field: FieldFact): RegExp => new RegExp(`^(?:${field.pattern ?? "[^]*"})$`, "u");

const isTakenBy = (field: FieldFact, text: string): boolean =>
  (field.pattern === undefined || matcherOf(field).test(text)) && (field.maxLength === 0 || field.shape !== "one" || text.length <= field.maxLength);

const textOf = (field: FieldFact, variant: number): string => {
  const [, choices] = /^\^\(([^()]+)\)\$$/.exec(field.pattern ?? "") ?? [];
  if (choices !== undefined) {
    const all = choices.split("|");
    return all[variant % all.length] ?? "";
  }
  const base = field.example || "sample";
  const number = String(variant);
  // Digests and account numbers vary in the last digits, documents (JWKS) in whitespace.
  const document = base.startsWith("{") ? `${base}${" ".repeat(variant % 16)}` : undefined;
  // An expression keeps its final "$", after which nothing could match.
  const longer = base.endsWith("$") ? `${base.slice(0, -1)}/${number}$` : `${base}-${number}`;
  const wanted = variant === 0 ? [base] : [document ?? longer, `${base.slice(0, -number.length)}${number}`, base];
  const found = wanted.find((text) => isTakenBy(field, text));
  if (found === undefined) throw new Error(`${field.name} has the pattern ${field.pattern} and no example that fits it`);
  return found;
};

/** Fields that another user than the author changes: only their first value is used. */
export const decidedByOthers: ReadonlySet<string> = new Set(["gantry.vulnerabilities.v1.AuthoredAdvisoryEvent.review_state"]);

/** Fields that a rule allows or requires only together with others, so that none of them can be changed alone in every state. */
export const decidedTogether: ReadonlySet<string> = new Set(["gantry.registry.v1.RetentionRule.keep_all", "gantry.registry.v1.RetentionRule.keep_last"]);

/** Fields that create further rows with their own events, and so are not in the body of a single row. */
const rowsBesides: ReadonlySet<string> = new Set(["gantry.vulnerabilities.v1.AuthoredAdvisory.initial_events"]);

const enumOf = (field: FieldFact, variant: number): string => {
  const names = [...(field.enum?.numbers ?? [])].filter(([, number]) => number !== 0).map(([name]) => name);
  return names[variant % names.length] ?? "";
};

const singleValueOf = async (field: FieldFact, owner: MessageFact, sampling: Sampling, whole: boolean): Promise<Json> => {
  const { variant, nowMs } = sampling;
  const refersTo = field.refersTo || alsoRefers[`${owner.name}.${field.name}`];
  switch (field.kind) {
    case "string":
      if (refersTo) return sampling.refer(refersTo);
      return field.uid ? String(variant).padStart(40, "0") : textOf(field, configured.has(`${owner.name}.${field.name}`) ? 0 : variant);
    case "bool":
      return variant % 2 === 1;
    case "int32":
      return field.maximum > 0 ? (variant % field.maximum) + 1 : variant + 1;
    case "int64":
      return String(variant + 1);
    case "double":
      return variant + 0.5;
    case "bytes":
      return btoa(`bytes ${variant}`);
    case "enum":
      return enumOf(field, decidedByOthers.has(`${owner.name}.${field.name}`) ? 0 : variant);
    case "timestamp":
      return new Date(nowMs + (variant + 1) * 3_600_000).toISOString();
    case "duration":
      return `${variant + 60}s`;
    case "message":
      return field.message ? bodyOf(field.message, sampling, whole) : {};
    case "mask":
    case "any":
      return "";
  }
};

/** Returns a valid value. `whole`: with all nested fields. */
export const valueOf = async (field: FieldFact, owner: MessageFact, sampling: Sampling, whole = false): Promise<Json> => {
  if (field.enum?.name === capabilityEnum) {
    const symbols = sampling.capabilities ?? [symbolOf(grantable[sampling.variant % grantable.length])];
    return field.shape === "list" ? [...symbols] : (symbols[0] ?? "");
  }
  const value = await singleValueOf(field, owner, sampling, whole);
  if (field.shape === "list") return [value];
  return field.shape === "map" ? { [field.keyKind === "string" ? `key-${sampling.variant}` : String(sampling.variant)]: value } : value;
};

/** Returns the other members of the field's oneof; a proto3 `optional` has none. */
export const rivalsOf = (message: MessageFact, field: FieldFact): FieldFact[] =>
  field.oneof === undefined || field.presence ? [] : message.fields.filter((other) => other !== field && other.oneof === field.oneof);

const isFirst = (message: MessageFact, field: FieldFact): boolean => {
  const rivals = rivalsOf(message, field);
  return rivals.length > 0 && rivals.every(({ number }) => number > field.number);
};

export const writable = (message: MessageFact): FieldFact[] => message.fields.filter((field) => !field.outputOnly && !field.version1Only);

/** Resources of a group that may name a repo below it, and no other. */
export const refersBelow: ReadonlySet<string> = new Set([
  "gantry.registry.v1.RetentionRule",
  "gantry.decisions.v1.FindingDecision",
  "gantry.findings.v1.VexSource",
]);

/** Optional references that only whole bodies have, because they restrict the resource's place. */
const placeReferences: ReadonlySet<string> = new Set([...refersBelow].map((name) => `${name}.repo_uid`));

/** Returns true for fields a body needs: REQUIRED, one member of each oneof, references that can be changed, and those with an example. */
const isNeeded = (message: MessageFact, field: FieldFact): boolean =>
  !(field.refersTo !== "" && (field.immutable || placeReferences.has(`${message.name}.${field.name}`)) && !field.required) &&
  (field.required ||
    field.minItems > 0 ||
    isFirst(message, field) ||
    (rivalsOf(message, field).length === 0 && field.shape === "one" && (field.refersTo !== "" || field.example !== "")));

/** Returns a valid body. `whole`: all writable fields, one member of each oneof. */
export const bodyOf = async (message: MessageFact, sampling: Sampling, whole = false): Promise<JsonObject> => {
  const body: JsonObject = {};
  const always = whole ? completeBodies[message.name] : undefined;
  const needed = whole ? undefined : neededParts[message.name]?.(sampling.variant);
  for (const field of writable(message)) {
    // Batch entries may omit their parent and use the batch's (AIP-233).
    if (field.scope || rowsBesides.has(`${message.name}.${field.name}`) || (rivalsOf(message, field).length > 0 && !isFirst(message, field))) continue;
    if (whole || (isNeeded(message, field) && needed?.[field.json] === undefined)) body[field.json] = await valueOf(field, message, sampling, whole);
  }
  return { ...body, ...needed, ...always };
};

/** Returns the path before the first field: "/iam/v2/groups". */
export const collectionOf = (method: MethodFact): string => (method.http[0]?.template ?? "").replace(/[/:]*\{.*$/, "").replace(/:.*$/, "");

export const createOf = (message: string): MethodFact | undefined =>
  methods.find((method) => method.output.name === message && method.rpc === `Create${method.output.short}`);

/** Returns the request field with the resource, if any. */
export const bodyField = (method: MethodFact): FieldFact | undefined => {
  const body = method.http[0]?.body;
  return body && body !== "*" ? method.input.byName.get(body) : undefined;
};

/** Returns the fields of a create request that has no resource field, without the parent. */
export const ownFieldsOf = async ({ input }: MethodFact, sampling: Sampling): Promise<JsonObject> => {
  const made: JsonObject = {};
  for (const field of input.fields) if (!field.scope && isNeeded(input, field)) made[field.json] = await valueOf(field, input, sampling);
  return { ...made, ...neededParts[input.name]?.(sampling.variant) };
};

/** Returns the resource that an operation concerns: from its scope, its collection, or its body. */
export const subjectOf = (method: MethodFact): MessageFact | undefined => {
  const field = method.input.fields.find(({ uid, refersTo }) => uid && refersTo !== "");
  const named = field && method.http[0]?.template.includes(`{${field.name}=`) ? messageByName(field.refersTo) : undefined;
  const changed = bodyField(method)?.message;
  const inCollection = methods.find((other) => other.rpc === `Create${other.output.short}` && collectionOf(other) === collectionOf(method))?.output;
  return named ?? inCollection ?? (method.rpc === `Update${changed?.short}` && createOf(changed?.name ?? "") ? changed : undefined);
};

/** Returns the request with the value at the path; `undefined` removes it. */
export const withValue = (request: JsonObject, path: readonly string[], value: Json | undefined): JsonObject => {
  const [first = "", ...rest] = path;
  const { [first]: found, ...others } = request;
  if (rest.length > 0) return { ...request, [first]: withValue(isObject(found) ? found : {}, rest, value) };
  return value === undefined ? others : { ...others, [first]: value };
};

export const valueAt = (request: JsonObject, path: readonly string[]): Json | undefined => {
  let found: Json | undefined = request;
  for (const key of path) found = isObject(found) ? found[key] : undefined;
  return found;
};

export const withoutImmutable = (field: FieldFact, value: Json): Json => without(field, value, ({ immutable }) => immutable);

export const withoutInputOnly = (field: FieldFact, value: Json): Json => without(field, value, ({ inputOnly }) => inputOnly);

const without = (field: FieldFact, value: Json, left: (inner: FieldFact) => boolean): Json => {
  if (!field.message || field.shape !== "one" || !isObject(value)) return value;
  const kept = field.message.fields.filter((inner) => value[inner.json] !== undefined && !left(inner));
  return Object.fromEntries(kept.map((inner) => [inner.json, without(inner, value[inner.json] ?? null, left)]));
};

/** Returns the list; throws if it is empty, because a suite without cases must not look like success. */
export const nonEmpty = <T>(found: readonly T[], what: string): readonly T[] => {
  if (found.length === 0) throw new Error(`there is no ${what}: this suite would test nothing`);
  return found;
};
