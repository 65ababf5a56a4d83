// Table subscriptions: secrets, and how long each sink has been failing.

import { type Binding, columns, type Read, text, type Write } from "#db";

/** Both secrets share the binding, because the current one becomes the previous one. */
export const subscriptionSecretPurpose = "subscription secret";
export const subscriptionSecretBinding = (uid: string): Binding => [uid];

const secret = columns({ secretSealed: text });

/** Returns the sealed secret, or "". */
export const findSubscriptionSecret = async (rows: Read, uid: string): Promise<string> =>
  (await secret.findOne(rows, `select ${secret.list} from subscriptions where uid = $1`, [uid]))?.secretSealed ?? "";

export const clearFailing = async (rows: Write, uids: readonly string[]): Promise<void> => {
  await rows.query("update subscriptions set failing_since = null where uid = any($1) and failing_since is not null", [uids]);
};

/** Keeps the start of an earlier failure. */
export const markFailing = async (rows: Write, uids: readonly string[], now: string): Promise<void> => {
  await rows.query("update subscriptions set failing_since = $2 where uid = any($1) and failing_since is null", [uids, now]);
};

const uidOnly = columns({ uid: text });

/** Locks and returns enabled subscriptions with sinks failing since before `since`. */
export const lockFailing = async (rows: Write, uids: readonly string[], since: string): Promise<string[]> => {
  const statement = `select ${uidOnly.list} from subscriptions where uid = any($1) and enabled and failing_since < $2 order by uid for update`;
  return (await uidOnly.find(rows, statement, [uids, since])).map(({ uid }) => uid);
};

/** Returns organizations with an enabled subscription directly at the organization. */
export const findListeningOrganizations = async (rows: Read, organizations: readonly string[], type: string): Promise<string[]> =>
  (
    await uidOnly.find(
      rows,
      `select distinct left(uid, 40) as uid from subscriptions
       where left(uid, -17) = any($1) and enabled and (event_types is null or event_types ? $2)`,
      [organizations, type],
    )
  ).map(({ uid }) => uid);
