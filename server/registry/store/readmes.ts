// Readmes of repos, stored in their rows.

import { columns, expression, type Read, type RowOf, text, time } from "#db";

export type Readme = RowOf<typeof readme>;

const readme = columns({
  uid: text,
  /** "" if there is none. */
  content: expression("readme", text),
  createTime: time("create_time"),
  updateTime: time("coalesce(readme_update_time, create_time)"),
});

export const findReadme = (rows: Read, repo: string): Promise<Readme | undefined> =>
  readme.findOne(rows, `select ${readme.list} from repos where uid = $1`, [repo]);
