// The SCIM schemas (RFC 7643, 4, 7 and 8.7) as far as supported, in a short form that /Schemas expands.

import type { JsonObject } from "#base/json.ts";

export const userSchema = "urn:ietf:params:scim:schemas:core:2.0:User";
export const groupSchema = "urn:ietf:params:scim:schemas:core:2.0:Group";
export const enterpriseSchema = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User";

type Kind = "string" | "boolean" | "reference" | "binary" | "complex";

interface Traits {
  readonly kind?: Kind;
  readonly multi?: boolean;
  readonly required?: boolean;
  readonly readOnly?: boolean;
  readonly caseExact?: boolean;
  readonly unique?: boolean;
  /** Types that a reference may point to. */
  readonly to?: readonly string[];
  readonly inner?: readonly Attribute[];
}

interface Attribute extends Traits {
  readonly name: string;
  readonly description: string;
}

export interface Schema {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly attributes: readonly Attribute[];
}

const attribute = (name: string, description: string, traits: Traits = {}): Attribute => ({ name, description, ...traits });

/** A list of typed values (RFC 7643, 2.4). */
const values = (name: string, description: string, kind: Kind = "string", traits: Traits = {}): Attribute =>
  attribute(name, description, {
    kind: "complex",
    multi: true,
    inner: [
      attribute("value", "The value.", { kind, ...traits }),
      attribute("display", "The display value."),
      attribute("type", "The purpose of the value, such as work."),
      attribute("primary", "True for the one that is meant where one is needed.", { kind: "boolean" }),
    ],
  });

const addressParts = ["formatted", "streetAddress", "locality", "region", "postalCode", "country"];

const user: Schema = {
  id: userSchema,
  name: "User",
  description: "A person",
  attributes: [
    attribute("userName", "The user name at the provider.", { required: true, unique: true }),
    attribute("name", "The parts of the person's name.", {
      kind: "complex",
      inner: ["formatted", "familyName", "givenName", "middleName", "honorificPrefix", "honorificSuffix"].map((name) => attribute(name, `The name's ${name}.`)),
    }),
    attribute("displayName", "The display name."),
    attribute("nickName", "The name of the user."),
    attribute("profileUrl", "A page about the person.", { kind: "reference", to: ["external"], caseExact: true }),
    attribute("title", "The person's title."),
    attribute("userType", "The relation between person and organization."),
    attribute("preferredLanguage", "The language that the person prefers."),
    attribute("locale", "Where the person is, for numbers and times."),
    attribute("timezone", "The person's time zone."),
    attribute("active", "False: the user has no permissions from this provider.", { kind: "boolean" }),
    values("emails", "E-mail addresses."),
    values("phoneNumbers", "Telephone numbers."),
    values("ims", "Addresses of messages."),
    values("photos", "Pictures.", "reference", { to: ["external"], caseExact: true }),
    attribute("addresses", "Postal addresses.", {
      kind: "complex",
      multi: true,
      inner: [
        ...addressParts.map((name) => attribute(name, `The address's ${name}.`)),
        attribute("type", "The purpose of the address, such as work."),
        attribute("primary", "True for the one that is meant where one is needed.", { kind: "boolean" }),
      ],
    }),
    values("entitlements", "Entitlements of the user in other systems."),
    values("roles", "The person's roles, elsewhere."),
    values("x509Certificates", "Certificates.", "binary", { caseExact: true }),
    attribute("groups", "The groups that the person is in; changed by the groups.", {
      kind: "complex",
      multi: true,
      readOnly: true,
      inner: [
        attribute("value", "The group's id.", { caseExact: true, readOnly: true }),
        attribute("$ref", "The group's address.", { kind: "reference", to: ["Group"], caseExact: true, readOnly: true }),
        attribute("display", "The group's name.", { readOnly: true }),
      ],
    }),
  ],
};

const group: Schema = {
  id: groupSchema,
  name: "Group",
  description: "A group of users at the provider",
  attributes: [
    attribute("displayName", "The display name of the group.", { required: true }),
    attribute("members", "The users in the group. A PATCH adds and removes single ones.", {
      kind: "complex",
      multi: true,
      inner: [
        attribute("value", "The user's id.", { caseExact: true }),
        attribute("$ref", "The user's address: follows from the id.", { kind: "reference", to: ["User"], caseExact: true }),
      ],
    }),
  ],
};

const enterprise: Schema = {
  id: enterpriseSchema,
  name: "EnterpriseUser",
  description: "Enterprise attributes of a user",
  attributes: [
    ...["employeeNumber", "costCenter", "organization", "division", "department"].map((name) => attribute(name, `The person's ${name}.`)),
    attribute("manager", "The manager of the user.", {
      kind: "complex",
      inner: [
        attribute("value", "The id of that person."),
        attribute("$ref", "The address of that person.", { kind: "reference", to: ["User"], caseExact: true }),
        attribute("displayName", "That person's name.", { readOnly: true }),
      ],
    }),
  ],
};

export const schemas: readonly Schema[] = [user, group, enterprise];

export interface Known extends Pick<Traits, "kind" | "multi"> {
  readonly name: string;
  /** Keep any value as sent. */
  readonly asSent?: boolean;
  readonly inner?: readonly Known[];
}

/** By lower case, because names are case-insensitive (RFC 7643, 2.1). */
const byName = (known: readonly Known[]): ReadonlyMap<string, Known> => new Map(known.map((each) => [each.name.toLowerCase(), each]));

const inners = new WeakMap<readonly Known[], ReadonlyMap<string, Known>>();

export const innerNames = ({ inner = [] }: Pick<Known, "inner">): ReadonlyMap<string, Known> => {
  const found = inners.get(inner) ?? byName(inner);
  inners.set(inner, found);
  return found;
};

/** Extensions have no effect: their names and form are known, and values of another type are accepted. */
const formOf = ({ name, inner }: Attribute): Known => (inner ? { name, kind: "complex", inner: inner.map(formOf) } : { name, asSent: true });

export const userAttributes = byName([...user.attributes, { name: enterpriseSchema, kind: "complex", inner: enterprise.attributes.map(formOf) }]);
export const groupAttributes = byName(group.attributes);

const hasCase = (kind: Kind): boolean => kind !== "boolean" && kind !== "complex";

const shownAttribute = ({ name, description, kind = "string", multi, required, readOnly, caseExact, unique, to, inner }: Attribute): JsonObject => ({
  name,
  type: kind,
  multiValued: multi === true,
  description,
  required: required === true,
  ...(hasCase(kind) ? { caseExact: caseExact === true } : {}),
  mutability: readOnly ? "readOnly" : "readWrite",
  returned: "default",
  ...(hasCase(kind) ? { uniqueness: unique ? "server" : "none" } : {}),
  ...(to ? { referenceTypes: [...to] } : {}),
  ...(inner ? { subAttributes: inner.map(shownAttribute) } : {}),
});

/** Returns a schema in the form of /Schemas. `base`: the provider's SCIM base URL. */
export const shownSchema = ({ id, name, description, attributes }: Schema, base: string): JsonObject => ({
  schemas: ["urn:ietf:params:scim:schemas:core:2.0:Schema"],
  id,
  name,
  description,
  attributes: attributes.map(shownAttribute),
  meta: { resourceType: "Schema", location: `${base}/Schemas/${id}` },
});
