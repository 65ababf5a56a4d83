// Images with layers of files, as tests push them.

import { gzipSync } from "node:zlib";
import type { JsonObject } from "#base/json.ts";
import { type DraftEntry, tarOf } from "../server/registry/contents/tar.fixture.ts";
import { descriptorOf, ociManifest, type Pushed, type Pusher } from "./pusher.ts";
import { configType } from "./registry.ts";

export const files = "application/vnd.oci.image.layer.v1.tar+gzip";

export const apk = (...packages: readonly [name: string, version: string][]): DraftEntry => ({
  name: "lib/apk/db/installed",
  content: packages.map(([name, version]) => `P:${name}\nV:${version}\nA:x86_64\n\n`).join(""),
});
export const dpkg = (...packages: readonly [name: string, version: string][]): DraftEntry => ({
  name: "var/lib/dpkg/status",
  content: packages.map(([name, version]) => `Package: ${name}\nStatus: install ok installed\nArchitecture: amd64\nVersion: ${version}\n\n`).join(""),
});
export const os = (id: string, version: string, name: string): DraftEntry => ({
  name: "etc/os-release",
  content: `ID=${id}\nVERSION_ID=${version}\nPRETTY_NAME="${name}"\n`,
});
export const alpine = os("alpine", "3.20.3", "Alpine Linux v3.20");
export const debian = os("debian", "12", "Debian GNU/Linux 12 (bookworm)");

/** A file of an npm package. */
export const npm = (name: string, version: string): DraftEntry => ({
  name: `app/node_modules/${name}/package.json`,
  content: JSON.stringify({ name, version }),
});

/** Content of a layer: its files, or the bytes of the blob. */
export type LayerContent = readonly DraftEntry[] | Uint8Array;

interface ImageFacts {
  /** "amd64" by default. */
  readonly architecture?: string;
  readonly annotations?: JsonObject;
  /** Of each layer, then of what adds none. */
  readonly commands?: readonly string[];
}

/** Pushes an image with these layers, lowest first. */
export const pushImageWith = async (
  registry: Pusher,
  reference: string | undefined,
  { architecture = "amd64", annotations, commands }: ImageFacts,
  ...layers: readonly LayerContent[]
): Promise<Pushed> => {
  const history = commands?.map((command, index) => ({ created_by: command, ...(index < layers.length ? {} : { empty_layer: true }) }));
  const content = { architecture, os: "linux", rootfs: { type: "layers", diff_ids: [] }, ...(history ? { history } : {}) };
  const config = await registry.blob(JSON.stringify(content), configType);
  const pushed: Pushed[] = [];
  for (const layer of layers) pushed.push(await registry.blob(layer instanceof Uint8Array ? layer : gzipSync(tarOf(layer)), files));
  const notes = annotations === undefined ? {} : { annotations };
  const body = { schemaVersion: 2, mediaType: ociManifest, config: descriptorOf(config), layers: pushed.map(descriptorOf), ...notes };
  return registry.manifest(body, ociManifest, reference);
};

/** Pushes an image for linux/amd64 with these layers, lowest first. */
export const pushImage = (registry: Pusher, reference: string | undefined, ...layers: readonly LayerContent[]): Promise<Pushed> =>
  pushImageWith(registry, reference, {}, ...layers);
