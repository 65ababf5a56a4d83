// Tables sbom_rules and sbom_rule_progress: repos, and groups for all repos below them, whose images get an SBOM (server/application/attached-sboms.ts).

import { ancestry } from "#base/uid.ts";
import { columns, expression, type Read, type RowOf, text, type Write } from "#db";

/** Returns true if a rule of the repo, or of a group above it, asks for SBOMs. */
export const hasSbomRule = async (rows: Read, repo: string): Promise<boolean> => {
  const [row] = await rows.query("select exists (select from sbom_rules where left(uid, -17) = any($1))", [ancestry(repo)]);
  return row?.[0] === "t";
};

/** Returns the number of rules of this repo or group itself. */
export const countSbomRules = async (rows: Read, place: string): Promise<number> => {
  const [row] = await rows.query("select count(*) from sbom_rules where left(uid, -17) = $1", [place]);
  return Number(row?.[0] ?? 0);
};

export type SbomRuleToQueue = RowOf<typeof ruleToQueue>;

const ruleToQueue = columns({
  uid: text,
  /** The repo or group that has the rule. */
  place: expression("left(uid, -17)", text),
  /** Uid of the last queued image; "" if none is. */
  queuedTo: text,
});

export const isSbomRuleToQueue = async (rows: Read): Promise<boolean> => {
  const [row] = await rows.query("select exists (select from sbom_rule_progress)");
  return row?.[0] === "t";
};

/** Locks a new rule whose stored images are still to be queued: any, so that one with many images, or one that fails, delays no other. */
export const lockSbomRuleToQueue = (rows: Write): Promise<SbomRuleToQueue | undefined> =>
  ruleToQueue.findOne(rows, `select ${ruleToQueue.list} from sbom_rule_progress order by random() limit 1 for update skip locked`);

/** @param queuedTo uid of the last queued image; undefined if all are queued */
export const noteSbomRuleQueued = async (rows: Write, uid: string, queuedTo: string | undefined): Promise<void> => {
  if (queuedTo === undefined) await rows.query("delete from sbom_rule_progress where uid = $1", [uid]);
  else await rows.query("update sbom_rule_progress set queued_to = $2 where uid = $1", [uid, queuedTo]);
};
