// Version 1's deployments of a repo, and registry settings of an organization. Stored only; Gantry deploys nothing.

import { invalid, missing, taken } from "#base/fault.ts";
import { type JsonObject, objectList, text } from "#base/json.ts";
import { isRoot } from "#base/uid.ts";
import { type Outcome, type ReadContext, resource, type WriteContext } from "#kernel";
import {
  deleteDeployment,
  findDeployment,
  findRegistrySettings,
  insertDeployment,
  type RegistrySettings,
  updateDeployment,
  writeRegistrySettings,
} from "#registry/store";
import { findRow, lockRow, type Write } from "#db";

const holdRepo = async (rows: Write, repo: string): Promise<void> => {
  if (!(await lockRow(rows, { name: "repos", columns: ["uid"] }, repo, "key share"))) throw missing("registry", "Repo", repo);
};

/** Restores the contract's key order, which the database does not keep. An optional field sent empty stays empty. */
const chartReply = (chart: JsonObject): JsonObject =>
  Object.fromEntries(["source", "repo", "chart"].flatMap((key) => (chart[key] === undefined ? [] : [[key, text(chart, key)]])));

const deploymentReply = (id: string, charts: readonly JsonObject[]): JsonObject => ({ id, ...(charts.length > 0 ? { charts: charts.map(chartReply) } : {}) });

const createDeployment = async ({ request, rows }: WriteContext): Promise<Outcome> => {
  const [repo, charts] = [text(request, "parentId"), objectList(request, "charts")];
  await holdRepo(rows, repo);
  if (!(await insertDeployment(rows, repo, charts))) throw taken("registry", "Deployment", repo);
  return { reply: deploymentReply(repo, charts) };
};

const changeDeployment = async ({ request, rows }: WriteContext): Promise<Outcome> => {
  const [repo, charts] = [text(request, "repoId"), objectList(request, "charts")];
  await holdRepo(rows, repo);
  const held = await findDeployment(rows, repo);
  // An empty update is a deletion, and may be repeated.
  if (!held && charts.length > 0) throw missing("registry", "Deployment", repo);
  if (charts.length === 0) await deleteDeployment(rows, repo);
  else await updateDeployment(rows, repo, charts);
  const reply = deploymentReply(repo, charts);
  return { reply, unchanged: JSON.stringify(deploymentReply(repo, held ?? [])) === JSON.stringify(reply) };
};

const getDeployment = async ({ request, rows }: ReadContext): Promise<Outcome> => {
  const repo = text(request, "repoId");
  const charts = await findDeployment(rows, repo);
  if (!charts) throw missing("registry", "Deployment", repo);
  return { reply: deploymentReply(repo, charts) };
};

const organizationOf = (request: JsonObject): string => {
  const root = text(request, "registryId");
  if (!isRoot(root)) throw invalid([{ field: "registryId", description: "must be the id of an organization" }]);
  return root;
};

const groups = { name: "groups", columns: ["uid"] };

const settingsReply = (registryId: string, { uniqueTags, eolGracePeriod }: RegistrySettings): JsonObject => ({ registryId, uniqueTags, eolGracePeriod });

const getSettings = async ({ request, rows }: ReadContext): Promise<Outcome> => {
  const root = organizationOf(request);
  if (!(await findRow(rows, groups, root))) throw missing("iam", "Group", root);
  return { reply: settingsReply(root, await findRegistrySettings(rows, root)) };
};

const updateSettings = async ({ request, rows }: WriteContext): Promise<Outcome> => {
  const root = organizationOf(request);
  if (!(await lockRow(rows, groups, root, "key share"))) throw missing("iam", "Group", root);
  const before = settingsReply(root, await findRegistrySettings(rows, root));
  const wanted = { uniqueTags: request.uniqueTags === true, eolGracePeriod: request.eolGracePeriod === true };
  await writeRegistrySettings(rows, root, wanted);
  const reply = settingsReply(root, wanted);
  return { reply, unchanged: JSON.stringify(before) === JSON.stringify(reply) };
};

export const deployment = resource({
  service: "chainguard.platform.registry.Registry",
  message: "chainguard.platform.registry.Deployment",
  methods: {
    CreateDeployment: { writes: createDeployment },
    UpdateDeployment: { writes: changeDeployment },
    GetDeployment: { reads: getDeployment },
    GetRegistrySettings: { reads: getSettings },
    UpdateRegistrySettings: { writes: updateSettings },
  },
});
