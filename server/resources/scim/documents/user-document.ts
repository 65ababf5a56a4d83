// A user's document (RFC 7643, 4.1): what of it is understood, what is kept, and how it is shown. Attributes that nobody here knows
// are kept as they were sent; a password is never kept. Pure.

import { isObject, type Json, type JsonObject, text, texts } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import type { ScimUserKeys, ScimUserRow } from "#store";
import { scimFault } from "./faults.ts";
import { valueNamed } from "./filter.ts";
import { type Shown, withShown } from "./shown.ts";
import { userAttributes, userSchema } from "./schemas.ts";

/** What the server makes of a user's document. */
export interface ReadUser extends ScimUserKeys {
  /** Undefined: the document does not say. */
  readonly externalId: string | undefined;
  readonly active: boolean | undefined;
  /** As it is kept: without what the server says itself. */
  readonly document: JsonObject;
}

export const isMultiValued = (name: string): boolean => userAttributes.get(name.toLowerCase())?.multi === true;

/** What is no part of what is kept: the server's own, and secrets. */
const leftOut: ReadonlySet<string> = new Set(["id", "meta", "groups", "password", "schemas"]);

const invalidAttribute = (name: string, why: string): Error => scimFault("invalidValue", `${name} ${why}`);

/** True or false, also as the texts that Entra ID sends. */
const readBoolean = (name: string, value: Json): boolean => {
  if (typeof value === "boolean") return value;
  if (typeof value === "string" && /^(?:true|false)$/i.test(value)) return value.toLowerCase() === "true";
  throw invalidAttribute(name, "must be true or false");
};

interface Named {
  readonly name: string;
  readonly kind?: string;
  readonly multi?: boolean;
  readonly inner?: readonly Named[];
}

const isAbsent = (value: Json): boolean => value === null || (Array.isArray(value) && value.length === 0);

/** The object with the names of these attributes as RFC 7643 writes them, and their values in their kinds. */
const withNames = (object: JsonObject, known: ReadonlyMap<string, Named>, at: string): JsonObject => {
  const out: JsonObject = {};
  for (const [key, value] of Object.entries(object)) {
    if (key === "__proto__") throw invalidAttribute(`${at}__proto__`, "is no attribute");
    const attribute = known.get(key.toLowerCase());
    const name = attribute?.name ?? key;
    if (Object.hasOwn(out, name)) throw invalidAttribute(at + name, "is given twice");
    if (!isAbsent(value)) out[name] = attribute ? readKnown(attribute, value, at + name) : value;
  }
  return out;
};

const innerNames = new WeakMap<readonly Named[], ReadonlyMap<string, Named>>();
const namesOf = (inner: readonly Named[]): ReadonlyMap<string, Named> => {
  const found = innerNames.get(inner) ?? new Map(inner.map((each) => [each.name.toLowerCase(), each]));
  innerNames.set(inner, found);
  return found;
};

const readSingle = ({ kind, inner }: Named, value: Json, at: string): Json => {
  if (kind === "boolean") return readBoolean(at, value);
  if (kind !== "complex") {
    if (typeof value !== "string") throw invalidAttribute(at, "must be a text");
    return value;
  }
  if (!isObject(value)) throw invalidAttribute(at, "must be an object");
  return withNames(value, namesOf(inner ?? []), `${at}.`);
};

const readKnown = (attribute: Named, value: Json, at: string): Json => {
  if (!attribute.multi) return readSingle(attribute, value, at);
  // Some clients send the only value by itself, or without what is around it.
  const list = Array.isArray(value) ? value : [value];
  return list.map((each) => readSingle(attribute, typeof each === "string" ? { value: each } : each, at));
};

const isPrintable = (value: string): boolean => value.isWellFormed() && !/\p{Cc}/u.test(value);

const requireName = (name: string, value: string): void => {
  if (value.length > limits.scimNameLengthMax) throw invalidAttribute(name, `must have at most ${limits.scimNameLengthMax} characters`);
  if (!isPrintable(value)) throw invalidAttribute(name, "must be printable text");
};

const externalIdOf = (document: JsonObject): string | undefined => {
  const held = valueNamed(document, "externalId");
  if (held === undefined || held === null || held === "") return undefined;
  if (typeof held !== "string") throw invalidAttribute("externalId", "must be a text");
  // It is the subject of a token, by which people are known (upstream.ts of authn).
  if (held.length > limits.subjectLengthMax || !isPrintable(held))
    throw invalidAttribute("externalId", `must be printable text of at most ${limits.subjectLengthMax} characters`);
  return held;
};

const nonCore: ReadonlyMap<string, Named> = new Map([["externalid", { name: "externalId" }]]);
const coreNames: ReadonlyMap<string, Named> = new Map([...userAttributes, ...nonCore]);

/** Reads a user's document as a client has sent it. Throws 400 invalidValue. */
export const readUser = (sent: JsonObject): ReadUser => {
  const schemas = valueNamed(sent, "schemas");
  const kept = withNames(Object.fromEntries(Object.entries(sent).filter(([key]) => !leftOut.has(key.toLowerCase()))), coreNames, "");
  const userName = text(kept, "userName").trim();
  if (userName === "") throw invalidAttribute("userName", "is required");
  const displayName = text(kept, "displayName");
  const emails = (Array.isArray(kept.emails) ? kept.emails : []).flatMap((each) => (isObject(each) ? text(each, "value") : [])).filter((each) => each !== "");
  if (emails.length > limits.scimEmailsMax) throw invalidAttribute("emails", `must be at most ${limits.scimEmailsMax}`);
  for (const [name, value] of [["userName", userName], ["displayName", displayName], ...emails.map((each) => ["emails.value", each] as const)] as const)
    requireName(name, value);
  const extensions = Object.keys(kept).filter((key) => /^urn:/i.test(key));
  const named = Array.isArray(schemas) ? texts({ schemas }, "schemas") : [];
  return {
    externalId: externalIdOf(kept),
    active: typeof kept.active === "boolean" ? kept.active : undefined,
    userName: userName.toLowerCase(),
    displayName: displayName.toLowerCase(),
    emails: [...new Set(emails.map((each) => each.toLowerCase()))],
    document: { schemas: [...new Set([userSchema, ...named.filter((each) => /^urn:/i.test(each)), ...extensions])], ...kept },
  };
};

/** The kept document of a row. */
export const documentOf = ({ document }: Pick<ScimUserRow, "document">): JsonObject => {
  const parsed: unknown = JSON.parse(document);
  return isObject(parsed as Json) ? (parsed as JsonObject) : {};
};

export const weakVersionOf = ({ version }: Pick<ScimUserRow, "version">): string => `W/"${version}"`;

/** The user as SCIM shows it. `base`: the SCIM address of the provider. */
export const shownUser = (row: ScimUserRow, base: string, shown: Shown): JsonObject => {
  const { schemas, ...rest } = documentOf(row);
  const id = row.uid.slice(row.uid.lastIndexOf("/") + 1);
  const meta = {
    resourceType: "User",
    created: row.createTime,
    lastModified: row.updateTime,
    location: `${base}/Users/${id}`,
    version: weakVersionOf(row),
  };
  return withShown({ schemas: schemas ?? [], id, ...rest, meta }, shown);
};
