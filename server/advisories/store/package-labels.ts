// Table package_labels: names of the packages that images of an organization have or had. Triggers of image_packages, image_sboms and
// image_contents write it; a name stays after its last image, until the organization is deleted.

import { columns, type Read, text } from "#db";

const packageLabel = columns({ name: text });

/** Returns the names of all packages in images of an organization, each once, and possibly those of images that no longer exist. */
export const findPackageLabels = async (rows: Read, root: string): Promise<string[]> =>
  (await packageLabel.find(rows, `select ${packageLabel.list} from package_labels where root = $1`, [root])).map(({ name }) => name);
