// Parses queries of OSV's API, with the refusals and messages of osv.dev. Pure.

import { Fault } from "#base/fault.ts";
import { isObject, type Json, type JsonObject } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { readPurlParts, versionOf } from "../formats/purl.ts";
import { isEcosystem, nameKey, packagesOfPurl, type PurlPackage } from "./ecosystems.ts";

export interface Question {
  /** Itself and its source package. Empty if OSV does not have its type. */
  readonly packages: readonly QuestionPackage[];
  /** Only IDs after this one. */
  readonly after: string;
}

export interface QuestionPackage extends PurlPackage {
  /** "" for all versions. */
  readonly version: string;
}

const refuse = (message: string): never => {
  throw new Fault("INVALID_ARGUMENT", message);
};

const textAt = (value: JsonObject, ...names: readonly string[]): string => {
  for (const name of names) {
    const found = value[name];
    if (found === undefined || found === null) continue;
    if (typeof found !== "string") return refuse(`Invalid query: ${name} must be a text.`);
    if (!found.isWellFormed() || found.includes("\0")) return refuse(`Invalid query: ${name} must be a string.`);
    return found;
  }
  return "";
};

// Not signed: a forged token does no harm.
export const writeToken = (after: string): string => Buffer.from(`1 ${after}`).toString("base64url");

const readToken = (token: string): string => {
  if (token === "") return "";
  const read = Buffer.from(token, "base64url").toString("utf8");
  if (!read.startsWith("1 ") || read.includes("\0") || read.length > limits.feedIdLengthMax + 2 || writeToken(read.slice(2)) !== token)
    return refuse("Invalid page token.");
  return read.slice(2);
};

const ofPurl = (url: string, version: string, after: string): Question => {
  const purl = readPurlParts(url);
  if (!purl) return refuse("Invalid Package URL.");
  if (purl.version !== "" && version !== "") return refuse("version specified in params and purl query");
  const given = { ...purl, version: purl.version === "" ? version : purl.version };
  return { packages: packagesOfPurl(given).map((each) => ({ ...each, version: each.version ?? versionOf(given) })), after };
};

/** Throws INVALID_ARGUMENT. */
export const readQuestion = (query: Json | undefined): Question => {
  if (!isObject(query)) return refuse("Invalid query: a query is an object.");
  const after = readToken(textAt(query, "page_token", "pageToken"));
  const commit = textAt(query, "commit");
  const version = textAt(query, "version");
  const asked: Json = query.package ?? {};
  if (!isObject(asked)) return refuse("Invalid query: package must be an object.");
  const [name, ecosystem, purl] = [textAt(asked, "name"), textAt(asked, "ecosystem"), textAt(asked, "purl")];
  if (commit !== "") {
    if (!/^[0-9a-f]+$/i.test(commit)) return refuse("Invalid hash.");
    return { packages: [{ ecosystem: "GIT", name: commit.toLowerCase(), distribution: undefined, version: "" }], after };
  }
  if (query.package === undefined) return refuse("Invalid query.");
  if (purl !== "") return name === "" && ecosystem === "" ? ofPurl(purl, version, after) : refuse("name or ecosystem specified in params and purl query");
  if (ecosystem !== "" && !isEcosystem(ecosystem)) return refuse("Invalid ecosystem.");
  if (name === "") return refuse("Invalid query: no name.");
  if (ecosystem === "" && version === "") return refuse("Ecosystem not specified.");
  return { packages: [{ ecosystem, name: ecosystem === "" ? name : nameKey(ecosystem, name), distribution: undefined, version }], after };
};

const readBodyObject = (body: string): JsonObject => {
  let read: Json;
  try {
    read = JSON.parse(body) as Json;
  } catch {
    return refuse("The body must be JSON.");
  }
  return isObject(read) ? read : refuse("The body must be a JSON object.");
};

export const readQuery = (body: string): Question => readQuestion(readBodyObject(body));

/** Throws INVALID_ARGUMENT with the index of the query. */
export const readBatch = (body: string): Question[] => readQuestions(readBodyObject(body));

export const readQuestions = ({ queries }: JsonObject): Question[] => {
  if (!Array.isArray(queries)) return refuse("Invalid batch: queries must be a list.");
  if (queries.length > limits.osvQueriesMax) return refuse("Too many queries.");
  return queries.map((query, index) => {
    try {
      return readQuestion(query);
    } catch (thrown) {
      throw thrown instanceof Fault ? new Fault("INVALID_ARGUMENT", `Query at index ${index}: ${thrown.message}`) : thrown;
    }
  });
};
