// Resolves names to uids: `acme`, `acme/team/app`. Ambiguous names are refused, because a resource could otherwise be named to
// replace another one (attack 143).

import { Fault } from "#base/fault.ts";
import { isObject, type JsonObject, objectList, text } from "#base/json.ts";
import { isUid } from "#base/uid.ts";
import type { Client } from "#contract-client";
import { messageByName, methods } from "#contract/catalog.ts";
import type { FieldFact, MessageFact, MethodFact } from "#contract/facts.ts";
import { onOneLine } from "../output/escape.ts";
import type { FindPaths } from "../output/print.ts";
import type { CommandShape, FieldFlag } from "./shape.ts";
import { resourceOf } from "./shape.ts";

const groupName = "chainguard.platform.iam.v2.Group";

/** Matches listed in an error. */
const listedMax = 20;

/** Returns the message of groups, the root of all hierarchies. */
export const groupMessage = (): MessageFact => {
  const message = messageByName(groupName);
  if (message === undefined) throw new Error(`the contract has no ${groupName}`);
  return message;
};

export interface Lister {
  readonly method: MethodFact;
  readonly list: FieldFact;
  readonly message: MessageFact;
}

/** Returns the list operation that filters by name; undefined if the resource is identified by uid only. */
export const listerOf = (message: MessageFact): Lister | undefined => {
  if (!message.byName.has("name") || !message.byName.has("uid")) return undefined;
  for (const method of methods) {
    const list = method.rpc.startsWith("List") ? method.output.fields.find((field) => field.message === message && field.shape === "list") : undefined;
    if (list !== undefined && method.input.byName.get("uidp")?.message !== undefined) return { method, list, message };
  }
  return undefined;
};

/** Returns the message of the parent, according to Create; undefined if the parent has no name. */
export const parentMessageOf = (message: MessageFact): MessageFact | undefined => {
  const create = methods.find(({ rpc, output }) => output === message && rpc === `Create${message.short}`);
  return messageByName(create?.input.byName.get("parent")?.refersTo ?? "");
};

/** Returns the separator after the parent's path: `acme/team/app`, but `acme/team/app:1.2` if the parent is not a group. */
export const separatorOf = (message: MessageFact): "/" | ":" => {
  const parent = parentMessageOf(message);
  return parent === undefined || parent.name === groupName ? "/" : ":";
};

/** "identity_uid" refers to Identity, if such a resource exists; the same domain takes precedence. */
const messageOfFieldName = ({ name }: FieldFact, domain: string): MessageFact | undefined => {
  const short = name
    .replace(/_(?:uid|id)s?$/, "")
    .split("_")
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join("");
  const found = methods.filter(({ rpc, output }) => rpc === `Get${short}` && output.short === short && output.byName.has("uid"));
  return (found.find((method) => method.domain === domain) ?? found[0])?.output;
};

/** Returns the message that a uid field refers to, or undefined. */
export const messageReferredTo = ({ field, path }: FieldFlag, shape: CommandShape): MessageFact | undefined => {
  const { method } = shape;
  if (field.refersTo !== "") return messageByName(field.refersTo);
  if (!field.uid) return undefined;
  if (path[0] === "uidp") {
    if (field.name === "children_of") return parentMessageOf(resourceOf(shape)) ?? messageByName(groupName);
    return field.name === "descendants_of" ? messageByName(groupName) : resourceOf(shape);
  }
  if (field.name === "uid" || field.name === "uids") return resourceOf(shape);
  return messageOfFieldName(field, method.domain);
};

/** Returns all messages that a uid field may refer to. */
export const messagesReferredTo = (flag: FieldFlag, shape: CommandShape): readonly MessageFact[] =>
  [messageReferredTo(flag, shape), messageByName(flag.field.alsoRefersTo)].filter((message) => message !== undefined);

/** "RoleBinding" as "role binding". */
export const nounOf = ({ short }: MessageFact): string => short.replace(/([a-z0-9])([A-Z])/g, "$1 $2").toLowerCase();

/** "group or repo". */
export const nounsOf = (messages: readonly MessageFact[]): string => messages.map(nounOf).join(" or ");

const splitPath = (message: MessageFact, path: string): string[] => {
  const at = separatorOf(message) === ":" ? path.lastIndexOf(":") : -1;
  return at === -1 ? path.split("/") : [...path.slice(0, at).split("/"), path.slice(at + 1)];
};

const label = (option: string): string => (option === "" ? "" : `${option}: `);

interface Reference {
  readonly uid: string;
  readonly resource: JsonObject;
}

/**
 * Returns the list operation of the caller's memberships if this operation changes one; otherwise undefined. Before accepting,
 * the caller may see no group of the organization, so its name occurs only in that list.
 */
const ownAnswersOf = ({ personal, input, output, service }: MethodFact): MethodFact | undefined =>
  personal && input.byName.get("group")?.refersTo === groupName && output.byName.has("organization_name")
    ? methods.find((each) => each.service === service && each.output.fields.some(({ message, shape }) => message === output && shape === "list"))
    : undefined;

export interface Names {
  /**
   * Returns the uid of the resource of one of `messages`. `option` is named in errors ("" for none); `method` is the operation to
   * call. Throws NOT_FOUND without a match, INVALID_ARGUMENT for several.
   */
  readonly resolve: (option: string, messages: readonly MessageFact[], value: string, method?: MethodFact) => Promise<string>;
}

/** `findPaths`: for the paths of ambiguous matches. */
export const openNames = (client: Client, findPaths: FindPaths, signal?: AbortSignal): Names => {
  const known = new Map<string, Promise<string>>();

  /** Returns all matches below any of `places`. Reads to the last page, since a match may be on any. */
  const findNamed = async (lister: Lister, name: string, places: readonly JsonObject[]): Promise<Reference[]> => {
    const { method, list } = lister;
    const takesName = method.input.byName.get("name")?.filter !== undefined;
    const found = new Map<string, Reference>();
    for (const uidp of places) {
      const request: JsonObject = { ...(takesName ? { name } : {}), ...(Object.keys(uidp).length > 0 ? { uidp } : {}), pageSize: 200 };
      for await (const page of client.pages(method, request, { signal }))
        for (const resource of objectList(page, list.json))
          if (isObject(resource) && text(resource, "name") === name) found.set(text(resource, "uid"), { uid: text(resource, "uid"), resource });
    }
    return [...found.values()];
  };

  const childrenOf = (parents: readonly Reference[]): JsonObject[] => parents.map(({ uid }) => ({ childrenOf: uid }));

  /** Returns the groups at a name path, from the organizations down. */
  const findGroups = async (lister: Lister, names: readonly string[], isRooted: boolean): Promise<Reference[]> => {
    const [first = "", ...rest] = names;
    if (rest.length === 0 && !isRooted) return findNamed(lister, first, [{}]);
    let found = await findNamed(lister, first, [{ inRoot: true }]);
    // A caller's visible subtree may start below the root.
    if (found.length === 0 && !isRooted) found = await findNamed(lister, first, [{}]);
    for (const name of rest) found = await findNamed(lister, name, childrenOf(found));
    return found;
  };

  const findByPath = async (message: MessageFact, names: readonly string[], isRooted: boolean): Promise<Reference[]> => {
    const lister = listerOf(message);
    if (lister === undefined) return [];
    const parent = parentMessageOf(message);
    if (message.name === groupName) return findGroups(lister, names, isRooted);
    const above = names.slice(0, -1);
    const name = names.at(-1) ?? "";
    if (above.length === 0 || parent === undefined) return findNamed(lister, names.join("/"), [{}]);
    return findNamed(lister, name, childrenOf(await findByPath(parent, above, isRooted)));
  };

  const ambiguous = async (option: string, messages: readonly MessageFact[], value: string, found: readonly Reference[]): Promise<Fault> => {
    const listed = found.slice(0, listedMax);
    const resources = listed.map(({ resource }) => resource);
    const paths = new Map<string, string>();
    for (const message of messages) for (const [uid, path] of await findPaths(message, resources)) if (!paths.has(uid)) paths.set(uid, path);
    const lines = listed
      .map(({ uid, resource }) => ({ uid, path: paths.get(uid)?.replace(` (${uid})`, "") ?? "", description: text(resource, "description") }))
      .toSorted((one, other) => (one.path < other.path ? -1 : 1))
      .map(
        ({ uid, path, description }) =>
          `\n  ${[uid, path, description]
            .filter((each) => each !== "")
            .map(onOneLine)
            .join("  ")}`,
      );
    const more = found.length > listedMax ? `\n  and ${found.length - listedMax} more` : "";
    return new Fault(
      "INVALID_ARGUMENT",
      `${label(option)}${nounsOf(messages)} ${JSON.stringify(value)} is ambiguous: ${found.length} have this name. Use a uid:${lines.join("")}${more}`,
    );
  };

  const findAny = async (message: MessageFact, value: string): Promise<Reference[]> => {
    const path = value.startsWith("name:") ? [value.slice("name:".length)] : splitPath(message, value.replace(/^\//, ""));
    return path.some((name) => name === "") ? [] : findByPath(message, path, value.startsWith("/"));
  };

  const look = async (option: string, messages: readonly MessageFact[], value: string): Promise<string> => {
    const found = (await Promise.all(messages.map((message) => findAny(message, value)))).flat();
    const [only, ...others] = found;
    if (only === undefined) throw new Fault("NOT_FOUND", `${label(option)}${nounsOf(messages)} ${JSON.stringify(value)} not found`);
    if (others.length > 0) throw await ambiguous(option, messages, value, found);
    return only.uid;
  };

  /** Finds a pending organization of the caller by name. */
  const findUnaccepted = async (list: MethodFact, option: string, messages: readonly MessageFact[], value: string): Promise<string> => {
    const [name, found] = [value.replace(/^name:/, ""), new Map<string, Reference>()];
    const entries = list.output.fields.find(({ shape }) => shape === "list");
    for await (const page of client.pages(list, { pageSize: 200 }, { signal })) {
      for (const resource of objectList(page, entries?.json ?? "")) {
        const uid = text(resource, "organizationUid");
        if (text(resource, "organizationName") === name && resource.accepted !== true) found.set(uid, { uid, resource });
      }
    }
    const [only, ...others] = [...found.values()];
    if (only === undefined)
      throw new Fault("NOT_FOUND", `${label(option)}no organization ${JSON.stringify(name)} among your pending memberships: see gantry iam memberships list`);
    if (others.length > 0) throw await ambiguous(option, messages, value, [...found.values()]);
    return only.uid;
  };

  return {
    async resolve(option, messages, value, method) {
      if (value.startsWith("uid:")) return value.slice("uid:".length);
      // Without a list operation, the server validates the value.
      if (value === "" || isUid(value) || messages.every((message) => listerOf(message) === undefined)) return value;
      const answers = method && ownAnswersOf(method);
      if (answers) return findUnaccepted(answers, option, messages, value);
      const key = `${messages.map(({ name }) => name).join()} ${value}`;
      const held = known.get(key) ?? look(option, messages, value);
      known.set(key, held);
      return held;
    },
  };
};
