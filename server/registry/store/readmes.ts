// The readmes of repos, which stand in the repos' own rows.

import { columns, expression, type Read, text, time } from "#db";

export interface Readme {
  /** Of the repo. */
  readonly uid: string;
  /** "": none. */
  readonly content: string;
  readonly createTime: string;
  readonly updateTime: string;
}

const readme = columns<Readme>({
  uid: text,
  content: expression("readme", text),
  createTime: time("create_time"),
  updateTime: time("coalesce(readme_update_time, create_time)"),
});

/** The readme of a repo; undefined where there is no such repo. */
export const findReadme = (rows: Read, repo: string): Promise<Readme | undefined> =>
  readme.findOne(rows, `select ${readme.list} from repos where uid = $1`, [repo]);
