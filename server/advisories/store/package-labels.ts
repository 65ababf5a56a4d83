// Table package_labels: names of the packages that images of an organization have, and of some that they had. Triggers of image_packages,
// image_sboms and image_contents add names. Matching, which holds the organization's lock, adds those of images that have tags again, and
// deletes names without images.

import { columns, type Read, text, type Write } from "#db";

const packageLabel = columns({ name: text });

/** Returns names of packages in images of an organization, each once. */
export const findPackageLabels = async (rows: Read, root: string, limit: number): Promise<string[]> =>
  (await packageLabel.find(rows, `select ${packageLabel.list} from package_labels where root = $1 limit $2`, [root, limit])).map(({ name }) => name);

/** In order, as the triggers. */
export const addPackageLabels = async (rows: Write, root: string, names: readonly string[]): Promise<void> => {
  await rows.query(
    `insert into package_labels (root, name) select $1, name from unnest($2::text[]) as given(name)
     where not exists (select from package_labels as held where held.root = $1 and held.name = given.name) order by name on conflict do nothing`,
    [root, names],
  );
};

/** Deletes the other names. One that an image adds meanwhile is added again when its repo is matched. */
export const replacePackageLabels = async (rows: Write, root: string, names: readonly string[]): Promise<void> => {
  await addPackageLabels(rows, root, names);
  await rows.query(
    `with given as materialized (select name from unnest($2::text[]) as given(name))
     delete from package_labels where root = $1 and name not in (select name from given)`,
    [root, names],
  );
};
