// Readmes of repos, stored in their rows.

import { columns, expression, type Read, text, time } from "#db";

export interface Readme {
  readonly uid: string;
  /** "" if there is none. */
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

export const findReadme = (rows: Read, repo: string): Promise<Readme | undefined> =>
  readme.findOne(rows, `select ${readme.list} from repos where uid = $1`, [repo]);
