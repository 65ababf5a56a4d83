// Rows of a table for resources without a name: events, deliveries and audit entries name subject and caller, deletions name what was
// deleted, and the others their group.

import { type JsonObject, text } from "#base/json.ts";
import { isUid, parentOf } from "#base/uid.ts";
import { messageByName, methodByName, methods } from "#contract/catalog.ts";
import type { MessageFact } from "#contract/facts.ts";
import { eventData, nameWithUid } from "../event-data.ts";
import { type Column, columnsOf } from "../output/columns.ts";
import type { FindPaths } from "../output/print.ts";
import { groupMessage } from "./references.ts";

export interface RecordRows {
  readonly columns: readonly Column[];
  readonly rows: (resources: readonly JsonObject[]) => Promise<JsonObject[]>;
}

const entryName = "gantry.audit.v1.AuditEntry";

interface Subject {
  readonly message: MessageFact | undefined;
  readonly name: string;
}

/** Returns the resource of the operation's service. */
const messageOfOperation = (operation: string): MessageFact | undefined => {
  const { service, output } = methodByName(operation) ?? {};
  return methods.find((each) => each.service === service && each.rpc === `Get${each.output.short}`)?.output ?? output;
};

const callerColumn = (): Column[] => {
  const entry = messageByName(entryName);
  return entry === undefined ? [] : columnsOf(entry, false).filter(({ path }) => path[0] === "callerUid");
};

const withSubjects = async (findPaths: FindPaths, resources: readonly JsonObject[], subjectOf: (resource: JsonObject) => Subject): Promise<JsonObject[]> => {
  const uids = new Map<MessageFact, Set<string>>();
  for (const resource of resources) {
    const { message } = subjectOf(resource);
    const uid = text(resource, "subject");
    if (message !== undefined && isUid(uid)) uids.set(message, (uids.get(message) ?? new Set()).add(uid));
  }
  const paths = new Map<string, string>();
  for (const [message, all] of uids)
    for (const [uid, path] of await findPaths(
      message,
      [...all].map((each) => ({ uid: each })),
    ))
      paths.set(uid, path);
  return resources.map((resource) => {
    const uid = text(resource, "subject");
    return { ...resource, subject: paths.get(uid) ?? nameWithUid(uid, subjectOf(resource).name) };
  });
};

/** Returns the message of the body of events of this type. */
const messageOfType = (type: string): MessageFact | undefined => methods.find(({ event }) => event?.type === type)?.output;

const eventRows = (message: MessageFact, findPaths: FindPaths): RecordRows => {
  const subjectOf = (resource: JsonObject): Subject => ({ message: messageByName(text(resource, "bodyType")), name: eventData(resource).name });
  const own = columnsOf(message, true).map((column) => ({ ...column, weight: column.path[0] === "uid" ? undefined : 5 }));
  const shown = (name: string): Column[] => own.filter(({ path }) => path[0] === name);
  return {
    columns: [...["position", "createTime", "type", "subject"].flatMap(shown), ...callerColumn(), ...shown("uid")],
    rows: async (resources) => {
      const named = await withSubjects(findPaths, resources, subjectOf);
      return named.map((resource, index) => ({ ...resource, callerUid: eventData(resources[index] ?? {}).caller }));
    },
  };
};

const deletionRows = (message: MessageFact, findPaths: FindPaths): RecordRows => ({
  columns: columnsOf(message, false).filter(({ path }) => path[0] !== "resourceUid"),
  rows: (resources) =>
    Promise.all(
      resources.map(async (resource) => {
        const [uid, name] = [text(resource, "resourceUid"), text(resource, "resourceName")];
        const deleted = messageByName(text(resource, "resourceType"));
        const paths = deleted && name !== "" ? await findPaths(deleted, [{ uid, name }]) : undefined;
        return { ...resource, resourceName: paths?.get(uid) ?? nameWithUid(uid, name) };
      }),
    ),
});

/** Adds the group to resources without a name. */
const rowsWithGroup = (message: MessageFact): RecordRows | undefined => {
  const parent = methods.find(({ rpc, output }) => output === message && rpc === `Create${message.short}`)?.input.byName.get("parent");
  if (parent?.refersTo !== groupMessage().name || ["name", "group"].some((name) => message.byName.has(name))) return undefined;
  const columns = columnsOf(message, false);
  return {
    columns: [...columns.slice(0, -1), { header: "GROUP", path: [parent.json], field: parent, weight: 5 }, ...columns.slice(-1)],
    rows: (resources) => Promise.resolve(resources.map((resource) => ({ ...resource, [parent.json]: parentOf(text(resource, "uid")) }))),
  };
};

/** Returns the rows of a table of resources without a name; undefined if the contract's columns are enough. */
export const recordRows = (message: MessageFact, findPaths: FindPaths): RecordRows | undefined => {
  const withSubject = (subjectOf: (resource: JsonObject) => Subject): RecordRows => ({
    columns: columnsOf(message, false),
    rows: (resources) => withSubjects(findPaths, resources, subjectOf),
  });
  switch (message.name) {
    case entryName:
      return withSubject((resource) => ({ message: messageOfOperation(text(resource, "operation")), name: "" }));
    case "gantry.events.v1.Delivery":
      return withSubject((resource) => ({ message: messageOfType(text(resource, "type")), name: "" }));
    case "gantry.events.v1.Event":
      return eventRows(message, findPaths);
    case "gantry.deletions.v1.Deletion":
      return deletionRows(message, findPaths);
    default:
      return rowsWithGroup(message);
  }
};
