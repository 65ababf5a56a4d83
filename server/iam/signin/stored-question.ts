// A question that can be answered once. Its content is sealed in a row, the form carries a secret that finds the row, and the answer
// deletes it. Only the browser that was shown the page can answer (confirm.ts).

import type { EndpointAnswer, EndpointRequest } from "#base/endpoint.ts";
import { isUid } from "#base/uid.ts";
import type { Binding } from "#db";
import { deleteSomeExpiredSignIns, insertSignIn, takeSignIn } from "#iam/store";
import { type ConfirmationQuestion, isConfirmed, questionPage } from "./confirm.ts";
import { newSecret, secretHashOf } from "./secret.ts";
import type { SignInSettings } from "./settings.ts";

type Settings = Pick<SignInSettings, "store" | "vault" | "clock" | "openRows" | "publicUrl">;

export interface StoredQuestion {
  readonly purpose: string;
  readonly identityProviderUid: string;
  readonly about: unknown;
  readonly lifetimeMs: number;
}

const fieldName = "question";

interface Found {
  readonly identityProviderUid: string;
  readonly stateHash: string;
  readonly browserHash: string;
}

const questionKey = (field: string): Found | undefined => {
  const [identityProviderUid = "", secret = "", another] = field.split(" ");
  if (!isUid(identityProviderUid) || secret === "" || another !== undefined) return undefined;
  return { identityProviderUid, stateHash: secretHashOf(`question ${secret}`), browserHash: secretHashOf(`answer ${secret}`) };
};

const bindingOf = ({ stateHash, identityProviderUid }: Found): Binding => [stateHash, identityProviderUid];

/** Stores the question and returns its page. Throws RESOURCE_EXHAUSTED if the address has too many open sign-ins. */
export const askOnce = async (
  settings: Settings,
  request: EndpointRequest,
  { purpose, identityProviderUid, about, lifetimeMs }: StoredQuestion,
  page: Pick<ConfirmationQuestion, "paragraphs" | "path"> & { readonly title: string; readonly form: string },
): Promise<EndpointAnswer> => {
  const { store, vault, clock, openRows } = settings;
  const field = `${identityProviderUid} ${newSecret()}`;
  const key = questionKey(field);
  if (!key) throw new Error("the uid of the identity provider is none");
  await store.write(async (rows) => {
    await deleteSomeExpiredSignIns(rows, clock());
    const addressHash = await openRows.admit(rows, "sign_ins", request.origin.address, clock());
    const sealed = vault.seal(purpose, JSON.stringify(about), bindingOf(key));
    await insertSignIn(rows, { ...key, addressHash, sealed, expireTimeMs: clock() + lifetimeMs });
  });
  // "Lax": the page follows a redirect from another site, and must not break other open pages.
  return questionPage(settings, request, field, { ...page, hidden: [[fieldName, field]] }, "Lax");
};

export interface Answered {
  /** The form is from the page that this browser was shown. */
  readonly isConfirmed: boolean;
  /** Undefined if already answered, expired or unconfirmed. */
  readonly about: string | undefined;
}

/** Deletes the row of the answered question; of concurrent submissions one gets it. An unconfirmed form deletes nothing. */
export const takeAnswered = async ({ store, vault, clock, publicUrl }: Settings, request: EndpointRequest, purpose: string): Promise<Answered> => {
  const field = request.form.get(fieldName) ?? "";
  if (!isConfirmed({ publicUrl, vault, clock }, request, field, "Lax")) return { isConfirmed: false, about: undefined };
  const key = questionKey(field);
  const row = key && (await store.write((rows) => takeSignIn(rows, key, clock())));
  return { isConfirmed: true, about: key && row && vault.open(purpose, row.sealed, bindingOf(key)) };
};
