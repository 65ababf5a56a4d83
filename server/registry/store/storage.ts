// Bytes that the blobs of repos use (tables blobs, repo_blobs and manifest_blobs), and the quota of their organization.

import { storageQuotas } from "#base/limits.ts";
import { columns, expression, type Read, type RowOf, text, wideCount } from "#db";

export type UsedStorage = RowOf<typeof usedStorage>;

const usedStorage = columns({
  /** 64 bits. */
  bytes: expression("coalesce(sum(size_bytes), 0)", text),
  grossBytes: expression("coalesce(sum(size_bytes * uses), 0)", text),
  blobCount: expression("count(*)", text),
});

/** Measures a repo, or everything below a group. */
export const findUsedStorage = async (rows: Read, place: string): Promise<UsedStorage> => {
  const within = "(held.repo_uid = $1 or (held.repo_uid > $1 || '/' and held.repo_uid < $1 || '0'))";
  const found = await usedStorage.findOne(
    rows,
    `with needed as (
       select held.repo_uid, held.blob as sha256, count(*) as uses from manifest_blobs as held where ${within} group by 1, 2
     ), given as (
       select held.sha256, sum(coalesce(needed.uses, 1)) as uses from repo_blobs as held left join needed using (repo_uid, sha256) where ${within} group by 1
     ) select ${usedStorage.list} from given join blobs using (sha256)`,
    [place],
    wideCount,
  );
  return found ?? { bytes: "0", grossBytes: "0", blobCount: "0" };
};

export type StorageQuota = RowOf<typeof storageQuota>;

const storageQuota = columns({
  usedBytes: expression("(select coalesce(sum(row_count), 0) from resource_counts where organization = $1 and resource = 'blob_bytes')", text),
  quotaBytes: expression(
    `coalesce((select value from quotas where organization = $1 and name = 'blob-bytes'),
       (select value from quotas where organization = '' and name = 'blob-bytes'), $2::bigint)`,
    text,
  ),
});

export const findStorageQuota = (rows: Read, organization: string): Promise<StorageQuota | undefined> =>
  storageQuota.findOne(rows, `select ${storageQuota.list}`, [organization, storageQuotas["blob-bytes"]]);
