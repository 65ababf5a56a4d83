// Parses a manifest: its type, the blobs that it needs, and its subject (oci: 2, 3). The bytes are stored unchanged; unknown parts
// (media types of layers, annotations) are not checked. Pure.

import { hash } from "node:crypto";
import { isUtf8 } from "node:buffer";
import { findRepeatedKey } from "#base/json-keys.ts";
import { isObject, type Json, type JsonObject, text } from "#base/json.ts";
import type { NewManifest } from "#registry/store";
import { isDigest } from "./digest.ts";
import { manifestInvalid } from "./faults.ts";

const imageTypes: ReadonlySet<string> = new Set(["application/vnd.oci.image.manifest.v1+json", "application/vnd.docker.distribution.manifest.v2+json"]);
const indexTypes: ReadonlySet<string> = new Set(["application/vnd.oci.image.index.v1+json", "application/vnd.docker.distribution.manifest.list.v2+json"]);
const ociImage = "application/vnd.oci.image.manifest.v1+json";
const ociIndex = "application/vnd.oci.image.index.v1+json";
const configTypes: ReadonlySet<string> = new Set(["application/vnd.oci.image.config.v1+json", "application/vnd.docker.container.image.v1+json"]);

export interface Platform {
  readonly os: string;
  readonly architecture: string;
  readonly variant: string;
}

interface Descriptor {
  readonly mediaType: string;
  readonly digest: string;
  readonly sizeBytes: number;
  /** True if the bytes need not be stored: they have another URL, or may not be distributed. */
  readonly isElsewhere: boolean;
  readonly platform: Platform | undefined;
}

export interface ReadManifest {
  readonly manifest: Omit<NewManifest, "blobs" | "algorithm">;
  /** The blobs that must be stored, with their sizes. */
  readonly needed: readonly { readonly digest: string; readonly sizeBytes: number }[];
  /** Images only: the configuration, if it can have a platform. */
  readonly config: Descriptor | undefined;
  /** Images only: layers and configuration together. */
  readonly sizeBytes: number;
  /** Indexes only: the entries. */
  readonly listed: readonly Descriptor[];
}

const platformOf = (value: Json | undefined): Platform | undefined => {
  if (!isObject(value) || text(value, "architecture") === "") return undefined;
  return { os: text(value, "os"), architecture: text(value, "architecture"), variant: text(value, "variant") };
};

const readDescriptor = (value: Json | undefined, where: string): Descriptor => {
  if (!isObject(value)) throw manifestInvalid(`has no descriptor in ${where}`);
  const { size, digest, mediaType, urls } = value;
  if (typeof digest !== "string" || !isDigest(digest)) throw manifestInvalid(`has no digest that is known here in ${where}`);
  if (typeof mediaType !== "string" || mediaType === "") throw manifestInvalid(`has no mediaType in ${where}`);
  if (typeof size !== "number" || !Number.isSafeInteger(size) || size < 0) throw manifestInvalid(`has no size in ${where}`);
  const isForeign = /\.nondistributable\.|\.foreign\./.test(mediaType) || (Array.isArray(urls) && urls.length > 0);
  return { mediaType, digest, sizeBytes: size, isElsewhere: isForeign, platform: platformOf(value.platform) };
};

const descriptorsIn = (body: JsonObject, key: string): Descriptor[] => {
  const list = body[key];
  if (!Array.isArray(list)) throw manifestInvalid(`has no list ${key}`);
  return list.map((entry, index) => readDescriptor(entry, `${key}[${index}]`));
};

const parse = (bytes: Buffer): JsonObject => {
  if (!isUtf8(bytes)) throw manifestInvalid("is not UTF-8");
  const source = bytes.toString("utf8");
  let body: Json;
  try {
    body = JSON.parse(source) as Json;
  } catch {
    throw manifestInvalid("is not JSON");
  }
  if (!isObject(body)) throw manifestInvalid("is not a JSON object");
  // Otherwise two readers could see different manifests.
  const repeated = findRepeatedKey(source);
  if (repeated !== undefined) throw manifestInvalid(`gives the key ${JSON.stringify(repeated)} twice`);
  return body;
};

/** Returns the media type of the header, or else of the body (oci: 2). */
const mediaTypeOf = (body: JsonObject, header: string): string => {
  const said = header.split(";", 1)[0]?.trim() ?? "";
  const own = text(body, "mediaType");
  if (said !== "" && own !== "" && said !== own) throw manifestInvalid(`has mediaType ${own}, but Content-Type ${said}`);
  const type = said === "" ? own : said;
  if (type === "") return Array.isArray(body.manifests) ? ociIndex : ociImage;
  if (!imageTypes.has(type) && !indexTypes.has(type))
    throw manifestInvalid(`is of a media type that is not stored here: ${JSON.stringify(type.slice(0, 200))}`);
  return type;
};

const annotationsOf = (body: JsonObject): JsonObject | undefined => {
  const { annotations } = body;
  if (annotations === undefined || annotations === null) return undefined;
  if (!isObject(annotations) || Object.values(annotations).some((value) => typeof value !== "string"))
    throw manifestInvalid("has annotations that are not strings");
  return annotations;
};

/** Reads a manifest; throws MANIFEST_INVALID. */
export const readManifest = (bytes: Buffer, contentType: string): ReadManifest => {
  const body = parse(bytes);
  const mediaType = mediaTypeOf(body, contentType);
  if (body.schemaVersion !== 2) throw manifestInvalid("has no schemaVersion 2");
  const isIndex = indexTypes.has(mediaType);
  if (isIndex ? body.layers !== undefined || body.config !== undefined : body.manifests !== undefined)
    throw manifestInvalid("is an image and an index at once");
  const layers = isIndex ? [] : descriptorsIn(body, "layers");
  const listed = isIndex ? descriptorsIn(body, "manifests") : [];
  const config = isIndex ? undefined : readDescriptor(body.config, "config");
  const subject = body.subject === undefined || body.subject === null ? undefined : readDescriptor(body.subject, "subject");
  const artifactType = text(body, "artifactType") || (config?.mediaType ?? "");
  const needed = [...(config ? [config] : []), ...layers].filter(({ isElsewhere }) => !isElsewhere);
  return {
    manifest: {
      sha256: `sha256:${hash("sha256", bytes, "hex")}`,
      sha512: `sha512:${hash("sha512", bytes, "hex")}`,
      mediaType,
      content: bytes.toString("utf8"),
      sizeBytes: bytes.length,
      artifactType,
      subject: subject?.digest ?? "",
      annotations: annotationsOf(body),
      children: listed.map(({ digest }) => digest),
    },
    needed: needed.map(({ digest, sizeBytes }) => ({ digest, sizeBytes })),
    config: config && configTypes.has(config.mediaType) ? config : undefined,
    sizeBytes: [...(config ? [config] : []), ...layers].reduce((sum, { sizeBytes }) => sum + sizeBytes, 0),
    listed,
  };
};

export const readPlatform = (bytes: Buffer): Platform | undefined => {
  try {
    return platformOf(JSON.parse(bytes.toString("utf8")) as Json);
  } catch {
    return undefined;
  }
};
