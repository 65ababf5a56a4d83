// Checks of single resources and of sign-in pages.

import type { Mutant } from "../mutant.ts";

const provider = "server/iam/resources/identity-provider.ts";

export const resources: readonly Mutant[] = [
  {
    attack: 323,
    file: "server/advisories/feeds/match-images.ts",
    find: "suppressors: suppressors.filter(({ uid }) => covers(parentOf(uid), owner)),",
    replace: "suppressors,",
  },
  {
    attack: 324,
    file: "server/advisories/resources/authored-advisory-event.ts",
    find: "event === undefined || isAuthor(context, event) || (!isReviewed && isAuthor(context, advisory))",
    replace: "event === undefined",
  },
  { attack: 325, file: "server/advisories/resources/authored-advisory-event.ts", find: "draft.reviewState = pendingState;", replace: "" },
  { attack: 326, file: "server/advisories/resources/rules/authoring.ts", find: "events.filter(isApproved).sort(", replace: "[...events].sort(" },
  {
    attack: 358,
    file: "server/advisories/resources/finding.ts",
    find: "hasExpiredFindings(context.rows, rangesOf(context), context.nowMs)",
    replace: "Promise.resolve(false)",
  },
  { attack: 359, file: "server/advisories/feeds/counting-decisions.ts", find: "covers(parentOf(uid), image.owner) &&", replace: "" },
  {
    attack: 368,
    file: "server/db/migrations/0012_due_dates.sql",
    find: "and length(uid) = nearest and starts_with(finding.uid, left(uid, -16));",
    replace: "and length(uid) = nearest;",
  },
  {
    attack: 369,
    file: "server/authz/roles.ts",
    find: '  "gantry.finding_decisions.list",\n  "repo.blobs.get",',
    replace: '  "gantry.finding_decisions.list",\n  "gantry.findings.decide",\n  "repo.blobs.get",',
  },
  {
    attack: 379,
    file: "server/db/migrations/0012_due_dates.sql",
    find: "new.seen_time := coalesce(earlier.seen_time, earlier.create_time, new.create_time);",
    replace: "new.seen_time := new.create_time;",
  },
  { attack: 360, file: "server/advisories/resources/finding-decision.ts", find: "!(covers(parent, repo) && (await", replace: "!((await" },
  {
    attack: 361,
    file: "server/authz/roles.ts",
    find: '  "gantry.finding_decisions.list",\n  "repo.blobs.get",',
    replace: '  "gantry.finding_decisions.list",\n  "gantry.findings.decide",\n  "repo.blobs.get",',
  },
  { attack: 362, file: "server/advisories/feeds/counting-decisions.ts", find: "[...tags].every(", replace: "[...tags].some(" },
  {
    attack: 363,
    file: "server/advisories/store/finding-decisions.ts",
    find: "decision.basis ->> advisory.uid = advisory.fingerprint",
    replace: "decision.basis ? advisory.uid",
  },
  { attack: 374, file: "server/advisories/feeds/decisions/statements.ts", find: "isShown(finding.decision) &&", replace: "" },
  { attack: 375, file: "server/advisories/feeds/decisions/statements.ts", find: "!openClaims.has(claim) && ", replace: "" },
  { attack: 376, file: "server/advisories/feeds/decisions/statements.ts", find: "if (cves.length > 1) return [vulnerability];", replace: "" },
  { attack: 327, file: "server/kernel/serve.ts", find: "    await authorize(kernel, call, rights, path, rows);\n", replace: "" },
  {
    attack: 328,
    file: "server/advisories/resources/rules/advisory-number.ts",
    find: 'plain !== "" && !foreignPrefixes.has(plain)',
    replace: 'plain !== ""',
  },
  {
    attack: 332,
    file: "server/advisories/resources/authored-advisory-event.ts",
    find: "  if (!(await findAuthorApproval(rows, rootOf(uid))))\n",
    replace: "  if (false)\n",
  },
  {
    attack: 329,
    file: "server/advisories/feeds/charts/read-chart.ts",
    find: 'if (type !== "file" && type !== "directory") refuse(',
    replace: "if (false) refuse(",
  },
  { attack: 329, file: "server/advisories/feeds/charts/read-chart.ts", find: "if (seen.has(wanted)) refuse(", replace: "if (false) refuse(" },
  { attack: 330, file: "server/registry/resources/chart.ts", find: "visiblePaths(rights, capabilities), limits", replace: '[""], limits' },
  { attack: 331, file: "server/iam/resources/invited-group.ts", find: "if (!rights.grants.some(", replace: "if (rights.grants.every(" },
  { attack: 5, file: "server/iam/resources/rules/grant.ts", find: "(!isRoot(role) && covers(parentOf(role), place))", replace: "!isRoot(role)" },
  {
    attack: 39,
    file: "server/iam/resources/identity.ts",
    find: "return unbounded === undefined ? out :",
    replace: "return unbounded !== null ? out :",
    tests: ["test/attacks/issuer-hosts.test.ts"],
  },
  { attack: 207, file: provider, find: '    throw blocked("SCIM_PEOPLE_KNOWN", uid,', replace: '    if (false) throw blocked("SCIM_PEOPLE_KNOWN", uid,' },
  {
    attack: 28,
    file: "server/events/resources/subscription.ts",
    find: 'if (url.username || url.password) return "must not carry a user name or password";',
    replace: "",
  },
  {
    attack: 173,
    file: "server/iam/resources/rules/scim.ts",
    find: '    throw blocked("SCIM_OWNERS_MISSING", uid,',
    replace: '    if (false) throw blocked("SCIM_OWNERS_MISSING", uid,',
  },
  { attack: 166, file: "server/iam/resources/scim/scim-group.ts", find: "if (unknown !== undefined) throw scimFault(", replace: "if (false) throw scimFault(" },
  {
    attack: 179,
    file: "server/iam/resources/deletion.ts",
    find: 'if (Date.parse(text(deletion, "expireTime")) <= nowMs || !(await isKeptWhole(rows, uid)))',
    replace: "if (!(await isKeptWhole(rows, uid)))",
  },
  {
    attack: 213,
    file: "server/iam/resources/deletion.ts",
    find: 'if (Date.parse(text(deletion, "expireTime")) <= nowMs || !(await isKeptWhole(rows, uid)))',
    replace: 'if (Date.parse(text(deletion, "expireTime")) <= nowMs)',
  },
];
