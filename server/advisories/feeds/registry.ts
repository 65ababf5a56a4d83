// Imports repositories, tags and platform manifests from JSON files, one per repository:
//
//   {"repo": "nginx", "tags": [{"name": "1.27", "digest": "sha256:…", "updateTime": "…",
//     "manifests": [{"os": "linux", "architecture": "amd64", "variant": null, "digest": "sha256:…", "sizeBytes": 1, "created": "…"}]}]}
//
// One transaction per file. A second run writes nothing.

import { readFile, readdir, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import { Fault } from "#base/fault.ts";
import { isObject, type JsonObject, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { readTimestamp, timestamp } from "#base/time.ts";
import { runImport, type ImportCall, type Kernel } from "#kernel";
import { insertManifests, type ManifestFact } from "#registry/store";
import { lockNamed, type Write } from "#db";
import { DocumentError, FieldError, pathText } from "./invalid.ts";
import { matchImages } from "./match-images.ts";
import { jsonLineOf, readJson } from "./parse/json.ts";

interface ImportedCount {
  seen: number;
  made: number;
}

export interface RegistrySummary {
  readonly repos: ImportedCount;
  readonly tags: ImportedCount;
  readonly manifests: ImportedCount;
  /** "aerospike.json:12: tags[0].digest must match …" */
  readonly refused: readonly string[];
}

export interface RegistryImport {
  /** The parent group of the repositories. */
  readonly group: string;
  readonly sources: readonly string[];
  readonly progress: (progress: { readonly done: number; readonly total: number; readonly what: string }) => void;
}

const listFiles = async (source: string): Promise<string[]> => {
  const found = await stat(source).catch(() => undefined);
  if (!found) throw new Fault("INVALID_ARGUMENT", `file or directory not found: ${source}`);
  if (!found.isDirectory()) return [source];
  const names = await readdir(source);
  return names
    .filter((name) => name.endsWith(".json"))
    .sort()
    .map((name) => join(source, name));
};

const requireText = (object: JsonObject, key: string, path: readonly (string | number)[]): string => {
  const value = text(object, key);
  if (value === "") throw new FieldError([...path, key], "must be a text that is not empty");
  return value;
};

/** Returns milliseconds since 1970; undefined if missing. */
const readTime = (object: JsonObject, key: string, path: readonly (string | number)[]): number | undefined => {
  if (object[key] === null || object[key] === undefined) return undefined;
  const milliseconds = readTimestamp(requireText(object, key, path));
  if (milliseconds === undefined) throw new FieldError([...path, key], "must be a time such as 2026-01-31T08:00:00.000Z");
  return milliseconds;
};

const readObjects = (object: JsonObject, key: string, path: readonly (string | number)[]): JsonObject[] => {
  const value = object[key] ?? [];
  if (!Array.isArray(value)) throw new FieldError([...path, key], "must be a list");
  return value.map((entry, index) => {
    if (!isObject(entry)) throw new FieldError([...path, key, index], "must be an object");
    return entry;
  });
};

const digestForm = /^sha256:[0-9a-f]{64}$/;
/** OCI: "linux", "arm64", "v8". */
const platformForm = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

const readPlatform = (manifest: JsonObject, key: string, path: readonly (string | number)[]): string => {
  const name = requireText(manifest, key, path);
  if (!platformForm.test(name)) throw new FieldError([...path, key], "must be the name of a platform, such as linux or arm64");
  return name;
};

const manifestOf = (manifest: JsonObject, repo: string, indexDigest: string, path: readonly (string | number)[]): ManifestFact => {
  const digest = requireText(manifest, "digest", path);
  if (!digestForm.test(digest)) throw new FieldError([...path, "digest"], "must be sha256: and 64 hex characters");
  const size = manifest.sizeBytes;
  if (typeof size !== "number" || !Number.isSafeInteger(size) || size < 0) throw new FieldError([...path, "sizeBytes"], "must be a whole number of bytes");
  const created = readTime(manifest, "created", path);
  return {
    repo,
    indexDigest,
    digest,
    sizeBytes: size,
    createTime: created === undefined ? "" : timestamp(created),
    os: readPlatform(manifest, "os", path),
    architecture: readPlatform(manifest, "architecture", path),
    variant: manifest.variant === null || manifest.variant === undefined || manifest.variant === "" ? "" : readPlatform(manifest, "variant", path),
  };
};

/** Adds the file's path to the kernel's error. */
const withPath = async <T>(path: readonly (string | number)[], work: Promise<T>): Promise<T> => {
  try {
    return await work;
  } catch (thrown) {
    const fields = thrown instanceof Fault ? thrown.details.find((detail) => detail.kind === "fields") : undefined;
    const [first] = fields?.violations ?? [];
    if (!first) throw thrown;
    // The path contains the field's name.
    throw new FieldError([...path, first.field], first.description.replace(`${first.field} `, ""));
  }
};

interface FileCounts {
  repo: boolean;
  tags: ImportedCount;
  manifests: ImportedCount;
}

const importRepo = async (call: ImportCall, rows: Write, group: string, document: JsonObject, nowMs: number): Promise<FileCounts> => {
  const name = requireText(document, "repo", []);
  const tags = readObjects(document, "tags", []);
  const times = tags.map((tag, index) => readTime(tag, "updateTime", ["tags", index]));
  const known = await lockNamed(rows, { name: "repos", columns: ["uid"] }, group, name);
  // The oldest tag's time; missing times are now.
  const createdMs = times.reduce<number>((one, other) => Math.min(one, other ?? nowMs), nowMs);
  const create = (): Promise<JsonObject> =>
    withPath([], call("chainguard.platform.registry.v2.ReposService/CreateRepo", { parent: group, repo: { name } }, createdMs)).then(
      ({ reply }) => reply,
      (thrown: unknown) => {
        // The file calls the field "repo".
        throw thrown instanceof FieldError && thrown.path[0] === "name" ? new FieldError(["repo"], thrown.message) : thrown;
      },
    );
  const repo = known?.[0] ?? text(await create(), "uid");
  const counts: FileCounts = { repo: !known, tags: { seen: 0, made: 0 }, manifests: { seen: 0, made: 0 } };
  const facts: ManifestFact[] = [];
  for (const [index, tag] of tags.entries()) {
    const path = ["tags", index];
    const digest = text(tag, "digest");
    const body = { name: text(tag, "name"), digest };
    const made = await withPath(path, call("chainguard.platform.registry.v2.TagsService/CreateTag", { parent: repo, tag: body }, times[index] ?? nowMs));
    counts.tags.seen++;
    if (!made.unchanged) counts.tags.made++;
    for (const [at, manifest] of readObjects(tag, "manifests", path).entries()) facts.push(manifestOf(manifest, repo, digest, [...path, "manifests", at]));
  }
  counts.manifests.seen = facts.length;
  counts.manifests.made = await insertManifests(rows, facts);
  return counts;
};

const readRepoDocument = async (name: string, content: string): Promise<JsonObject> => {
  try {
    const document = await readJson(content);
    if (isObject(document)) return document;
  } catch (thrown) {
    if (!(thrown instanceof DocumentError)) throw thrown;
    throw new Fault("INVALID_ARGUMENT", `${name}:${thrown.line}: ${thrown.message}`);
  }
  throw new Fault("INVALID_ARGUMENT", `${name}:1: must be a JSON object with repo and tags`);
};

const readContent = async (name: string, path: string): Promise<string> => {
  try {
    if ((await stat(path)).size > limits.feedFileBytesMax) throw new Fault("INVALID_ARGUMENT", `${name}:1: is larger than ${limits.feedFileBytesMax} bytes`);
    // Removes the byte order mark of some editors.
    return (await readFile(path, "utf8")).replace(/^\uFEFF/, "");
  } catch (error) {
    if (error instanceof Fault) throw error;
    throw new Fault("INVALID_ARGUMENT", `${name}:1: cannot be read: ${error instanceof Error ? error.message : String(error)}`);
  }
};

const importFile = async (kernel: Kernel, group: string, path: string): Promise<FileCounts> => {
  const name = basename(path);
  const content = await readContent(name, path);
  const document = await readRepoDocument(name, content);
  const importOnce = (): Promise<FileCounts> =>
    runImport(kernel, `import ${name}`, (call, rows) => importRepo(call, rows, group, document, kernel.services.clock()));
  try {
    // A concurrent import created the repository.
    return await importOnce().catch((thrown: unknown) => {
      if (thrown instanceof Fault && thrown.code === "ALREADY_EXISTS") return importOnce();
      throw thrown;
    });
  } catch (thrown) {
    if (thrown instanceof FieldError)
      throw new Fault("INVALID_ARGUMENT", `${name}:${await jsonLineOf(content, thrown.path)}: ${pathText(thrown.path)} ${thrown.message}`);
    if (thrown instanceof Fault && thrown.code !== "INTERNAL" && thrown.code !== "UNAVAILABLE")
      throw new Fault("INVALID_ARGUMENT", `${name}:1: ${thrown.message}`);
    throw thrown;
  }
};

/** A refused file is skipped, and the import continues. */
export const importRegistry = async (kernel: Kernel, { group, sources, progress }: RegistryImport): Promise<RegistrySummary> => {
  const files = (await Promise.all(sources.map(listFiles))).flat();
  const summary = { repos: { seen: 0, made: 0 }, tags: { seen: 0, made: 0 }, manifests: { seen: 0, made: 0 } };
  const refused: string[] = [];
  for (const [done, file] of files.entries()) {
    progress({ done, total: files.length, what: basename(file) });
    try {
      const counts = await importFile(kernel, group, file);
      summary.repos.seen++;
      if (counts.repo) summary.repos.made++;
      for (const kind of ["tags", "manifests"] as const) {
        summary[kind].seen += counts[kind].seen;
        summary[kind].made += counts[kind].made;
      }
    } catch (thrown) {
      if (!(thrown instanceof Fault) || thrown.code !== "INVALID_ARGUMENT") throw thrown;
      refused.push(thrown.message);
    }
  }
  progress({ done: files.length, total: files.length, what: "" });
  // Needs the digests of the new tags.
  await matchImages(kernel.services, { operation: "gantry import registry", requestId: crypto.randomUUID() });
  return { ...summary, refused };
};
