// Binds secrets that versions before 0005_bound_seals.sql sealed without a row, at the server's start. Elsewhere an
// unbound secret fails to open.

import { expression, nullableText, columns, text } from "./columns.ts";
import type { Store } from "./handle.ts";
import { clientSecretColumn } from "./identity-providers.ts";
import { lockExclusive } from "./lock.ts";
import type { SealedColumn } from "./sealed-column.ts";
import { signingKeyColumn } from "./signing-keys.ts";
import { previousSecretColumn, secretColumn } from "./subscriptions.ts";
import { type Binding, boundPrefix, type Vault } from "./vault.ts";

const sealedColumns: readonly SealedColumn[] = [signingKeyColumn, clientSecretColumn, secretColumn, previousSecretColumn];

const isUnbound = ({ column }: SealedColumn): string => `${column} <> '' and ${column} not like '${boundPrefix}%'`;

const hasUnbound = async ({ read }: Store): Promise<boolean> => {
  for (const each of sealedColumns) {
    const found = await read.query(`select 1 from ${each.table} where ${isUnbound(each)} limit 1`);
    if (found.length > 0) return true;
  }
  return false;
};

/** Reseals all unbound secrets in one locked transaction. Secrets that the key cannot open stay unusable. */
export const bindSealed = async (store: Store, vault: Pick<Vault, "seal" | "open">): Promise<void> => {
  // Without a lock: only the first start after an upgrade has work.
  if (!(await hasUnbound(store))) return;
  await store.write(async (rows) => {
    await lockExclusive(rows, "binding");
    for (const { table, key, column, purpose, boundTo, ...rest } of sealedColumns) {
      const sealedText = columns({ key: expression(key, text), sealed: expression(column, nullableText), boundTo: expression(`to_json(${boundTo})`, text) });
      const found = await sealedText.find(
        rows,
        `select ${sealedText.list} from ${table} where ${isUnbound({ table, key, column, purpose, boundTo, ...rest })} for update`,
      );
      const bound = found.flatMap(({ key: of, sealed = "", boundTo: binding }) => {
        const opened = vault.open(purpose, sealed, []);
        return opened === undefined ? [] : [{ of, sealed: vault.seal(purpose, opened, JSON.parse(binding) as Binding) }];
      });
      await rows.query(
        `update ${table} as held set ${column} = bound.sealed from unnest($1::text[], $2::text[]) as bound(key, sealed) where held.${key} = bound.key`,
        [bound.map(({ of }) => of), bound.map(({ sealed }) => sealed)],
      );
    }
  });
};
