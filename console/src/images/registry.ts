// Layers and referrers of an image, by the registry protocol: no operation of the API has them.

import { ApiError } from "../../../client/package.ts";
import { isObject, type Json, type JsonObject, objectList, part, text } from "../../../base/json.ts";
import type { Question } from "../api.ts";
import { tokenSource } from "../session.ts";
import { texts } from "../texts/images.ts";

const imageTypes = [
  "application/vnd.oci.image.manifest.v1+json",
  "application/vnd.docker.distribution.manifest.v2+json",
  "application/vnd.oci.image.index.v1+json",
  "application/vnd.docker.distribution.manifest.list.v2+json",
];

/** Above this size, a configuration is not read. */
const configBytesMax = 1_000_000;

const read = async (path: string, signal: AbortSignal): Promise<JsonObject> => {
  const token = await tokenSource({ signal });
  const headers = { authorization: `Bearer ${token}`, accept: [...imageTypes, "*/*"].join(", ") };
  // The policy permits no request to other servers, such as a blob storage.
  const response = await fetch(`${location.origin}/v2/${path}`, { headers, signal, redirect: "error" });
  if (!response.ok) {
    const code = response.status === 403 ? "PERMISSION_DENIED" : response.status === 404 ? "NOT_FOUND" : "UNAVAILABLE";
    throw new ApiError(code, texts.registryRefused(response.status), { httpStatus: response.status });
  }
  const json: Json = await response.json();
  if (!isObject(json)) throw new Error(texts.unreadable);
  return json;
};

const sizeIn = (descriptor: JsonObject): number => (typeof descriptor.size === "number" ? descriptor.size : 0);

export interface Layer {
  readonly uid: string;
  readonly digest: string;
  readonly sizeBytes: number;
  readonly mediaType: string;
  /** The command that made it; "" if the configuration does not say. */
  readonly command: string;
}

export interface Layers {
  readonly layers: readonly Layer[];
  /** False: the commands are missing, because the configuration could not be read. */
  readonly hasCommands: boolean;
}

/** Commands of the layers in their order. Entries of the history without a layer are left out. */
const commandsIn = (config: JsonObject): string[] =>
  objectList(config, "history")
    .filter((entry) => entry.empty_layer !== true)
    .map((entry) => text(entry, "created_by") || text(entry, "comment"));

const readCommands = async (repoUid: string, config: JsonObject, signal: AbortSignal): Promise<string[] | undefined> => {
  if (sizeIn(config) > configBytesMax) return undefined;
  try {
    return commandsIn(await read(`${repoUid}/blobs/${text(config, "digest")}`, signal));
  } catch (thrown) {
    if (signal.aborted) throw thrown;
    return undefined;
  }
};

/** The layers of one platform, the lowest first. Reading a manifest counts as a pull. */
export const layersOf = (repoUid: string, digest: string): Question<Layers> => ({
  name: "registry layers",
  request: { repoUid, digest },
  freshMs: Number.POSITIVE_INFINITY,
  send: async (_, signal) => {
    const manifest = await read(`${repoUid}/manifests/${digest}`, signal);
    const commands = await readCommands(repoUid, part(manifest, "config"), signal);
    const layers = objectList(manifest, "layers").map((layer, index) => ({
      uid: String(index),
      digest: text(layer, "digest"),
      sizeBytes: sizeIn(layer),
      mediaType: text(layer, "mediaType"),
      command: commands?.[index] ?? "",
    }));
    return { layers, hasCommands: commands !== undefined };
  },
});

export type ReferrerKind = "signature" | "attestation" | "sbom" | "other";

export interface Referrer {
  readonly uid: string;
  readonly digest: string;
  readonly type: string;
  readonly kind: ReferrerKind;
  readonly sizeBytes: number;
  /** When it was made, as it says. */
  readonly createTime: string;
}

const kindOf = (type: string): ReferrerKind => {
  if (/sbom|spdx|cyclonedx/i.test(type)) return "sbom";
  if (/in-toto|attestation|dsse|provenance/i.test(type)) return "attestation";
  return /sigstore|cosign|signature|notary/i.test(type) ? "signature" : "other";
};

export const referrersOf = (repoUid: string, digest: string): Question<readonly Referrer[]> => ({
  name: "registry referrers",
  request: { repoUid, digest },
  send: async (_, signal) =>
    objectList(await read(`${repoUid}/referrers/${digest}`, signal), "manifests").map((each) => {
      const type = text(each, "artifactType") || text(each, "mediaType");
      const createTime = text(part(each, "annotations"), "org.opencontainers.image.created");
      return { uid: text(each, "digest"), digest: text(each, "digest"), type, kind: kindOf(type), sizeBytes: sizeIn(each), createTime };
    }),
});
