// The runtime configuration of an image, read from its blob. Version 1 only.

import { blocked, missing } from "#base/fault.ts";
import { isObject, type Json, type JsonObject, part, text, texts } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { type Outcome, type ReadContext, resource } from "#kernel";
import { findManifestByDigest, findRepoBlob } from "#registry/store";
import { findPlatformDigest, noSuchImage } from "./images/platform-manifest.ts";
import { readBlob } from "./images/read-blob.ts";

const parse = (bytes: string): JsonObject => {
  try {
    const value = JSON.parse(bytes) as Json;
    return isObject(value) ? value : {};
  } catch {
    return {};
  }
};

/** Clients read only the keys of {"80/tcp": {}}. */
const keysOnly = (value: Json | undefined): JsonObject => (isObject(value) ? Object.fromEntries(Object.keys(value).map((key) => [key, {}])) : {});

const textValues = (value: Json | undefined): JsonObject =>
  isObject(value) ? Object.fromEntries(Object.entries(value).filter(([, each]) => typeof each === "string")) : {};

const readConfig = async (context: ReadContext, digest: string): Promise<JsonObject> => {
  const { rows, request } = context;
  const repo = text(request, "repoId");
  const manifest = await findManifestByDigest(rows, repo, digest);
  const blob = manifest && (await findRepoBlob(rows, repo, text(part(parse(manifest.content), "config"), "digest")));
  if (!blob) throw missing("registry", "Image", digest);
  if (blob.sizeBytes > limits.imageConfigBytesMax)
    throw blocked("CONFIG_TOO_LARGE", "", [`the configuration has ${blob.sizeBytes} bytes; at most ${limits.imageConfigBytesMax} are read: pull its blob`]);
  const content = await readBlob(context, blob);
  if (!content) throw missing("registry", "Image", digest);
  return parse(content.toString("utf8"));
};

const getImageConfig = async (context: ReadContext): Promise<Outcome> => {
  const { request, rows } = context;
  const [digest, architecture] = [text(request, "digest"), text(request, "arch")];
  const found = await findPlatformDigest(rows, text(request, "repoId"), digest, architecture);
  if (found === undefined) throw noSuchImage(digest, architecture);
  const config = part(await readConfig(context, found), "config");
  return {
    reply: {
      user: text(config, "User"),
      exposedPorts: keysOnly(config.ExposedPorts),
      env: texts(config, "Env"),
      entrypoint: texts(config, "Entrypoint"),
      cmd: texts(config, "Cmd"),
      volumes: keysOnly(config.Volumes),
      workingDir: text(config, "WorkingDir"),
      labels: textValues(config.Labels),
      stopSignal: text(config, "StopSignal"),
    },
  };
};

export const imageConfig = resource({
  service: "chainguard.platform.registry.Registry",
  message: "chainguard.platform.registry.ImageConfig",
  methods: { GetImageConfig: { reads: getImageConfig } },
});
