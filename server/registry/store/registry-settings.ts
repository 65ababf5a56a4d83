// Table registry_settings: what holds for the repos of an organization unless they say otherwise. A row goes with its organization.

import { columns, flag, type Read, type Write } from "#db";

export interface RegistrySettings {
  /** Each build gets a tag of its own. */
  readonly uniqueTags: boolean;
  /** Tags of what has reached its end are kept for a while. */
  readonly eolGracePeriod: boolean;
}

const settings = columns<RegistrySettings>({ uniqueTags: flag, eolGracePeriod: flag });

/** What the organization has said; neither where it has said nothing. */
export const findRegistrySettings = async (rows: Read, root: string): Promise<RegistrySettings> =>
  (await settings.findOne(rows, `select ${settings.list} from registry_settings where root_uid = $1`, [root])) ?? { uniqueTags: false, eolGracePeriod: false };

export const writeRegistrySettings = async (rows: Write, root: string, { uniqueTags, eolGracePeriod }: RegistrySettings): Promise<void> => {
  await rows.query(
    `insert into registry_settings (root_uid, unique_tags, eol_grace_period) values ($1, $2, $3)
     on conflict (root_uid) do update set unique_tags = excluded.unique_tags, eol_grace_period = excluded.eol_grace_period`,
    [root, uniqueTags, eolGracePeriod],
  );
};
