// Table layer_contents: what was read in layers, shared by all images with the layer. Deleted with its blob.

import { columns, expression, type Read, text, type Write } from "#db";

const packedContents = columns({ contents: expression("translate(encode(contents, 'base64'), E'\\n', '')", text) });

/** Returns packed contents that a reader of this version wrote. @param digest sha256 of the layer's blob */
export const findLayerContents = async (rows: Read, digest: string, readerVersion: number): Promise<Buffer | undefined> => {
  const found = await packedContents.findOne(rows, `select ${packedContents.list} from layer_contents where digest = $1 and reader_version = $2`, [
    digest,
    readerVersion,
  ]);
  return found && Buffer.from(found.contents, "base64");
};

/** Lets the layers of these images be read again. */
export const expireLayerContents = async (rows: Write, images: readonly { readonly repoUid: string; readonly digest: string }[]): Promise<void> => {
  await rows.query(
    `update layer_contents set reader_version = 0 where digest = any(array(
       select held.digest from layer_contents as held where reader_version > 0 and held.digest in (
         select blob from manifest_blobs join unnest($1::text[], $2::text[]) as given(repo_uid, digest)
           on manifest_blobs.repo_uid = given.repo_uid and manifest_blobs.sha256 = given.digest)
       order by held.digest for update))`,
    [images.map(({ repoUid }) => repoUid), images.map(({ digest }) => digest)],
  );
};

/** Stores them unless the blob is gone. An older reader does not replace what a newer one read. */
export const writeLayerContents = async (rows: Write, digest: string, readerVersion: number, contents: Buffer): Promise<void> => {
  await rows.query(
    `insert into layer_contents as held (digest, reader_version, contents)
     select blob.sha256, $2, given.contents from unnest($3::bytea[]) as given(contents)
     cross join (select sha256 from blobs where sha256 = $1 and remove_time is null for key share) as blob
     on conflict (digest) do update set reader_version = excluded.reader_version, contents = excluded.contents
       where held.reader_version < excluded.reader_version`,
    [digest, readerVersion, [contents]],
  );
};
