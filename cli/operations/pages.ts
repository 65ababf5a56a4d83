// Pages of the server's site: the reference of a command's words, and the page of a resource.

import { Fault } from "#base/fault.ts";
import { isUid } from "#base/uid.ts";
import { ApiError, type Client } from "#contract-client";
import { messageByName, methodByName } from "#contract/catalog.ts";
import type { MessageFact, MethodFact } from "#contract/facts.ts";
import { commands } from "#contract/gen/commands.ts";
import { documentOf, operationIdOf, tagOf } from "#contract/openapi/names.ts";
import { exitStatus, exitStatusOf } from "../exit-status.ts";
import { isWordOf } from "./branch.ts";
import { openPaths } from "./paths.ts";
import { nounOf, openNames, separatorOf } from "./references.ts";
import { readerOf } from "./shape.ts";

const operationPath = (method: MethodFact): string => `/docs/reference/${documentOf(method)}/${operationIdOf(method, 0)}`;

/** Returns the page of a domain ("iam"), a resource ("iam groups") or an operation ("iam groups create"); undefined for other words. */
export const pageOfWords = ([domain = "", ...words]: readonly string[]): string | undefined => {
  const typed = words.join(" ");
  const rows = commands.filter(([own]) => own === domain);
  const exact = rows.find(([, resource, verb]) => typed !== "" && `${resource} ${verb}`.trim() === typed);
  const isNamed = (resource: string): boolean => resource.split(" ").every((word, index) => isWordOf(word, words[index]));
  const row =
    exact ??
    rows.find(([, resource, verb]) => resource !== "" && isNamed(resource) && words.slice(resource.split(" ").length).join(" ") === verb) ??
    rows.find(([, resource]) => resource !== "" && isNamed(resource) && resource.split(" ").length === words.length) ??
    (typed === "" ? rows[0] : undefined);
  const method = row && methodByName(row[3]);
  if (row === undefined || method === undefined) return undefined;
  const [, resource, verb] = row;
  if (typed === "") return `/docs/reference/${documentOf(method)}`;
  return words.length > resource.split(" ").length || resource === "" || words.at(-1) === verb
    ? operationPath(method)
    : `/docs/reference/${documentOf(method)}#${tagOf(method)}`;
};

/** Messages that a path of names can mean, in this order. */
const named: readonly string[] = [
  "chainguard.platform.iam.v2.Group",
  "chainguard.platform.registry.v2.Repo",
  "chainguard.platform.registry.v2.Tag",
  "chainguard.platform.iam.v2.Identity",
  "chainguard.platform.iam.v2.Role",
  "chainguard.platform.iam.v2.IdentityProvider",
];

interface FoundResource {
  readonly message: MessageFact;
  readonly reader: MethodFact;
  readonly uid: string;
}

/** A resource that the caller may not see is absent. */
const isAbsent = (thrown: unknown): boolean => {
  const status = exitStatusOf(thrown);
  return status === exitStatus.notFound || (thrown instanceof ApiError && status === exitStatus.denied);
};

/** Returns the page that gets the resource, with its uid. Throws NOT_FOUND without a match, INVALID_ARGUMENT for several. */
export const pageOfResource = async (client: Client, value: string): Promise<string> => {
  const names = openNames(client, openPaths(client));
  const found: FoundResource[] = [];
  for (const message of named.flatMap((name) => messageByName(name) ?? [])) {
    const reader = readerOf(message);
    if (reader === undefined || (value.includes(":") && separatorOf(message) !== ":")) continue;
    try {
      const uid = await names.resolve("", [message], value);
      if (isUid(value)) await client.call(reader, { uid });
      found.push({ message, reader, uid });
    } catch (thrown) {
      if (!isAbsent(thrown)) throw thrown;
    }
    // A uid has one kind.
    if (isUid(value) && found.length > 0) break;
  }
  const [only, ...others] = found;
  if (only === undefined)
    throw new Fault("NOT_FOUND", `resource ${JSON.stringify(value)} not found. Give its uid, its path of names, or the words of a command`);
  if (others.length > 0) {
    const lines = found.map(({ message, uid }) => `\n  ${uid}  ${nounOf(message)}`);
    throw new Fault("INVALID_ARGUMENT", `resource ${JSON.stringify(value)} is ambiguous: ${found.length} have this name. Use a uid:${lines.join("")}`);
  }
  return `${operationPath(only.reader)}?uid=${encodeURIComponent(only.uid)}`;
};
