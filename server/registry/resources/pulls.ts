// Pulls of a repo by day, and the last pull of each tag and digest.

import { invalid, missing } from "#base/fault.ts";
import { text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { pageOf } from "#base/page.ts";
import { answerPage, type Outcome, type ReadContext, resource } from "#kernel";
import { findLastPull, findPullDays, findPulledNames } from "#registry/store";
import { findRow } from "#db";

const requireRepo = async ({ request, rows }: ReadContext): Promise<string> => {
  const uid = text(request, "uid");
  if (!(await findRow(rows, { name: "repos", columns: ["uid"] }, uid))) throw missing("registry", "Repo", uid);
  return uid;
};

const timesOf = ({ pullTime, runtimeTime }: { readonly pullTime: string; readonly runtimeTime: string }) => ({
  ...(pullTime === "" ? {} : { lastPullTime: pullTime }),
  ...(runtimeTime === "" ? {} : { lastRuntimePullTime: runtimeTime }),
});

const getPulls = async (context: ReadContext): Promise<Outcome> => {
  const { request, rows, nowMs } = context;
  const repo = await requireRepo(context);
  const [tag, digest] = [text(request, "tag"), text(request, "digest")];
  if (digest !== "" && !/^sha256:[0-9a-f]{64}$/.test(digest))
    throw invalid([{ field: "digest", description: "must be a SHA-256 digest: sha256: and 64 hex characters" }]);
  const [days, last] = await Promise.all([findPullDays(rows, repo, tag, digest, nowMs - limits.pullsKeptMs), findLastPull(rows, repo, tag, digest)]);
  const pullCount = days.reduce((sum, day) => sum + BigInt(day.pullCount), 0n);
  return { reply: { ...(days.length > 0 ? { days: days.map((day) => ({ ...day })) } : {}), pullCount: String(pullCount), ...timesOf(last) } };
};

const listPulls = async (context: ReadContext): Promise<Outcome> => {
  const repo = await requireRepo(context);
  return answerPage(context, async (page) => {
    const { names, total } = await findPulledNames(context.rows, repo, page);
    const records = names.map(({ digest, tag, pullCount, ...times }) => ({
      key: [digest, tag],
      record: { digest, ...(tag === "" ? {} : { tag }), pullCount, ...timesOf(times) },
    }));
    return pageOf(page, records, total);
  });
};

export const pulls = resource({
  service: "gantry.registry.v1.PullsService",
  message: "gantry.registry.v1.Pulls",
  methods: { GetPulls: { reads: getPulls }, FindPulls: { reads: listPulls } },
});
