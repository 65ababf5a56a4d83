// Tables audit_chains and audit_progress: each organization's chain end and the overall progress, sealed with the
// secret key (server/audit/log/heads.ts).

import { columns, nullableNumber, nullableText, number, type Read, type RowOf, text, type Write } from "#db";

export type SealedHead = RowOf<typeof sealedHead>;

const sealedHead = columns({ root: text, sealed: text });

export const findSealedHeads = (rows: Read, roots: readonly string[]): Promise<SealedHead[]> =>
  sealedHead.find(rows, `select ${sealedHead.list} from audit_chains where root = any($1)`, [roots]);

export const writeSealedHead = async (rows: Write, root: string, sealed: string): Promise<void> => {
  await rows.query("insert into audit_chains (root, sealed) values ($1, $2) on conflict (root) do update set sealed = excluded.sealed", [root, sealed]);
};

export type SealedProgress = RowOf<typeof sealedProgress>;

/** Adds earlier outbox positions not yet sealed; unsealed too, for the outbox's retention. */
export interface NewSealedProgress extends SealedProgress {
  readonly setAside: readonly number[];
}

const sealedProgress = columns({
  /** In the outbox. An unsealed copy for SQL, so untrusted. */
  position: number,
  sealed: text,
});

export const findSealedProgress = (rows: Read): Promise<SealedProgress | undefined> =>
  sealedProgress.findOne(rows, `select ${sealedProgress.list} from audit_progress`);

const writeProgressText = `
  insert into audit_progress (position, sealed, set_aside) values ($1, $2, $3)
  on conflict (one) do update set position = excluded.position, sealed = excluded.sealed, set_aside = excluded.set_aside`;

export const writeSealedProgress = async (rows: Write, { position, sealed, setAside }: NewSealedProgress): Promise<void> => {
  await rows.query(writeProgressText, [position, sealed, setAside.map(String)]);
};

export interface AllSealed {
  readonly heads: readonly SealedHead[];
  readonly progress: SealedProgress | undefined;
}

const either = columns({ root: nullableText, position: nullableNumber, sealed: text });

/** One statement, for a consistent snapshot. */
export const findAllSealed = async (rows: Read): Promise<AllSealed> => {
  const found = await either.find(rows, "select root, null, sealed from audit_chains union all select null, position, sealed from audit_progress");
  const heads = found.flatMap(({ root, sealed }) => (root === undefined ? [] : { root, sealed }));
  const progress = found.find(({ root }) => root === undefined);
  return { heads, progress: progress && { position: progress.position ?? 0, sealed: progress.sealed } };
};
