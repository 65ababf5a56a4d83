// Table repo_deployments: Helm charts that deploy the images of a repo.

import { type JsonObject, objectList } from "#base/json.ts";
import { columns, json, type Read, text, type Write } from "#db";

const deployment = columns({ charts: json });

/** Returns undefined if there are no charts. */
export const findDeployment = async (rows: Read, repo: string): Promise<readonly JsonObject[] | undefined> => {
  const found = await deployment.findOne(rows, `select ${deployment.list} from repo_deployments where repo_uid = $1`, [repo]);
  return found && objectList({ charts: found.charts }, "charts");
};

/** Returns false if the repo already has charts. */
export const insertDeployment = async (rows: Write, repo: string, charts: readonly JsonObject[]): Promise<boolean> => {
  const made = await rows.query(
    "insert into repo_deployments (repo_uid, charts, fields_as_published) values ($1, $2, true) on conflict do nothing returning 1",
    [repo, JSON.stringify(charts)],
  );
  return made.length > 0;
};

export const updateDeployment = async (rows: Write, repo: string, charts: readonly JsonObject[]): Promise<void> => {
  await rows.query("update repo_deployments set charts = $2, fields_as_published = true where repo_uid = $1", [repo, JSON.stringify(charts)]);
};

export const deleteDeployment = async (rows: Write, repo: string): Promise<void> => {
  await rows.query("delete from repo_deployments where repo_uid = $1", [repo]);
};

const doubtful = columns({ repoUid: text });

/** Returns repos for which an earlier version may have stored `source` and `repo` swapped (0043). */
export const findSwappedCharts = async (rows: Read, limit: number): Promise<readonly string[]> =>
  (
    await doubtful.find(
      rows,
      `select ${doubtful.list} from repo_deployments
      where not fields_as_published and jsonb_path_exists(charts, '$[*] ? (@.source != "" && @.repo != "")') order by repo_uid limit $1`,
      [limit],
    )
  ).map(({ repoUid }) => repoUid);
