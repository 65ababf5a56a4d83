// Copies OCI layouts to and from a repo through the registry's operations, with their checks and events.

import { Fault } from "#base/fault.ts";
import { type JsonObject, text, texts } from "#base/json.ts";
import {
  type Descriptor,
  isLayoutDigest,
  layoutBlobSize,
  type ManifestParts,
  partsOf,
  readLayout,
  readLayoutBlob,
  readLayoutManifest,
  tagAnnotation,
  writeLayout,
  writeLayoutBlob,
} from "./layout.ts";

/** A registry operation by its short name. */
export type RegistryCall = (
  operation: string,
  request: JsonObject,
  content?: { readonly lengthBytes: number; readonly bytes: AsyncIterable<Uint8Array> },
) => Promise<{
  readonly message: JsonObject;
  readonly content?: { readonly type: string; readonly sizeBytes: number; readonly open: () => Promise<string | AsyncIterable<Uint8Array>> };
}>;

export interface LayoutWork {
  readonly call: RegistryCall;
  readonly folder: string;
  /** A repo's path of names, or its UID. */
  readonly repo: string;
  readonly progress: (progress: { readonly done: number; readonly total: number; readonly what: string }) => void;
}

export interface LayoutSummary {
  readonly manifests: number;
  readonly blobs: number;
  /** One sentence per refused item. */
  readonly refused: readonly string[];
}

interface PlannedManifest extends ManifestParts {
  readonly digest: string;
  readonly content: Buffer;
  readonly type: string;
}

/** Children first. Throws a Fault if something is missing. */
const planOf = async (folder: string, { digest, mediaType }: Descriptor, planned: Map<string, PlannedManifest>): Promise<void> => {
  if (planned.has(digest)) return;
  const content = await readLayoutManifest(folder, digest);
  if (!content) throw new Fault("INVALID_ARGUMENT", `${digest} is missing, or its content does not match the digest`);
  const parts = partsOf(content.toString("utf8"));
  if (!parts) throw new Fault("INVALID_ARGUMENT", `${digest} (${mediaType || "of no type"}) is neither a manifest nor an index`);
  for (const child of parts.children) await planOf(folder, child, planned);
  for (const blob of parts.blobs) {
    const size = await layoutBlobSize(folder, blob.digest);
    if (size === undefined && !blob.isForeign) throw new Fault("INVALID_ARGUMENT", `${digest} requires ${blob.digest}, which is missing`);
    if (size !== undefined && size !== blob.size) throw new Fault("INVALID_ARGUMENT", `${blob.digest} has ${size} bytes, not ${blob.size}`);
  }
  planned.set(digest, { ...parts, digest, content, type: parts.mediaType || mediaType });
};

const tagOf = ({ annotations = {} }: Descriptor): string => {
  const name = text(annotations, tagAnnotation);
  const last = name.slice(name.lastIndexOf(":") + 1);
  return /^[a-zA-Z0-9_][a-zA-Z0-9._-]{0,127}$/.test(last) ? last : "";
};

const sentenceOf = (thrown: unknown): string => {
  if (thrown instanceof Fault && thrown.code !== "INTERNAL" && thrown.code !== "UNAVAILABLE") return thrown.message;
  throw thrown;
};

/** Imports everything in a layout. Refused items are reported and do not affect others. */
export const importLayout = async ({ call, folder, repo, progress }: LayoutWork): Promise<LayoutSummary> => {
  const refused: string[] = [];
  const planned = new Map<string, PlannedManifest>();
  const tops: { readonly digest: string; readonly tag: string }[] = [];
  for (const top of await readLayout(folder)) {
    try {
      await planOf(folder, top, planned);
      tops.push({ digest: top.digest, tag: tagOf(top) });
    } catch (thrown) {
      refused.push(sentenceOf(thrown));
    }
  }
  const wanted = new Map([...planned.values()].flatMap(({ blobs }) => blobs.map((blob) => [blob.digest, blob] as const)));
  const total = [...wanted.values()].reduce((sum, { size }) => sum + size, 0);
  let [done, blobs] = [0, 0];
  const passing = async function* (digest: string): AsyncGenerator<Uint8Array> {
    for await (const piece of readLayoutBlob(folder, digest)) {
      done += piece.byteLength;
      progress({ done, total, what: "bytes" });
      yield piece;
    }
  };
  const isThere = async (digest: string): Promise<boolean> => {
    try {
      await call("GetBlob", { repo, digest, head: true });
      return true;
    } catch (thrown) {
      if (thrown instanceof Fault && (thrown.code === "NOT_FOUND" || thrown.code === "PERMISSION_DENIED")) return false;
      throw thrown;
    }
  };
  const broken = new Set<string>();
  for (const { digest, size, isForeign } of wanted.values()) {
    if (isForeign && (await layoutBlobSize(folder, digest)) === undefined) continue;
    if (await isThere(digest)) {
      done += size;
      continue;
    }
    try {
      await call("StartUpload", { repo, digest }, { lengthBytes: size, bytes: passing(digest) });
      blobs++;
    } catch (thrown) {
      refused.push(`${digest}: ${sentenceOf(thrown)}`);
      broken.add(digest);
    }
  }
  let manifests = 0;
  const push = async ({ digest, content, type }: PlannedManifest, tag: readonly string[]): Promise<void> => {
    const bytes = (async function* () {
      yield content;
    })();
    await call(
      "PutManifest",
      { repo, reference: digest, contentType: type, ...(tag.length > 0 ? { tag: [...tag] } : {}) },
      { lengthBytes: content.byteLength, bytes },
    );
  };
  for (const manifest of planned.values()) {
    const tags = tops.filter(({ digest, tag }) => digest === manifest.digest && tag !== "").map(({ tag }) => tag);
    // Already reported.
    if (manifest.blobs.some(({ digest }) => broken.has(digest))) continue;
    try {
      await push(manifest, tags);
      manifests++;
    } catch (thrown) {
      refused.push(`${manifest.digest}: ${sentenceOf(thrown)}`);
    }
  }
  return { manifests, blobs, refused };
};

const tagsOf = async (call: RegistryCall, repo: string): Promise<string[]> => {
  const tags: string[] = [];
  for (let last = ""; ; ) {
    const { message } = await call("ListRepoTags", { repo, ...(last === "" ? {} : { last }) });
    tags.push(...texts(message, "tags"));
    last = text(message, "next");
    if (last === "") return tags;
  }
};

/** Exports these tags or digests, or all tags, with everything they need. Throws if anything is missing. */
export const exportLayout = async ({ call, folder, repo, progress }: LayoutWork, references: readonly string[]): Promise<LayoutSummary> => {
  const written = new Set<string>();
  let [done, total, manifests, blobs] = [0, 0, 0, 0];
  const onBytes = (count: number): void => {
    done += count;
    progress({ done, total, what: "bytes" });
  };
  const writeBlob = async ({ digest, size, isForeign }: Descriptor): Promise<void> => {
    if (written.has(digest)) return;
    total += size;
    try {
      const { content } = await call("GetBlob", { repo, digest });
      if (!content) throw new Error("a blob without content");
      await writeLayoutBlob(folder, digest, await content.open(), onBytes);
    } catch (thrown) {
      // Foreign content may be absent.
      if (isForeign && thrown instanceof Fault && thrown.code === "NOT_FOUND") return;
      throw thrown;
    }
    written.add(digest);
    blobs++;
  };
  const writeManifest = async (reference: string): Promise<JsonObject> => {
    const { message, content } = await call("GetManifest", { repo, reference });
    if (!content) throw new Error("a manifest without content");
    const digest = isLayoutDigest(reference) ? reference : text(message, "digest");
    const opened = await content.open();
    const bytes = typeof opened === "string" ? opened : Buffer.concat(await Array.fromAsync(opened, (piece) => Uint8Array.from(piece))).toString("utf8");
    const described = { mediaType: content.type, digest, size: content.sizeBytes };
    if (written.has(digest)) return described;
    const parts = partsOf(bytes);
    for (const child of parts?.children ?? []) {
      // An index may list manifests that were never pushed.
      await writeManifest(child.digest).catch((thrown: unknown) => {
        if (!(thrown instanceof Fault && thrown.code === "NOT_FOUND")) throw thrown;
      });
    }
    for (const blob of parts?.blobs ?? []) await writeBlob(blob);
    await writeLayoutBlob(folder, digest, bytes, () => {});
    written.add(digest);
    manifests++;
    return described;
  };
  const listed: JsonObject[] = [];
  for (const reference of references.length > 0 ? references : await tagsOf(call, repo)) {
    const described = await writeManifest(reference);
    listed.push({ ...described, ...(isLayoutDigest(reference) ? {} : { annotations: { [tagAnnotation]: reference } }) });
  }
  await writeLayout(folder, listed);
  return { manifests, blobs, refused: [] };
};
