// A token that somebody else vouches for, exchanged at the server for one of its own (authentication.md: 3.1), and a token of the
// sign-in exchanged for a narrower one. Over plain HTTP, since whoever signs in needs nothing of the contract.

import { type Code, Fault } from "#base/fault.ts";
import { text } from "#base/json.ts";
import { refusalText, requestJson } from "./issuer-client.ts";

export interface ExchangeDraft {
  /** The token that is presented. */
  readonly token: string;
  /** The assumable identity to act as; absent: whom the token names. */
  readonly identity?: string | undefined;
  /** Whom the new token is for; empty: the server itself. */
  readonly audience?: readonly string[];
  /** Names of capabilities that it is narrowed to; empty: not. */
  readonly capabilities?: readonly string[];
  /** Uids of groups that it is narrowed to; empty: not. */
  readonly scopes?: readonly string[];
}

const codeOfStatus: Readonly<Partial<Record<number, Code>>> = {
  400: "INVALID_ARGUMENT",
  401: "UNAUTHENTICATED",
  403: "PERMISSION_DENIED",
  404: "NOT_FOUND",
  429: "RESOURCE_EXHAUSTED",
};

/** The new token. Throws a Fault with what the server says. */
export const exchangeToken = async (server: string, draft: ExchangeDraft, stop: AbortSignal): Promise<string> => {
  const form = new URLSearchParams();
  if (draft.identity !== undefined) form.set("identity", draft.identity);
  for (const audience of draft.audience ?? []) form.append("aud", audience);
  for (const capability of draft.capabilities ?? []) form.append("cap", capability);
  for (const scope of draft.scopes ?? []) form.append("scopes", scope);
  const response = await requestJson(`${server}/sts/exchange`, stop, { form, token: draft.token });
  if (response.status !== 200)
    throw new Fault(codeOfStatus[response.status] ?? (response.status >= 500 ? "UNAVAILABLE" : "FAILED_PRECONDITION"), refusalText(response));
  const token = text(response.body, "token");
  if (token === "") throw new Fault("UNAVAILABLE", `${server} returned no token for the exchange`);
  return token;
};
