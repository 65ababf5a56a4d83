// OCI image layouts (image-spec, image-layout): a directory of blobs by digest, and an index.

import { createHash } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { mkdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { Fault } from "#base/fault.ts";
import { isObject, type Json, type JsonObject, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";

export const tagAnnotation = "org.opencontainers.image.ref.name";

const digestForm = /^(?:sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128})$/;

export const isLayoutDigest = (value: string): boolean => digestForm.test(value);

export interface Descriptor {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
  readonly annotations: JsonObject | undefined;
  /** The content may be elsewhere. */
  readonly isForeign: boolean;
}

const descriptorOf = (value: Json | undefined): Descriptor | undefined => {
  if (!isObject(value) || !isLayoutDigest(text(value, "digest")) || typeof value.size !== "number") return undefined;
  const { annotations, urls } = value;
  return {
    mediaType: text(value, "mediaType"),
    digest: text(value, "digest"),
    size: value.size,
    annotations: isObject(annotations) ? annotations : undefined,
    isForeign: (Array.isArray(urls) && urls.length > 0) || /nondistributable|\.foreign\./.test(text(value, "mediaType")),
  };
};

/** References of a manifest. */
export interface ManifestParts {
  readonly mediaType: string;
  readonly children: readonly Descriptor[];
  readonly blobs: readonly Descriptor[];
}

const descriptorsOf = (value: Json | undefined): Descriptor[] => (Array.isArray(value) ? value : []).flatMap((each) => descriptorOf(each) ?? []);

const readLayoutJson = (content: string): JsonObject | undefined => {
  try {
    const parsed: Json = JSON.parse(content);
    return isObject(parsed) ? parsed : undefined;
  } catch {
    return undefined;
  }
};

/** Returns undefined for anything but a manifest or index. */
export const partsOf = (content: string): ManifestParts | undefined => {
  const parsed = readLayoutJson(content);
  if (!parsed || !(Array.isArray(parsed.manifests) || Array.isArray(parsed.layers) || isObject(parsed.config))) return undefined;
  return {
    mediaType: text(parsed, "mediaType"),
    children: descriptorsOf(parsed.manifests),
    blobs: [...descriptorsOf([parsed.config ?? null]), ...descriptorsOf(parsed.layers)],
  };
};

const blobPath = (folder: string, digest: string): string => {
  if (!isLayoutDigest(digest)) throw new Error(`${digest} is not a digest`);
  return join(folder, "blobs", ...digest.split(":"));
};

/** Returns the entries of index.json. Throws a one-line Fault if the directory is no layout. */
export const readLayout = async (folder: string): Promise<readonly Descriptor[]> => {
  const version = readLayoutJson(await readFile(join(folder, "oci-layout"), "utf8").catch(() => ""));
  if (!version || !text(version, "imageLayoutVersion").startsWith("1."))
    throw new Fault("INVALID_ARGUMENT", `${folder} is not an OCI layout: oci-layout version 1 is missing`);
  const index = readLayoutJson(await readFile(join(folder, "index.json"), "utf8").catch(() => ""));
  if (!index || !Array.isArray(index.manifests)) throw new Fault("INVALID_ARGUMENT", `${folder} is not an OCI layout: index.json with manifests is missing`);
  return descriptorsOf(index.manifests);
};

/** Returns a manifest's bytes; undefined if they are missing, too large, or do not match the digest. */
export const readLayoutManifest = async (folder: string, digest: string): Promise<Buffer | undefined> => {
  const path = blobPath(folder, digest);
  const found = await stat(path).catch(() => undefined);
  if (!found?.isFile() || found.size > limits.manifestBytesMax) return undefined;
  const content = await readFile(path);
  const [algorithm = "", hex] = digest.split(":");
  return createHash(algorithm).update(content).digest("hex") === hex ? content : undefined;
};

/** Returns the size of a blob's file; undefined if missing. */
export const layoutBlobSize = async (folder: string, digest: string): Promise<number | undefined> => {
  const found = await stat(blobPath(folder, digest)).catch(() => undefined);
  return found?.isFile() ? found.size : undefined;
};

export const readLayoutBlob = (folder: string, digest: string): AsyncIterable<Uint8Array> => createReadStream(blobPath(folder, digest));

/** Writes a blob's file unless it exists. Throws, leaving nothing, if the content does not match the digest. */
export const writeLayoutBlob = async (
  folder: string,
  digest: string,
  content: string | AsyncIterable<Uint8Array>,
  onBytes: (count: number) => void,
): Promise<void> => {
  const path = blobPath(folder, digest);
  await mkdir(dirname(path), { recursive: true });
  const [algorithm = "", hex] = digest.split(":");
  const hash = createHash(algorithm);
  const passing = async function* (): AsyncGenerator<Uint8Array> {
    for await (const piece of typeof content === "string" ? [Buffer.from(content)] : content) {
      hash.update(piece);
      onBytes(piece.byteLength);
      // Copied, because streams request more before writing it.
      yield Uint8Array.from(piece);
    }
  };
  const unfinished = `${path}.unfinished`;
  try {
    await pipeline(passing, createWriteStream(unfinished));
    if (hash.digest("hex") !== hex) throw new Fault("DATA_LOSS", `the content of ${digest} does not match the digest`);
    await rename(unfinished, path);
  } catch (thrown) {
    await rm(unfinished, { force: true });
    throw thrown;
  }
};

/** Writes the index of a layout with these manifests. */
export const writeLayout = async (folder: string, manifests: readonly JsonObject[]): Promise<void> => {
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, "oci-layout"), '{"imageLayoutVersion":"1.0.0"}');
  const index = { schemaVersion: 2, mediaType: "application/vnd.oci.image.index.v1+json", manifests: [...manifests] };
  await writeFile(join(folder, "index.json"), `${JSON.stringify(index, undefined, 2)}\n`);
};
