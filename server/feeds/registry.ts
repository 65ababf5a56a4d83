// Repos, tags and platform manifests from a folder of JSON files, one per repo:
//
//   {"repo": "nginx", "tags": [{"name": "1.27", "digest": "sha256:…", "updateTime": "…",
//     "manifests": [{"os": "linux", "architecture": "amd64", "variant": null, "digest": "sha256:…", "sizeBytes": 1, "created": "…"}]}]}
//
// One transaction a file: a file is there whole or not at all, and a second run writes nothing.

import { readFile, readdir, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import { Fault } from "#base/fault.ts";
import { isObject, type Json, type JsonObject, text } from "#base/json.ts";
import { brokenLine, lineOf } from "#base/json-line.ts";
import { limits } from "#base/limits.ts";
import { timestamp } from "#base/time.ts";
import { importing, type ImportCall, type Kernel } from "#kernel";
import { insertManifests, lockNamed, type ManifestFact, type Write } from "#store";
import { Refused, shown } from "./refused.ts";

interface Tally {
  seen: number;
  made: number;
}

export interface RegistrySummary {
  readonly repos: Tally;
  readonly tags: Tally;
  readonly manifests: Tally;
  /** "aerospike.json:12: tags[0].digest must match …" */
  readonly refused: readonly string[];
}

export interface RegistryImport {
  /** The group that the repos go into. */
  readonly group: string;
  /** Folders and files. */
  readonly sources: readonly string[];
  readonly progress: (progress: { readonly done: number; readonly total: number; readonly what: string }) => void;
}

const filesOf = async (source: string): Promise<string[]> => {
  const found = await stat(source).catch(() => undefined);
  if (!found) throw new Fault("INVALID_ARGUMENT", `there is no file or folder ${source}`);
  if (!found.isDirectory()) return [source];
  const names = await readdir(source);
  return names
    .filter((name) => name.endsWith(".json"))
    .sort()
    .map((name) => join(source, name));
};

const need = (object: JsonObject, key: string, path: readonly (string | number)[]): string => {
  const value = text(object, key);
  if (value === "") throw new Refused([...path, key], "must be a text that is not empty");
  return value;
};

// Date.parse takes much that is no time ("may 1"), and years that neither RFC 3339 nor the store can say.
const timeForm = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:Z|[+-]\d{2}:\d{2})$/;
const firstTime = Date.parse("0001-01-01T00:00:00Z");
const lastTime = Date.parse("9999-12-31T23:59:59.999Z");

/** Milliseconds since 1970; undefined where the source does not say. */
const timeOf = (object: JsonObject, key: string, path: readonly (string | number)[]): number | undefined => {
  if (object[key] === null || object[key] === undefined) return undefined;
  const given = need(object, key, path);
  const value = timeForm.test(given) ? Date.parse(given) : Number.NaN;
  if (!(value >= firstTime && value <= lastTime)) throw new Refused([...path, key], "must be a time such as 2026-01-31T08:00:00.000Z");
  return value;
};

const listOf = (object: JsonObject, key: string, path: readonly (string | number)[]): JsonObject[] => {
  const value = object[key] ?? [];
  if (!Array.isArray(value)) throw new Refused([...path, key], "must be a list");
  return value.map((entry, index) => {
    if (!isObject(entry)) throw new Refused([...path, key, index], "must be an object");
    return entry;
  });
};

const digestForm = /^sha256:[0-9a-f]{64}$/;
/** Names of platforms as OCI has them: "linux", "arm64", "v8". */
const platformForm = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

const platform = (manifest: JsonObject, key: string, path: readonly (string | number)[]): string => {
  const name = need(manifest, key, path);
  if (!platformForm.test(name)) throw new Refused([...path, key], "must be the name of a platform, such as linux or arm64");
  return name;
};

const manifestOf = (manifest: JsonObject, repo: string, indexDigest: string, path: readonly (string | number)[]): ManifestFact => {
  const digest = need(manifest, "digest", path);
  if (!digestForm.test(digest)) throw new Refused([...path, "digest"], "must be sha256: and 64 hex characters");
  const size = manifest.sizeBytes;
  if (typeof size !== "number" || !Number.isSafeInteger(size) || size < 0) throw new Refused([...path, "sizeBytes"], "must be a whole number of bytes");
  const created = timeOf(manifest, "created", path);
  return {
    repo,
    indexDigest,
    digest,
    sizeBytes: size,
    createTime: created === undefined ? "" : timestamp(created),
    os: platform(manifest, "os", path),
    architecture: platform(manifest, "architecture", path),
    variant: manifest.variant === null || manifest.variant === undefined || manifest.variant === "" ? "" : platform(manifest, "variant", path),
  };
};

/** The kernel's refusal of one value, at its place in the file. */
const located = async <T>(path: readonly (string | number)[], work: Promise<T>): Promise<T> => {
  try {
    return await work;
  } catch (thrown) {
    const fields = thrown instanceof Fault ? thrown.details.find((detail) => detail.kind === "fields") : undefined;
    const [first] = fields?.violations ?? [];
    if (!first) throw thrown;
    // "digest must match …": the place says the name already.
    throw new Refused([...path, first.field], first.description.replace(`${first.field} `, ""));
  }
};

interface FileTally {
  repo: boolean;
  tags: Tally;
  manifests: Tally;
}

const importRepo = async (call: ImportCall, rows: Write, group: string, document: JsonObject, nowMs: number): Promise<FileTally> => {
  const name = need(document, "repo", []);
  const tags = listOf(document, "tags", []);
  const times = tags.map((tag, index) => timeOf(tag, "updateTime", ["tags", index]));
  const known = await lockNamed(rows, { name: "repos", columns: ["uid"] }, group, name);
  // Where the source gives no time it is now; a repo is as old as its oldest tag.
  const born = times.reduce<number>((one, other) => Math.min(one, other ?? nowMs), nowMs);
  const create = (): Promise<JsonObject> =>
    located([], call("chainguard.platform.registry.v2.ReposService/CreateRepo", { parent: group, repo: { name } }, born)).then(
      ({ reply }) => reply,
      (thrown: unknown) => {
        // The field is called "repo" in the file.
        throw thrown instanceof Refused && thrown.path[0] === "name" ? new Refused(["repo"], thrown.message) : thrown;
      },
    );
  const repo = known?.[0] ?? text(await create(), "uid");
  const tally: FileTally = { repo: !known, tags: { seen: 0, made: 0 }, manifests: { seen: 0, made: 0 } };
  const facts: ManifestFact[] = [];
  for (const [index, tag] of tags.entries()) {
    const path = ["tags", index];
    const digest = text(tag, "digest");
    const body = { name: text(tag, "name"), digest };
    const made = await located(path, call("chainguard.platform.registry.v2.TagsService/CreateTag", { parent: repo, tag: body }, times[index] ?? nowMs));
    tally.tags.seen++;
    if (!made.unchanged) tally.tags.made++;
    for (const [at, manifest] of listOf(tag, "manifests", path).entries()) facts.push(manifestOf(manifest, repo, digest, [...path, "manifests", at]));
  }
  tally.manifests.seen = facts.length;
  tally.manifests.made = await insertManifests(rows, facts);
  return tally;
};

const parse = (name: string, content: string): JsonObject => {
  let parsed: Json;
  try {
    parsed = JSON.parse(content) as Json;
  } catch (error) {
    // Node quotes what stands around the mistake, line ends and all.
    const message = (error instanceof Error ? error.message : String(error)).replace(/\s+/g, " ");
    throw new Fault("INVALID_ARGUMENT", `${name}:${brokenLine(content)}: not valid JSON: ${message}`);
  }
  if (!isObject(parsed)) throw new Fault("INVALID_ARGUMENT", `${name}:1: must be a JSON object with repo and tags`);
  return parsed;
};

const contentOf = async (name: string, path: string): Promise<string> => {
  try {
    if ((await stat(path)).size > limits.feedFileBytesMax) throw new Fault("INVALID_ARGUMENT", `${name}:1: is larger than ${limits.feedFileBytesMax} bytes`);
    // The byte order mark that some editors leave is no part of the text.
    return (await readFile(path, "utf8")).replace(/^\uFEFF/, "");
  } catch (error) {
    if (error instanceof Fault) throw error;
    throw new Fault("INVALID_ARGUMENT", `${name}:1: cannot be read: ${error instanceof Error ? error.message : String(error)}`);
  }
};

const importFile = async (kernel: Kernel, group: string, path: string): Promise<FileTally> => {
  const name = basename(path);
  const content = await contentOf(name, path);
  const document = parse(name, content);
  const once = (): Promise<FileTally> => importing(kernel, `import ${name}`, (call, rows) => importRepo(call, rows, group, document, kernel.services.clock()));
  try {
    // Another import made the repo at the same moment: it is there now.
    return await once().catch((thrown: unknown) => {
      if (thrown instanceof Fault && thrown.code === "ALREADY_EXISTS") return once();
      throw thrown;
    });
  } catch (thrown) {
    if (thrown instanceof Refused) throw new Fault("INVALID_ARGUMENT", `${name}:${lineOf(content, thrown.path)}: ${shown(thrown.path)} ${thrown.message}`);
    if (thrown instanceof Fault && thrown.code !== "INTERNAL" && thrown.code !== "UNAVAILABLE")
      throw new Fault("INVALID_ARGUMENT", `${name}:1: ${thrown.message}`);
    throw thrown;
  }
};

/** Imports every file; one that is refused leaves nothing behind and the rest goes on. */
export const importRegistry = async (kernel: Kernel, { group, sources, progress }: RegistryImport): Promise<RegistrySummary> => {
  const files = (await Promise.all(sources.map(filesOf))).flat();
  const summary = { repos: { seen: 0, made: 0 }, tags: { seen: 0, made: 0 }, manifests: { seen: 0, made: 0 } };
  const refused: string[] = [];
  for (const [done, file] of files.entries()) {
    progress({ done, total: files.length, what: basename(file) });
    try {
      const tally = await importFile(kernel, group, file);
      summary.repos.seen++;
      if (tally.repo) summary.repos.made++;
      for (const kind of ["tags", "manifests"] as const) {
        summary[kind].seen += tally[kind].seen;
        summary[kind].made += tally[kind].made;
      }
    } catch (thrown) {
      if (!(thrown instanceof Fault) || thrown.code !== "INVALID_ARGUMENT") throw thrown;
      refused.push(thrown.message);
    }
  }
  progress({ done: files.length, total: files.length, what: "" });
  return { ...summary, refused };
};
