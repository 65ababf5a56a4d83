// Table registry_settings: an organization's defaults for its repos.

import { columns, flag, type Read, type RowOf, type Write } from "#db";

export type RegistrySettings = RowOf<typeof settings>;

const settings = columns({
  /** Each build gets its own tag. */
  uniqueTags: flag,
  /** Tags past their end of life are kept for a grace period. */
  eolGracePeriod: flag,
});

export const findRegistrySettings = async (rows: Read, root: string): Promise<RegistrySettings> =>
  (await settings.findOne(rows, `select ${settings.list} from registry_settings where root_uid = $1`, [root])) ?? { uniqueTags: false, eolGracePeriod: false };

export const writeRegistrySettings = async (rows: Write, root: string, { uniqueTags, eolGracePeriod }: RegistrySettings): Promise<void> => {
  await rows.query(
    `insert into registry_settings (root_uid, unique_tags, eol_grace_period) values ($1, $2, $3)
     on conflict (root_uid) do update set unique_tags = excluded.unique_tags, eol_grace_period = excluded.eol_grace_period`,
    [root, uniqueTags, eolGracePeriod],
  );
};
