// Reads the packages in the layers of stored images, as the operator.

import { Fault } from "#base/fault.ts";
import { isObject, type Json, objectList, part, text } from "#base/json.ts";
import { type FindLayer, type ImageContents, openLayerReader, readImage } from "#registry/contents";
import type { RegistryCall } from "#registry/collection";
import type { Application } from "./application.ts";
import { operatorRegistryCalls } from "./operator-calls.ts";

export interface InspectedImage {
  readonly digest: string;
  /** "linux/amd64"; "" if its index does not state it. */
  readonly platform: string;
  readonly contents: ImageContents;
}

export interface InspectOptions {
  /** A repo's path of names, or its UID. */
  readonly repo: string;
  /** A tag or digest. */
  readonly reference: string;
}

interface StoredManifest {
  readonly digest: string;
  readonly content: string;
}

const isMissing = (thrown: unknown): boolean => thrown instanceof Fault && thrown.code === "NOT_FOUND";

const readManifest = async (call: RegistryCall, { repo, reference }: InspectOptions): Promise<StoredManifest> => {
  const { message, content } = await call("GetManifest", { repo, reference });
  if (!content) throw new Error("a manifest without content");
  const opened = await content.open();
  const bytes = typeof opened === "string" ? opened : Buffer.concat(await Array.fromAsync(opened, (piece) => Uint8Array.from(piece))).toString("utf8");
  return { digest: reference.includes(":") ? reference : text(message, "digest"), content: bytes };
};

async function* bytesOf(content: string | AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  if (typeof content === "string") yield Buffer.from(content);
  else yield* content;
}

/** Returns the images of a tag or digest: of an index, each that it lists and that was pushed. */
export async function* inspectImage({ serve, services }: Application, options: InspectOptions): AsyncGenerator<InspectedImage> {
  const call = operatorRegistryCalls(serve, services);
  const read = openLayerReader();
  const openLayer = async (digest: string): Promise<AsyncIterable<Uint8Array> | undefined> => {
    try {
      const { content } = await call("GetBlob", { repo: options.repo, digest });
      return content && bytesOf(await content.open());
    } catch (thrown) {
      if (isMissing(thrown)) return undefined;
      throw thrown;
    }
  };
  const findLayer: FindLayer = async (digest) => {
    const pieces = await openLayer(digest);
    return pieces && read(pieces);
  };
  // Indexes that list each other's images many times would multiply the work.
  const seen = new Set<string>();
  const inspect = async function* (reference: string, platform: string): AsyncGenerator<InspectedImage> {
    const { digest, content } = await readManifest(call, { ...options, reference });
    if (seen.has(digest)) return;
    seen.add(digest);
    const parsed = JSON.parse(content) as Json;
    if (!isObject(parsed) || !Array.isArray(parsed.manifests)) {
      yield { digest, platform, contents: await readImage(content, findLayer) };
      return;
    }
    for (const listed of objectList(parsed, "manifests")) {
      const of = part(listed, "platform");
      const named = [text(of, "os"), text(of, "architecture"), text(of, "variant")].filter((word) => word !== "").join("/");
      try {
        yield* inspect(text(listed, "digest"), named);
      } catch (thrown) {
        // An index may list manifests that were never pushed.
        if (!isMissing(thrown)) throw thrown;
      }
    }
  };
  yield* inspect(options.reference, "");
}
