// Making a tag, or pointing one that exists at another digest: CreateTag and a push do the same.

import { type JsonObject, text } from "#base/json.ts";
import { type BoundResource, change, type ToldBy, type WriteContext } from "#kernel";
import { lockNamed, requireMatching } from "#store";

export interface WrittenTag {
  readonly record: JsonObject;
  /** False where everything was so already. */
  readonly changed: boolean;
  /** The tag before; undefined where it is new. */
  readonly before: JsonObject | undefined;
}

/**
 * Writes the tag of this name below a repo, which the caller holds. What `body` does not say of a tag that exists becomes empty, or
 * stays as it is with `keeping`.
 */
export const writeTag = async (
  context: WriteContext,
  tags: BoundResource,
  repo: string,
  body: JsonObject,
  toldBy: ToldBy,
  { keeping = false }: { readonly keeping?: boolean } = {},
): Promise<WrittenTag> => {
  const made = await change(context, tags, { kind: "create", parent: repo, body, unlessTaken: true }, toldBy);
  if (made.changed) {
    await requireMatching(context.rows, repo);
    return { record: made.record, changed: true, before: undefined };
  }
  const row = await lockNamed(context.rows, tags.shape.table, repo, text(body, "name"));
  // Deleted between the two statements: the next try makes it anew.
  if (!row) return writeTag(context, tags, repo, body, toldBy, { keeping });
  const before = tags.shape.read(row, 0);
  const common = { uid: text(before, "uid"), createTime: text(before, "createTime"), updateTime: text(before, "updateTime") };
  const draft = { ...(keeping ? before : {}), ...body, ...common };
  const { record, changed } = await change(context, tags, { kind: "update", before, draft }, toldBy);
  if (changed) await requireMatching(context.rows, repo);
  return { record, changed, before };
};
