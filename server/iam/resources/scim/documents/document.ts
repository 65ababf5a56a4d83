// Parses user and group documents (RFC 7643, 3 and 4): canonical attribute names, known values by type, all else as sent. Pure.

import { isObject, type Json, type JsonObject, texts } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { scimFault } from "./faults.ts";
import { valueNamed } from "./names.ts";
import { innerNames, type Known } from "./schemas.ts";

export const invalidAttribute = (name: string, why: string): Error => scimFault("invalidValue", `${name} ${why}`);

/** Reads a boolean; Entra ID sends texts. */
const readBoolean = (name: string, value: Json): boolean => {
  if (typeof value === "boolean") return value;
  if (typeof value === "string" && /^(?:true|false)$/i.test(value)) return value.toLowerCase() === "true";
  throw invalidAttribute(name, "must be true or false");
};

const isUnassigned = (value: Json): boolean => value === null || (Array.isArray(value) && value.length === 0);

const withNames = (object: JsonObject, known: ReadonlyMap<string, Known>, at: string): JsonObject => {
  const out: JsonObject = {};
  for (const [key, value] of Object.entries(object)) {
    if (key === "__proto__") throw invalidAttribute(`${at}__proto__`, "is not an attribute");
    const attribute = known.get(key.toLowerCase());
    const name = attribute?.name ?? key;
    if (Object.hasOwn(out, name)) throw invalidAttribute(at + name, "is given twice");
    const read = attribute && !isUnassigned(value) ? readKnown(attribute, value, at + name) : value;
    if (!isUnassigned(read)) out[name] = read;
  }
  return out;
};

/**
 * Normalizes a value to its attribute's form: Entra ID sends a manager as a plain value, or a single value as a list such as
 * [{"$ref": null, "value": "False"}].
 */
export const inForm = (attribute: Known, value: Json): Json => {
  if (attribute.multi) return (Array.isArray(value) ? value : [value]).map((each) => (typeof each === "string" ? { value: each } : each));
  const only = Array.isArray(value) && value.length === 1 ? (value[0] ?? null) : value;
  if (attribute.kind !== "complex") return only === value ? value : (valueNamed(only, "value") ?? only);
  if (!innerNames(attribute).has("value") || (typeof only !== "string" && typeof only !== "number")) return only;
  return only === "" ? null : { value: only };
};

const readSingle = (attribute: Known, value: Json, at: string): Json => {
  const { kind, asSent } = attribute;
  if (asSent) return value;
  if (kind === "boolean") return readBoolean(at, value);
  if (kind !== "complex") {
    if (typeof value !== "string") throw invalidAttribute(at, "must be a text");
    return value;
  }
  if (!isObject(value)) throw invalidAttribute(at, "must be an object");
  return withNames(value, innerNames(attribute), `${at}.`);
};

/** RFC 7643, 2.4: at most one value is primary. Keeps the first, since an error would block the deactivation of a user. */
const withOnePrimary = (list: readonly JsonObject[]): JsonObject[] => {
  const first = list.findIndex(({ primary }) => primary === true);
  return list.map((each, index) => (each.primary === true && index > first ? { ...each, primary: false } : each));
};

/** Reads a value of a known attribute; throws 400 invalidValue. */
export const readKnown = (attribute: Known, value: Json, at: string): Json => {
  const formed = inForm(attribute, value);
  if (isUnassigned(formed)) return null;
  if (!attribute.multi || !Array.isArray(formed)) return readSingle(attribute, formed, at);
  return withOnePrimary(formed.map((each) => readSingle(attribute, each, at)).filter(isObject));
};

const isPrintable = (value: string): boolean => value.isWellFormed() && !/\p{Cc}/u.test(value);

/** Rejects values that cannot be indexed. */
export const requireName = (name: string, value: string): void => {
  if (value.length > limits.scimNameLengthMax) throw invalidAttribute(name, `must have at most ${limits.scimNameLengthMax} characters`);
  if (!isPrintable(value)) throw invalidAttribute(name, "must be printable text");
};

const externalIdOf = (document: JsonObject): string | undefined => {
  const held = valueNamed(document, "externalId");
  if (held === undefined || held === null || held === "") return undefined;
  if (typeof held !== "string") throw invalidAttribute("externalId", "must be a text");
  // It is the subject of a token, which identifies users (upstream.ts of authn).
  if (held.length > limits.subjectLengthMax || !isPrintable(held))
    throw invalidAttribute("externalId", `must be printable text of at most ${limits.subjectLengthMax} characters`);
  return held;
};

/** Throws 400 tooMany for a user or group that is too large: every response and change reads all of it (attack 199). */
export const requireSmall = (what: string, json: unknown): void => {
  if (Buffer.byteLength(JSON.stringify(json)) > limits.scimDocumentBytesMax)
    throw scimFault("tooMany", `${what} must have at most ${limits.scimDocumentBytesMax} bytes`);
};

/** A document as stored, with its identifying attributes. */
export interface ReadDocument {
  readonly document: JsonObject;
  /** Undefined if absent. */
  readonly externalId: string | undefined;
}

/** Passwords at any depth and under any URN are dropped (attack 172). */
const isPassword = (name: string): boolean => /(?:^|[.:])password(?:$|[.:])/i.test(name);

const withoutPasswords = (object: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(object).flatMap(([name, value]): [string, Json][] => (isPassword(name) ? [] : [[name, withoutPasswordsIn(value)]])));

const withoutPasswordsIn = (value: Json): Json => {
  if (Array.isArray(value)) return value.map(withoutPasswordsIn);
  return isObject(value) ? withoutPasswords(value) : value;
};

/** Reads a document as sent by a client. `leftOut`: names, in lower case, that are never stored. Throws 400 invalidValue. */
export const readScimDocument = (sent: JsonObject, schema: string, attributes: ReadonlyMap<string, Known>, leftOut: ReadonlySet<string>): ReadDocument => {
  const names: ReadonlyMap<string, Known> = new Map([...attributes, ["externalid", { name: "externalId" }]]);
  const own = Object.entries(sent).filter(([name]) => !leftOut.has(name.toLowerCase()));
  const kept = withNames(withoutPasswords(Object.fromEntries(own)), names, "");
  const schemas = texts({ schemas: valueNamed(sent, "schemas") ?? [] }, "schemas");
  const extensions = Object.keys(kept).filter((key) => /^urn:/i.test(key) && isObject(kept[key]));
  const externalId = externalIdOf(kept);
  // An empty one counts as absent.
  if (externalId === undefined) delete kept.externalId;
  const document = { schemas: [...new Set([schema, ...schemas, ...extensions])], ...kept };
  requireSmall("a user or group", document);
  return { document, externalId };
};

export const serversOwn = ["id", "meta", "schemas"];

export const documentOf = ({ document }: { readonly document: string }): JsonObject => {
  const parsed: unknown = JSON.parse(document);
  return isObject(parsed as Json) ? (parsed as JsonObject) : {};
};

/** Returns the last segment of a uid, which is SCIM's `id`. */
export const idOf = (uid: string): string => uid.slice(uid.lastIndexOf("/") + 1);

interface DocumentRow {
  readonly uid: string;
  readonly document: string;
  readonly version: number;
  readonly createTime: string;
  readonly updateTime: string;
}

export const weakVersionOf = ({ version }: Pick<DocumentRow, "version">): string => `W/"${version}"`;

/** Adds the server's attributes to the stored document. `base`: the provider's SCIM base URL. */
export const withMeta = (row: DocumentRow, resourceType: "User" | "Group", base: string, version: string, more: JsonObject): JsonObject => {
  const { schemas, ...rest } = documentOf(row);
  const id = idOf(row.uid);
  const location = `${base}/${resourceType}s/${id}`;
  const meta = { resourceType, created: row.createTime, lastModified: row.updateTime, location, version };
  return { schemas: schemas ?? [], id, ...rest, ...more, meta };
};
