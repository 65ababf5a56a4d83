// Images whose findings are not complete yet: layers or SBOMs are to be read, or changes to be matched.

import { columns, expression, type Read, text } from "#db";
import { columnOf } from "./feed-rows.ts";

export interface ImageInRepo {
  readonly repoUid: string;
  readonly digest: string;
}

const pendingImage = columns<ImageInRepo>({ repoUid: expression("given.repo_uid", text), digest: expression("given.digest", text) });

/** Returns those of the images that are pending, each once. */
export const findPendingImages = (rows: Read, images: readonly ImageInRepo[]): Promise<ImageInRepo[]> =>
  pendingImage.find(
    rows,
    `select distinct ${pendingImage.list} from unnest($1::text[], $2::text[]) as given(repo_uid, digest)
     join repos as repo on repo.uid = given.repo_uid
     where exists (
       select from (
         select given.digest union select manifest.digest from manifests as manifest
         where manifest.repo_uid = given.repo_uid and manifest.index_digest = given.digest) as own(digest)
       where exists (
         select from image_contents as contents where contents.repo_uid = given.repo_uid and contents.digest = own.digest
           and contents.state = 'IMAGE_CONTENTS_STATE_PENDING')
         or exists (
           select from image_sboms as sbom where sbom.repo_uid = given.repo_uid and sbom.digest = own.digest
             and (sbom.state = 'IMAGE_SBOM_STATE_WAITING' or not sbom.matched)))
       or exists (
         select from changes_to_match as change where change.of_tag and change.root in ('', left(repo.uid, 40))
           and (change.repo = '' or (change.repo = repo.name and change.owner = left(repo.uid, -17))))`,
    [columnOf(images, ({ repoUid }) => repoUid), columnOf(images, ({ digest }) => digest)],
  );
