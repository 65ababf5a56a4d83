// An event as a sentence.

import type { Event } from "../../../client/package.ts";

/** "dev.chainguard.api.platform.registry.repo.created.v1": "registry.repo.created" */
export const shortType = (type: string): string => type.replace(/^dev\.(?:chainguard\.(?:api\.(?:platform\.)?)?|gantry\.)/, "").replace(/\.v\d+$/, "");

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> => typeof value === "object" && value !== null && !Array.isArray(value);

/** The data of an event; undefined if it is no JSON object. */
export const dataOf = ({ data }: Pick<Event, "data">): Readonly<Record<string, unknown>> | undefined => {
  try {
    const parsed: unknown = JSON.parse(data);
    return isRecord(parsed) ? parsed : undefined;
  } catch {
    return undefined;
  }
};

const textAt = (value: unknown, key: string): string => {
  const found = isRecord(value) ? value[key] : undefined;
  return typeof found === "string" ? found : "";
};

/** The uid of the identity that caused it; "" for the server itself. */
export const actorOf = (event: Pick<Event, "data">): string => textAt(dataOf(event)?.actor, "subject");

/** Words of types that are plural or have no space. */
const singular: Readonly<Record<string, string>> = {
  rolebindings: "role binding",
  roles: "role",
  identity_providers: "identity provider",
  account_associations: "account association",
  external_group_role_mappings: "group role mapping",
  scim_token: "SCIM token",
};

export interface Sentence {
  /** "Role binding" */
  readonly thing: string;
  /** Its name, if the event has one. */
  readonly name: string;
  /** "created" */
  readonly change: string;
}

/** "iam.role_binding.created" of a resource with a name: "Role binding", the name, "created". */
export const sentenceOf = (event: Pick<Event, "type" | "data">): Sentence => {
  const words = shortType(event.type)
    .replace(/\.batch$/, "")
    .split(".");
  const [change = "", ...rest] = words.reverse();
  // The first word is the domain.
  const thing = rest
    .reverse()
    .slice(rest.length > 1 ? 1 : 0)
    .map((word) => singular[word] ?? word.replaceAll(/[_-]/g, " "))
    .join(" ");
  const body = dataOf(event)?.body;
  return {
    thing: thing.charAt(0).toUpperCase() + thing.slice(1),
    name: textAt(body, "name") || textAt(body, "pattern") || textAt(body, "tag"),
    change: change.replaceAll(/[_-]/g, " "),
  };
};
