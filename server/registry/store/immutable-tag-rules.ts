// Table immutable_tag_rules: patterns of tags that cannot be moved or deleted, of a repo or of a group for all repos below it.

import { ancestry } from "#base/uid.ts";
import { columns, expression, type Read, type RowOf, text } from "#db";

export type ImmutableTagPattern = RowOf<typeof rule>;

const rule = columns({
  pattern: text,
  /** The repo or group that has the rule. */
  place: expression("left(uid, -17)", text),
});

/** Returns the rules that apply in a repo: its own, and those of the groups above it. */
export const findImmutableTagRules = (rows: Read, repo: string): Promise<ImmutableTagPattern[]> =>
  rule.find(rows, `select ${rule.list} from immutable_tag_rules where left(uid, -17) = any($1) order by uid`, [ancestry(repo)]);

/** Returns the number of rules of this repo or group itself. */
export const countImmutableTagRules = async (rows: Read, place: string): Promise<number> => {
  const [row] = await rows.query("select count(*) from immutable_tag_rules where left(uid, -17) = $1", [place]);
  return Number(row?.[0] ?? 0);
};
