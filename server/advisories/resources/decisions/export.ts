// Exports decisions about findings as a VEX document (docs/decisions/0093).

import { blocked, missing } from "#base/fault.ts";
import { text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { ancestry, parentOf, rootOf } from "#base/uid.ts";
import { type DecisionWriterName, decisionWriters, type ExportedDecisions, statedIds, statementsOf } from "#advisories/feeds";
import { type ExportedFinding, findExportedFindings, findOpenFindings } from "#advisories/store";
import { boundOf, listedBranches, listMethodOf, type Outcome, type ReadContext } from "#kernel";
import { findGroupNames, findRepoNames } from "#registry/store";
import { findRow } from "#db";

const formatPrefix = "FINDING_DECISIONS_FORMAT_";

const isWriterName = (name: string): name is DecisionWriterName => Object.hasOwn(decisionWriters, name);

/** Returns the paths that clients pull the repos from: of names, or the uid if the names do not lead to the repo. */
const readPaths = async ({ rows }: ReadContext, repos: readonly string[]): Promise<ExportedDecisions["pathOf"]> => {
  const groups = await findGroupNames(rows, [...new Set(repos.flatMap((repo) => ancestry(parentOf(repo))))]);
  const names = await findRepoNames(rows, repos);
  return (repo) => {
    const steps = [
      ...ancestry(parentOf(repo))
        .reverse()
        .map((group) => groups.get(group)),
      names.get(repo),
    ];
    return steps.includes(undefined) ? repo : steps.join("/");
  };
};

/** Decisions of groups above count for images of the group, but the caller need not see them. */
const readShown = async (context: ReadContext): Promise<ExportedDecisions["isShown"]> => {
  const parent = text(context.request, "parent");
  const bound = boundOf(context, "gantry.decisions.v1.FindingDecision");
  const method = listMethodOf(bound);
  const branches = method ? await listedBranches(context, bound, method) : [];
  return (decision) => decision.startsWith(`${parent}/`) || branches.some(({ low, high }) => decision >= low && decision < high);
};

const imagesOf = (findings: readonly ExportedFinding[]): string[] => [...new Set(findings.map(({ repoUid, digest }) => `${repoUid}@${digest}`))];

export const exportDecisions = async (context: ReadContext): Promise<Outcome> => {
  const { request, rows, nowMs, services } = context;
  const parent = text(request, "parent");
  if (!(await findRow(rows, { name: "groups", columns: ["uid"] }, parent))) throw missing("iam", "Group", parent);
  const organization = await findRow(rows, { name: "groups", columns: ["name"] }, rootOf(parent));
  const findings = await findExportedFindings(rows, parent, nowMs, limits.exportedFindingsMax + 1);
  if (findings.length > limits.exportedFindingsMax)
    throw blocked("VEX_TOO_LARGE", "", [`decisions count for more than ${limits.exportedFindingsMax} findings: export the groups below one by one`]);
  const open = await findOpenFindings(rows, rootOf(parent), imagesOf(findings), [...new Set(findings.flatMap(statedIds))], nowMs);
  const { id, statements, findingCount } = statementsOf({
    findings,
    open,
    isShown: await readShown(context),
    pathOf: await readPaths(
      context,
      [...new Set(findings.map(({ repoUid }) => repoUid))].filter((uid) => uid !== ""),
    ),
    host: new URL(services.publicUrl).host,
  });
  if (statements.length === 0)
    throw blocked("NO_DECISIONS", "", ["no decision counts for a finding that a VEX document can state. A new decision counts within seconds"]);
  const named = text(request, "format").replace(formatPrefix, "");
  const format = isWriterName(named) ? named : "OPENVEX";
  const document = decisionWriters[format]({
    author: organization?.row[organization.offset] ?? rootOf(parent),
    address: `${services.publicUrl}/gantry/v1/findingDecisions/${parent}:export`,
    publicUrl: services.publicUrl,
    id,
    time: statements.at(-1)?.time ?? "",
    statements,
  });
  const omittedFindingCount = findings.length - findingCount;
  return {
    reply: {
      format: `${formatPrefix}${format}`,
      decisionCount: new Set(statements.map(({ decision }) => decision)).size,
      findingCount,
      ...(omittedFindingCount === 0 ? {} : { omittedFindingCount }),
      document: JSON.stringify(document),
    },
  };
};
