// Loads the requested days of tags and their reports, for the two lists of counts.

import { blocked, type Fault, invalid, type Violation } from "#base/fault.ts";
import { type JsonObject, objectList, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { timestamp } from "#base/time.ts";
import { covers, isUid } from "#base/uid.ts";
import { type Outcome, ownWholeList, type ReadContext } from "#kernel";
import { findImagesBehind, findReposNamed, findVulnCounts } from "#advisories/store";
import { findManifests, findRepoByName, findTagHistory } from "#registry/store";
import { unjudgedOfDigests } from "../coverage/statement.ts";
import { countDays, type TagFacts } from "./counts.ts";

const dayMs = 24 * 60 * 60 * 1000;

interface RequestedTag {
  readonly repo: string;
  readonly tag: string;
}

/** `references` override the single tag. */
const askedTags = (request: JsonObject): RequestedTag[] => {
  const references = objectList(request, "references");
  const asked = (references.length > 0 ? references : [request]).map((each) => ({ repo: text(each, "repo"), tag: text(each, "tag") }));
  const violations = asked.flatMap(({ repo, tag }, index): Violation[] => {
    const place = references.length > 0 ? `references[${index}].` : "";
    return [...(repo === "" ? [`${place}repo`] : []), ...(tag === "" ? [`${place}tag`] : [])].map((field) => ({ field, description: "is required" }));
  });
  if (violations.length > 0) throw invalid(violations);
  return asked;
};

/** Returns the visible repos of this name: a uid, a path of names, or a single name. */
const reposNamed = async ({ rows, visiblePaths }: ReadContext, name: string): Promise<string[]> => {
  const byPath = async (): Promise<string[]> => {
    const repo = await findRepoByName(rows, name);
    return repo ? [repo.uid] : [];
  };
  const found = isUid(name) ? [name] : name.includes("/") ? await byPath() : await findReposNamed(rows, visiblePaths, name);
  return found.filter((uid) => visiblePaths.some((path) => covers(path, uid)));
};

/** Reports are large, so the limit applies to all of a call. */
const tooMuch = (): Fault => blocked("LIST_TOO_LONG", "", ["these reports are too large to count in one request. Request fewer tags, or a later start day"]);

const factsOf = async (
  context: ReadContext,
  uid: string,
  { repo, tag }: RequestedTag,
  leftBytes: number,
): Promise<{ readonly facts: TagFacts; readonly bytes: number }> => {
  const { rows, request } = context;
  const history = (await findTagHistory(rows, uid, tag, "", "")).toReversed();
  const images = [...new Set(history.map(({ digest }) => digest))];
  const behind = await findImagesBehind(rows, uid, images);
  const digests = [...new Set([...behind.values()].flatMap((each) => [...each]))];
  const { states: reports, bytes } = await findVulnCounts(rows, uid, digests, text(request, "from").slice(0, 10), leftBytes);
  if (bytes > leftBytes) throw tooMuch();
  const sizes = await Promise.all(
    images.map(async (digest): Promise<[string, string][]> => (await findManifests(rows, uid, digest)).slice(0, 1).map(({ sizeBytes }) => [digest, sizeBytes])),
  );
  const current = history.at(-1)?.digest;
  const [unjudged = []] = current === undefined ? [] : await unjudgedOfDigests(context, [{ repoUid: uid, digest: current }]);
  return { facts: { repo, tag, history, behind, reports, sizeBytes: new Map(sizes.flat()), unjudged }, bytes };
};

const dayNumberOf = (time: string): number => Math.floor(Date.parse(time) / dayMs);

/** Returns the first and last day, in days since 1970; undefined without any report. */
const rangeOf = ({ request, nowMs }: ReadContext, facts: readonly TagFacts[]): readonly [first: number, last: number] | undefined => {
  const [from, to] = [text(request, "from"), text(request, "to")];
  const known = facts.flatMap(({ reports }) => reports.slice(0, 1).map(({ createTime }) => dayNumberOf(createTime)));
  const last = to === "" ? Math.floor(nowMs / dayMs) : dayNumberOf(to);
  if (from !== "" && dayNumberOf(from) > last) throw invalid([{ field: "to", description: "must not be before from" }]);
  if (from === "" && known.length === 0) return undefined;
  const first = from === "" ? Math.max(Math.min(...known), last - limits.reportDaysMax + 1) : dayNumberOf(from);
  if (last - first >= limits.reportDaysMax) throw invalid([{ field: "to", description: `must be at most ${limits.reportDaysMax} days after from` }]);
  return [first, last];
};

/** Handles both lists of counts. */
export const listCounts = async (context: ReadContext, isCumulative: boolean): Promise<Outcome> => {
  const facts: TagFacts[] = [];
  let leftBytes: number = limits.countedReportsBytesMax;
  for (const asked of askedTags(context.request))
    for (const uid of await reposNamed(context, asked.repo)) {
      const found = await factsOf(context, uid, asked, leftBytes);
      leftBytes -= found.bytes;
      facts.push(found.facts);
    }
  const range = rangeOf(context, facts);
  const [first, last] = range ?? [0, -1];
  const days = Array.from({ length: Math.max(0, last - first + 1) }, (_, index) => timestamp((first + index) * dayMs).slice(0, 10));
  const total = facts.reduce((sum, { reports }) => sum + (reports[0] ? Math.max(0, last - Math.max(first, dayNumberOf(reports[0].createTime)) + 1) : 0), 0);
  const pieces = async function* (): AsyncGenerator<JsonObject[]> {
    for (const each of facts) yield [...countDays(each, days, isCumulative)];
  };
  return ownWholeList(context, total, pieces());
};
