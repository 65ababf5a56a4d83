// What was read in the layers of images. Written by pushes and server/application/image-indexing.ts.

import { isObject, objectList, text } from "#base/json.ts";
import { timestamp } from "#base/time.ts";
import { parentOf } from "#base/uid.ts";
import { boundOf, list, type Outcome, type ReadContext, resource } from "#kernel";
import { knownLifecycles } from "./lifecycle/known-lifecycles.ts";
import { endOfLife, namesOfSystem } from "./lifecycle/operating-system.ts";

/** Adds the end of life of each operating system. */
const listContents = async (context: ReadContext): Promise<Outcome> => {
  const { rows, nowMs } = context;
  const outcome = await list(boundOf(context, "gantry.images.v1.ImageContents"))(context);
  const found = objectList(outcome.reply, "imageContents").map((contents) => {
    const { operatingSystem } = contents;
    const os = isObject(operatingSystem) ? operatingSystem : undefined;
    return { contents, os, group: parentOf(text(contents, "repoUid")), names: os ? namesOfSystem(text(os, "id"), text(os, "name")) : [] };
  });
  const find = await knownLifecycles(
    rows,
    found.flatMap(({ os, group }) => (os ? [group] : [])),
    found.flatMap(({ names }) => names),
  );
  const today = timestamp(nowMs).slice(0, 10);
  const imageContents = found.map(({ contents, os, group, names }) =>
    os ? { ...contents, operatingSystem: { ...os, ...endOfLife(find(group, names), text(os, "version"), today) } } : contents,
  );
  return { ...outcome, reply: { ...outcome.reply, imageContents } };
};

export const pushedImageContents = resource({
  service: "gantry.images.v1.ImageContentsService",
  message: "gantry.images.v1.ImageContents",
  table: "image_contents",
  methods: { ListImageContents: { reads: listContents } },
});
