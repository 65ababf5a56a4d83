// A registry client for tests that sends the steps of the OCI Distribution protocol.

import { type Json, type JsonObject, text } from "#base/json.ts";
import { digestOf } from "./distribution.ts";

export const imageType = "application/vnd.oci.image.manifest.v1+json";
export const indexType = "application/vnd.oci.image.index.v1+json";
export const configType = "application/vnd.oci.image.config.v1+json";
export const layerType = "application/vnd.oci.image.layer.v1.tar";
export const emptyType = "application/vnd.oci.empty.v1+json";

export interface RegistryRequest {
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array | ReadableStream | undefined;
  /** Replaces the client's own; "" for none. */
  readonly authorization?: string;
}

export interface RegistryClient {
  send(verb: string, path: string, request?: RegistryRequest): Promise<Response>;
  /** Pushes a blob in one request and returns its digest. Throws on failure. */
  pushBlob(repo: string, bytes: string | Uint8Array, algorithm?: "sha256" | "sha512"): Promise<string>;
  /** Pushes a manifest by tag or digest and returns its sha256. Throws on failure. */
  pushManifest(repo: string, reference: string | undefined, manifest: JsonObject): Promise<string>;
  /** Pushes an image with one layer and returns the manifest's digest. */
  pushImage(repo: string, reference: string | undefined, image?: ImageSample): Promise<string>;
}

export interface ImageSample {
  readonly architecture?: string;
  readonly layer?: string;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly subject?: { readonly digest: string; readonly size: number };
}

export const bodyBytes = (body: string | Uint8Array): Uint8Array => (typeof body === "string" ? Buffer.from(body) : body);

export const descriptor = (mediaType: string, bytes: string | Uint8Array): { mediaType: string; digest: string; size: number } => ({
  mediaType,
  digest: digestOf(bytes),
  size: bodyBytes(bytes).length,
});

export const basic = (user: string, password: string): string => `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}`;

export const errorsIn = async (response: Response): Promise<string[]> => {
  const body = (await response.json()) as { errors: { code: string }[] };
  return body.errors.map(({ code }) => code);
};

export const openRegistry = (url: string, authorization: string): RegistryClient => {
  const send: RegistryClient["send"] = (verb, path, { headers = {}, body, authorization: own = authorization } = {}) =>
    fetch(path.startsWith("http") ? path : `${url}${path.startsWith("/v2") ? path : `/v2/${path}`}`, {
      method: verb,
      headers: { ...(own === "" ? {} : { authorization: own }), ...headers },
      redirect: "manual",
      ...(body === undefined ? {} : { body: body instanceof Uint8Array ? new Uint8Array(body) : body, duplex: "half" }),
    } as RequestInit);
  const must = async (response: Response, status: number): Promise<Response> => {
    if (response.status !== status) throw new Error(`${response.status} ${await response.text()}`);
    return response;
  };
  const pushBlob: RegistryClient["pushBlob"] = async (repo, bytes, algorithm = "sha256") => {
    const digest = digestOf(bytes, algorithm);
    const begun = await must(await send("POST", `${repo}/blobs/uploads/`), 202);
    await must(await send("PUT", `${begun.headers.get("location")}?digest=${digest}`, { body: bodyBytes(bytes) }), 201);
    return digest;
  };
  const pushManifest: RegistryClient["pushManifest"] = async (repo, reference, manifest) => {
    const body = JSON.stringify(manifest);
    const digest = digestOf(body);
    await must(await send("PUT", `${repo}/manifests/${reference ?? digest}`, { body, headers: { "content-type": text(manifest, "mediaType") } }), 201);
    return digest;
  };
  return {
    send,
    pushBlob,
    pushManifest,
    pushImage: async (repo, reference, { architecture = "amd64", layer = `a layer for ${architecture}`, annotations, subject } = {}) => {
      const config = JSON.stringify({ os: "linux", architecture, rootfs: { type: "layers", diff_ids: [digestOf(layer)] } });
      await pushBlob(repo, config);
      await pushBlob(repo, layer);
      return pushManifest(repo, reference, imageManifest(config, layer, { annotations, subject }));
    },
  };
};

export const imageManifest = (
  config: string,
  layer: string,
  { annotations, subject }: { readonly annotations?: Json | undefined; readonly subject?: { readonly digest: string; readonly size: number } | undefined } = {},
): JsonObject => ({
  schemaVersion: 2,
  mediaType: imageType,
  config: descriptor(configType, config),
  layers: [descriptor(layerType, layer)],
  ...(subject ? { subject: { mediaType: imageType, ...subject } } : {}),
  ...(annotations ? { annotations } : {}),
});
