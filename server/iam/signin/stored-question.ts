// A question that a page asks once: what it is about is sealed in a row, the form carries a secret that finds the row, and the
// answer takes the row. So an answer counts once, only from the browser that was shown the page (confirm.ts), and only until
// the question expires, on every server.

import type { EndpointAnswer, EndpointRequest } from "#base/endpoint.ts";
import { isUid } from "#base/uid.ts";
import type { Binding } from "#db";
import { deleteSomeExpiredSignIns, insertSignIn, takeSignIn } from "#iam/store";
import { type ConfirmationQuestion, isConfirmed, questionPage } from "./confirm.ts";
import { newSecret, secretHashOf } from "./secret.ts";
import type { SignInSettings } from "./settings.ts";

type Settings = Pick<SignInSettings, "store" | "vault" | "clock" | "openRows" | "publicUrl">;

export interface StoredQuestion {
  /** The kind of question: a row of one kind answers no other. */
  readonly purpose: string;
  readonly identityProviderUid: string;
  /** What the answer needs: plain values. */
  readonly about: unknown;
  readonly lifetimeMs: number;
}

/** The hidden field that finds the row. */
const fieldName = "question";

interface Found {
  readonly identityProviderUid: string;
  readonly stateHash: string;
  readonly browserHash: string;
}

/** The row's key. Nothing but the field finds it, and the field is a secret. */
const questionKey = (field: string): Found | undefined => {
  const [identityProviderUid = "", secret = "", another] = field.split(" ");
  if (!isUid(identityProviderUid) || secret === "" || another !== undefined) return undefined;
  return { identityProviderUid, stateHash: secretHashOf(`question ${secret}`), browserHash: secretHashOf(`answer ${secret}`) };
};

const bindingOf = ({ stateHash, identityProviderUid }: Found): Binding => [stateHash, identityProviderUid];

/** Stores the question and returns its page. Throws RESOURCE_EXHAUSTED if the address has too many sign-ins open. */
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
  // "Lax": the page comes behind a redirect from another site, and must not end the pages that this browser has open.
  return questionPage(settings, request, field, { ...page, hidden: [[fieldName, field]] }, "Lax");
};

/** What became of an answer. */
export interface Answered {
  /** The form is from the page that this browser was shown. */
  readonly isConfirmed: boolean;
  /** What the question is about; undefined if it was answered before, or too late, or if the form is not from its page. */
  readonly about: string | undefined;
}

/** Takes the row of the answered question: of all submissions one gets it. A form that is not from the page takes nothing. */
export const takeAnswered = async ({ store, vault, clock, publicUrl }: Settings, request: EndpointRequest, purpose: string): Promise<Answered> => {
  const field = request.form.get(fieldName) ?? "";
  if (!isConfirmed({ publicUrl, vault, clock }, request, field, "Lax")) return { isConfirmed: false, about: undefined };
  const key = questionKey(field);
  const row = key && (await store.write((rows) => takeSignIn(rows, key, clock())));
  return { isConfirmed: true, about: key && row && vault.open(purpose, row.sealed, bindingOf(key)) };
};
