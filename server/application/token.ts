// Mints tokens for any identity on the operator's command, with an audit entry.

import { openKeys, signToken } from "#signing";
import { operatorUid } from "#base/operator.ts";
import { systemClock, timestamp } from "#base/time.ts";
import type { Services } from "#kernel";
import { recordSignIn } from "#outbox";
import { openVault } from "#db";
import { commandOrigin } from "./command-record.ts";
import { type DatabaseOptions, openDatabase } from "./database.ts";
import type { Settings } from "./settings.ts";

/** Mints a token for an identity, by default the operator, with the lifetime of an access token. */
export const mintToken = async (
  { authn, store, clock, publicUrl }: Pick<Services, "store" | "clock" | "publicUrl"> & { readonly authn: Pick<Services["authn"], "mint"> },
  identity: string = operatorUid,
  audience: string = publicUrl,
): Promise<string> => {
  const requestSource = { origin: commandOrigin("token"), requestId: "" };
  await store.write((rows) =>
    recordSignIn(rows, publicUrl, { identity, caller: operatorUid, act: undefined, operation: "gantry token", requestSource, time: timestamp(clock()) }),
  );
  return authn.mint({ uid: identity, audience: [audience] });
};

export interface OperatorTokenOptions extends Omit<DatabaseOptions, "settings"> {
  readonly settings: Settings;
}

/** Mints the operator's token with the database and the keys alone: opening the application takes ten times as long. */
export const mintOperatorToken = async (options: OperatorTokenOptions, audience: string | undefined): Promise<string> => {
  const { secretKeyFile, dataDirectory, databaseUrl, publicUrl } = options.settings;
  const ownVault = (): ReturnType<typeof openVault> => openVault({ file: secretKeyFile, dataDirectory, required: databaseUrl !== undefined });
  // A wrong file is reported before anything is created or migrated. Without one, the key is in the data directory.
  const given = secretKeyFile === undefined ? undefined : await ownVault();
  const store = await openDatabase(options);
  try {
    const keys = await openKeys(store, given ?? (await ownVault()), systemClock, options.log);
    const mint: Services["authn"]["mint"] = async (request) => (await signToken(keys, systemClock, publicUrl, request)).token;
    return await mintToken({ store, authn: { mint }, clock: systemClock, publicUrl }, undefined, audience);
  } finally {
    await store.close();
  }
};
