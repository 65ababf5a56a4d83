// A repo: a named collection of tags in a group, with a readme.

import { invalid, missing, type Violation } from "#base/fault.ts";
import { type JsonObject, part, text } from "#base/json.ts";
import { timestamp } from "#base/time.ts";
import { isUid } from "#base/uid.ts";
import {
  boundOf,
  change,
  create,
  holdParent,
  lockResource,
  type Outcome,
  type ReadContext,
  readMask,
  resource,
  type RuleContext,
  update,
  type WriteContext,
  type Writes,
} from "#kernel";
import { findReadme, type Readme } from "#registry/store";
import { findRow, lockNamed } from "#db";
import { judgeReadme } from "./readme/judge.ts";
import { overlayViolations } from "./rules/custom-overlay.ts";
import { requireMutableRepo } from "./tags/immutable-tags.ts";

const syncLifetimeMs = 14 * 24 * 60 * 60 * 1000;

const syncViolations = async (sync: JsonObject, { rows, require, nowMs }: RuleContext): Promise<Violation[]> => {
  const source = text(sync, "source");
  const violation = [{ field: "sync_config.source", description: "must be the uid of a repo that you can read" }];
  if (!isUid(source)) return violation;
  require(["repo.list"], source);
  if (!(await findRow(rows, { name: "repos", columns: ["uid"] }, source))) return violation;
  sync.expirationTime ??= timestamp(nowMs + syncLifetimeMs);
  return [];
};

const rules = async (draft: JsonObject, context: RuleContext): Promise<Violation[]> => {
  const { before } = context;
  const place = before ? text(draft, "uid") : context.parent;
  // Enabling anonymous pulls is a grant, like a role binding.
  if ((draft.anonymousPull === true) !== (before?.anonymousPull === true)) context.require(["repo.update", "role_bindings.create"], place);
  if (before && text(draft, "readme") !== text(before, "readme"))
    draft.readmeUpdateTime = timestamp(Math.max(context.nowMs, Date.parse(text(before, "readmeUpdateTime") || timestamp(0)) + 1));
  const sync = draft.sync_config === undefined ? undefined : part(draft, "sync_config");
  const changed = JSON.stringify(draft.sync_config) !== JSON.stringify(before?.sync_config);
  return [...(sync && changed ? await syncViolations(sync, context) : []), ...overlayViolations(part(draft, "customOverlay"), "customOverlay")];
};

const readmeReply = ({ uid, content, createTime, updateTime }: Readme): JsonObject => ({ uid, ...(content ? { content } : {}), createTime, updateTime });

const getReadme = async ({ request, rows }: ReadContext): Promise<Outcome> => {
  const uid = text(request, "uid");
  const found = await findReadme(rows, uid);
  if (!found) throw missing("registry", "Repo", uid);
  return { reply: readmeReply(found) };
};

const updateReadme = async (context: WriteContext, content: string): Promise<Outcome> => {
  const { request, rows, mask, nowMs } = context;
  const uid = text(part(request, "repoReadme"), "uid");
  const found = boundOf(context, "chainguard.platform.registry.v2.Repo");
  const before = await lockResource(context, found, uid);
  const held = before && (await findReadme(rows, uid));
  if (!held) throw missing("registry", "Repo", uid);
  const named = mask?.paths.some(([name]) => name === "content") ?? false;
  if (!named || held.content === content) return { reply: readmeReply(held), unchanged: true };
  const updateTime = timestamp(Math.max(nowMs, Date.parse(held.updateTime) + 1));
  await change(context, found, { kind: "update", before, columns: { readme: content, readme_update_time: updateTime } }, "cause");
  return { reply: readmeReply({ ...held, content, updateTime }) };
};

/** Checked before the transaction, because it takes time. */
const requireReadme = async (field: string, content: string): Promise<void> => {
  const problem = content === "" ? undefined : await judgeReadme(content);
  if (problem !== undefined) throw invalid([{ field, description: problem }]);
};

const judgedReadme = async ({ request }: ReadContext): Promise<Writes> => {
  const content = text(part(request, "repoReadme"), "content");
  await requireReadme("content", content);
  return { writes: (context) => updateReadme(context, content) };
};

/** Checks the readme, which version 1 has in the repo. */
const judgedRepo =
  (writes: Writes["writes"]) =>
  async ({ request }: ReadContext): Promise<Writes> => {
    await requireReadme("readme", text(part(request, "repo"), "readme"));
    return { writes };
  };

/** Creates a repo; with `updateExisting`, updates an existing one of this name if the caller may. */
const createOrReplace = async (context: WriteContext): Promise<Outcome> => {
  const { request, call } = context;
  const repos = boundOf(context, "chainguard.platform.registry.v2.Repo");
  if (request.updateExisting !== true) return create(repos)(context);
  const [parent, body] = [text(request, "parent"), part(request, "repo")];
  holdParent(context, repos, parent);
  const made = await change(context, repos, { kind: "create", parent, body, unlessTaken: true }, "cause");
  if (made.changed) return { reply: made.record };
  const row = await lockNamed(context.rows, repos.shape.table, parent, text(body, "name"));
  // Deleted between the two statements: retry.
  if (!row) return createOrReplace(context);
  const uid = text(repos.shape.read(row, 0), "uid");
  context.require(["repo.update"], uid);
  // All fields of the caller's version: the readme is a field of version 1.
  const { mask } = readMask(repos.fact, "*", [...Object.keys(body), ...(call.view ? ["readme"] : [])], body);
  return update(repos)({ ...context, request: { repo: { ...body, uid } }, mask });
};

export const repo = resource({
  service: "chainguard.platform.registry.v2.ReposService",
  message: "chainguard.platform.registry.v2.Repo",
  table: "repos",
  rules,
  requireDeletable: async ({ rows }, uid, isAlone) => {
    if (!isAlone) await requireMutableRepo(rows, uid);
  },
  // In this order: a manifest keeps the blobs that it needs.
  sideTables: [
    { table: "ended_tags", column: "tag_uid" },
    { table: "tag_history", column: "repo_uid" },
    { table: "image_sboms", column: "repo_uid" },
    { table: "manifests", column: "repo_uid" },
    { table: "pushed_reports", column: "repo_uid" },
    { table: "vex_statements", column: "repo_uid" },
    { table: "vex_documents", column: "repo_uid" },
    { table: "manifest_blobs", column: "repo_uid" },
    { table: "manifest_children", column: "repo_uid" },
    // Restoring them requires the permission to push.
    { table: "repo_manifests", column: "repo_uid", capabilities: ["manifest.create"] },
    { table: "repo_blobs", column: "repo_uid" },
    // Uploads in progress end.
    { table: "uploads", column: "repo_uid", isDeletedForGood: true },
    { table: "repo_deployments", column: "repo_uid" },
    { table: "last_pulls", column: "repo_uid" },
    { table: "images_in_use", column: "repo_uid" },
    // Up to 400 rows for each name, and nothing depends on them.
    { table: "pull_days", column: "repo_uid", isDeletedForGood: true },
    { table: "vuln_reports", column: "repo_uid" },
  ],
  methods: {
    CreateRepo: { asks: judgedRepo(createOrReplace) },
    UpdateRepo: { asks: judgedRepo((context) => update(boundOf(context, "chainguard.platform.registry.v2.Repo"))(context)) },
    GetRepoReadme: { reads: getReadme },
    UpdateRepoReadme: { asks: judgedReadme },
  },
});
