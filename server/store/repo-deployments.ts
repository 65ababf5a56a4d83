// Table repo_deployments: with which charts the images of a repo are deployed. A row goes with its repo.

import { type JsonObject, objectList } from "#base/json.ts";
import { columns, json } from "./columns.ts";
import type { Read, Write } from "./handle.ts";

const deployment = columns({ charts: json });

/** The charts of a repo, as they were said; undefined where nobody has said any. */
export const findDeployment = async (rows: Read, repo: string): Promise<readonly JsonObject[] | undefined> => {
  const found = await deployment.findOne(rows, `select ${deployment.list} from repo_deployments where repo_uid = $1`, [repo]);
  return found && objectList({ charts: found.charts }, "charts");
};

/** False where something is said of the repo already. */
export const insertDeployment = async (rows: Write, repo: string, charts: readonly JsonObject[]): Promise<boolean> => {
  const made = await rows.query("insert into repo_deployments (repo_uid, charts) values ($1, $2) on conflict do nothing returning 1", [
    repo,
    JSON.stringify(charts),
  ]);
  return made.length > 0;
};

/** Says something else of a repo of which something is said. */
export const updateDeployment = async (rows: Write, repo: string, charts: readonly JsonObject[]): Promise<void> => {
  await rows.query("update repo_deployments set charts = $2 where repo_uid = $1", [repo, JSON.stringify(charts)]);
};

/** Says nothing of a repo any more. */
export const deleteDeployment = async (rows: Write, repo: string): Promise<void> => {
  await rows.query("delete from repo_deployments where repo_uid = $1", [repo]);
};
