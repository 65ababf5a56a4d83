// What was read in the layers of images. Written by pushes and server/application/image-indexing.ts.

import { isObject, type JsonObject, objectList, text, texts } from "#base/json.ts";
import { parentOf } from "#base/uid.ts";
import { findSystems, findVexDocuments, type VexDocument } from "#advisories/store";
import { limits } from "#base/limits.ts";
import { boundOf, list, type Outcome, type ReadContext, resource } from "#kernel";
import { withEndOfLife } from "#registry/lifecycle";
import type { Condition } from "#db";

const imageKey = (repoUid: string, digest: string): string => `${repoUid} ${digest}`;

const vexDocumentOf = ({ manifestDigest, documentDigest, state, problem, pushTime }: VexDocument): JsonObject => ({
  manifestDigest,
  documentDigest,
  state: `VEX_DOCUMENT_STATE_${state}`,
  ...(problem === "" ? {} : { problem }),
  pushTime,
});

/** Adds the end of life of each operating system, and the pushed VEX documents. */
const listContents = async (context: ReadContext): Promise<Outcome> => {
  const { rows, nowMs } = context;
  const outcome = await list(boundOf(context, "gantry.images.v1.ImageContents"))(context);
  const found = objectList(outcome.reply, "imageContents");
  const located = found.map((contents) => ({
    group: parentOf(text(contents, "repoUid")),
    system: isObject(contents.operatingSystem) ? contents.operatingSystem : undefined,
  }));
  const systems = await withEndOfLife(rows, located, nowMs);
  const images = found.map((contents) => ({ repoUid: text(contents, "repoUid"), digest: text(contents, "digest") }));
  const documents = Map.groupBy(await findVexDocuments(rows, images, limits.imageVexMax), ({ repoUid, digest }) => imageKey(repoUid, digest));
  const imageContents = found.map((contents, index) => {
    const vexDocuments = documents.get(imageKey(text(contents, "repoUid"), text(contents, "digest"))) ?? [];
    return {
      ...contents,
      ...(systems[index] ? { operatingSystem: systems[index] } : {}),
      ...(vexDocuments.length === 0 ? {} : { vexDocuments: vexDocuments.map(vexDocumentOf) }),
    };
  });
  return { ...outcome, reply: { ...outcome.reply, imageContents } };
};

/** The releases that are in a state of the request, of the groups that the caller sees. */
const conditions = async ({ request, rows, visiblePaths, nowMs }: ReadContext): Promise<Condition[]> => {
  const states = new Set(texts(request, "endOfLifeStates").filter((state) => state !== "END_OF_LIFE_STATE_UNSPECIFIED"));
  if (states.size === 0) return [];
  const found = await findSystems(rows, visiblePaths);
  const systems = await withEndOfLife(rows, found, nowMs);
  const keys = found.filter((_, index) => states.has(text(systems[index] ?? {}, "endOfLifeState"))).map(({ key }) => key);
  return [{ column: "system", comparison: "any", value: keys }];
};

export const pushedImageContents = resource({
  service: "gantry.images.v1.ImageContentsService",
  message: "gantry.images.v1.ImageContents",
  table: "image_contents",
  methodFields: ["vex_documents"],
  conditions,
  methods: { ListImageContents: { reads: listContents } },
});
