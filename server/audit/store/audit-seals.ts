// Tables audit_chains and audit_progress: how far each organization's audit log goes, and how far all of them have come
// together, as texts that the secret key has sealed (server/audit/log/heads.ts).

import { columns, nullableNumber, nullableText, number, type Read, text, type Write } from "#db";

/** An organization's sealed head. */
export interface SealedHead {
  readonly root: string;
  readonly sealed: string;
}

const sealedHead = columns<SealedHead>({ root: text, sealed: text });

export const findSealedHeads = (rows: Read, roots: readonly string[]): Promise<SealedHead[]> =>
  sealedHead.find(rows, `select ${sealedHead.list} from audit_chains where root = any($1)`, [roots]);

export const writeSealedHead = async (rows: Write, root: string, sealed: string): Promise<void> => {
  await rows.query("insert into audit_chains (root, sealed) values ($1, $2) on conflict (root) do update set sealed = excluded.sealed", [root, sealed]);
};

/** The sealed progress of all chains together. */
export interface SealedProgress {
  /** Of the outbox. Beside the seal, for statements; anybody could have changed it. */
  readonly position: number;
  readonly sealed: string;
}

/** The same with the positions before it whose events are not sealed yet: beside the seal, too, for the outbox's retention. */
export interface NewSealedProgress extends SealedProgress {
  readonly setAside: readonly number[];
}

const sealedProgress = columns<SealedProgress>({ position: number, sealed: text });

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

/** Every seal, of one moment: between two statements more could be sealed. */
export const findAllSealed = async (rows: Read): Promise<AllSealed> => {
  const found = await either.find(rows, "select root, null, sealed from audit_chains union all select null, position, sealed from audit_progress");
  const heads = found.flatMap(({ root, sealed }) => (root === undefined ? [] : { root, sealed }));
  const progress = found.find(({ root }) => root === undefined);
  return { heads, progress: progress && { position: progress.position ?? 0, sealed: progress.sealed } };
};
