// Pushes complete images to a test server's registry over HTTP; each step must succeed.

import type { JsonObject } from "#base/json.ts";
import { digestOf } from "./distribution.ts";
import { basic, configType, emptyType, imageType, layerType, openRegistry } from "./registry.ts";
import type { World } from "./world.ts";

export { imageType as ociManifest, indexType as ociIndex } from "./registry.ts";

export interface Pushed {
  readonly digest: string;
  readonly sizeBytes: number;
  readonly mediaType: string;
}

export interface Pusher {
  /** Sends a request; `path` is below the repository: "manifests/latest". */
  send(method: string, path: string, body?: string | Uint8Array, headers?: Readonly<Record<string, string>>): Promise<Response>;
  blob(content: string | Uint8Array, mediaType: string): Promise<Pushed>;
  /** By the reference, otherwise by digest. */
  manifest(body: object, mediaType: string, reference?: string): Promise<Pushed>;
  /** Pushes an image of this platform with its own layer. */
  image(architecture: string, reference?: string): Promise<Pushed>;
  /** Pushes an artifact about another manifest, with these layers. */
  artifact(layers: readonly Pushed[], about: { readonly subject?: Pushed; readonly reference?: string; readonly annotations?: JsonObject }): Promise<Pushed>;
}

export const descriptorOf = ({ digest, sizeBytes, mediaType }: Pushed): JsonObject => ({ mediaType, digest, size: sizeBytes });

/**
 * Pushes to the repository with this name or uid, with the token or a function that returns one, for tests that set the clock.
 * Images with the same `seed`, platform and reference are identical.
 */
export const openPusher = ({ url }: Pick<World, "url">, repo: string, token: string | (() => Promise<string>), seed = repo): Pusher => {
  const send: Pusher["send"] = async (method, path, body, headers = {}) =>
    openRegistry(url, basic("_token", typeof token === "string" ? token : await token())).send(method, `${repo}/${path}`, { headers, body });
  const sent = async (method: string, path: string, body: string | Uint8Array, contentType: string): Promise<void> => {
    const response = await send(method, path, body, { "content-type": contentType });
    if (response.status !== 201) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
    await response.body?.cancel();
  };
  const blob: Pusher["blob"] = async (content, mediaType) => {
    const digest = digestOf(content);
    await sent("POST", `blobs/uploads/?digest=${digest}`, content, "application/octet-stream");
    return { digest, sizeBytes: Buffer.byteLength(content), mediaType };
  };
  const manifest: Pusher["manifest"] = async (body, mediaType, reference) => {
    const content = JSON.stringify(body);
    const digest = digestOf(content);
    await sent("PUT", `manifests/${reference ?? digest}`, content, mediaType);
    return { digest, sizeBytes: Buffer.byteLength(content), mediaType };
  };
  return {
    send,
    blob,
    manifest,
    image: async (architecture, reference) => {
      const config = await blob(JSON.stringify({ architecture, os: "linux", rootfs: { type: "layers", diff_ids: [] } }), configType);
      const layer = await blob(`${seed}: a layer for ${architecture} of ${reference ?? "no tag"}`, layerType);
      const layers = [descriptorOf(layer)];
      return manifest({ schemaVersion: 2, mediaType: imageType, config: descriptorOf(config), layers }, imageType, reference);
    },
    artifact: async (layers, { subject, reference, annotations }) => {
      const config = descriptorOf(await blob("{}", emptyType));
      const about = subject === undefined ? {} : { subject: descriptorOf(subject) };
      const notes = annotations === undefined ? {} : { annotations };
      const body = { schemaVersion: 2, mediaType: imageType, artifactType: "application/vnd.example", config, layers: layers.map(descriptorOf) };
      return manifest({ ...body, ...about, ...notes }, imageType, reference);
    },
  };
};
