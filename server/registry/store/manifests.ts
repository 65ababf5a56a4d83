// Table manifests: platform manifests of image indexes.

import { columns, number, type Read, type RowOf, text, time, type Write } from "#db";

export type Manifest = RowOf<typeof manifestRow>;

const manifestRow = columns({
  architecture: text,
  /** Layers and config; 64 bits. */
  sizeBytes: text,
});

/** Returns the manifests of an image, those without a variant first. */
export const findManifests = (rows: Read, repo: string, digest: string): Promise<Manifest[]> =>
  manifestRow.find(
    rows,
    `select ${manifestRow.list} from manifests where repo_uid = $1 and index_digest = $2
     order by architecture, variant, os, digest`,
    [repo, digest],
  );

export interface ManifestFact {
  readonly repo: string;
  readonly indexDigest: string;
  readonly digest: string;
  readonly os: string;
  readonly architecture: string;
  readonly variant: string;
  readonly sizeBytes: number;
  /** "" if the source does not state it. */
  readonly createTime: string;
}

const manifestFact = columns<Omit<ManifestFact, "indexDigest">>({
  repo: { ...text, sql: "repo_uid" },
  digest: text,
  os: text,
  architecture: text,
  variant: text,
  sizeBytes: number,
  createTime: time("create_time"),
});

export const findPlatformManifests = (rows: Read, repo: string, digests: readonly string[]): Promise<Omit<ManifestFact, "indexDigest">[]> =>
  manifestFact.find(
    rows,
    `select distinct ${manifestFact.list} from manifests where repo_uid = $1 and index_digest in (
       select coalesce(stored.sha256, given.digest) from unnest($2::text[]) as given(digest)
       left join repo_manifests as stored on stored.repo_uid = $1 and stored.sha512 = given.digest)`,
    [repo, digests],
  );

/** Copies what is known of the platforms of these images from another repo. */
export const copyImageFacts = async (rows: Write, repo: string, from: string, digests: readonly string[]): Promise<void> => {
  await rows.query(
    `insert into manifests (repo_uid, index_digest, digest, os, architecture, variant, size_bytes, create_time)
     select $1, index_digest, digest, os, architecture, variant, size_bytes, create_time from manifests
     where repo_uid = $2 and index_digest = any($3) order by index_digest, digest on conflict do nothing`,
    [repo, from, digests],
  );
};

export const deleteImageFacts = async (rows: Write, repo: string, digest: string): Promise<void> => {
  await rows.query("delete from manifests where repo_uid = $1 and index_digest = $2", [repo, digest]);
};

/** Inserts unknown manifests and returns their number. The content of a digest never changes. */
export const insertManifests = async (rows: Write, facts: readonly ManifestFact[]): Promise<number> => {
  if (facts.length === 0) return 0;
  const column = (of: (fact: ManifestFact) => string): string[] => facts.map(of);
  const made = await rows.query(
    `insert into manifests (repo_uid, index_digest, digest, os, architecture, variant, size_bytes, create_time)
     select repo, index_digest, digest, os, architecture, variant, size::bigint, nullif(time, '')::timestamptz
     from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[])
       as fact(repo, index_digest, digest, os, architecture, variant, size, time)
     on conflict do nothing returning 1`,
    [
      column(({ repo }) => repo),
      column(({ indexDigest }) => indexDigest),
      column(({ digest }) => digest),
      column(({ os }) => os),
      column(({ architecture }) => architecture),
      column(({ variant }) => variant),
      column(({ sizeBytes }) => String(sizeBytes)),
      column(({ createTime }) => createTime),
    ],
  );
  return made.length;
};
