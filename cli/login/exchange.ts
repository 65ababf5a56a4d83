// Exchanges an external token for one of the server (authentication.md: 3.1), or a token for a narrower one. Plain HTTP, so that
// a sign-in loads nothing of the contract.

import { type Code, Fault } from "#base/fault.ts";
import { text } from "#base/json.ts";
import { refusalText, requestJson } from "./issuer-client.ts";

export interface ExchangeDraft {
  readonly token: string;
  /** The assumable identity to act as; undefined for the token's own subject. */
  readonly identity?: string | undefined;
  /** Audience of the new token; empty for the server itself. */
  readonly audience?: readonly string[];
  /** Capabilities to narrow it to; empty for no narrowing. */
  readonly capabilities?: readonly string[];
  /** Uids of groups to narrow it to; empty for no narrowing. */
  readonly scopes?: readonly string[];
}

const codeOfStatus: Readonly<Partial<Record<number, Code>>> = {
  400: "INVALID_ARGUMENT",
  401: "UNAUTHENTICATED",
  403: "PERMISSION_DENIED",
  404: "NOT_FOUND",
  429: "RESOURCE_EXHAUSTED",
};

/** Returns the new token. Throws a Fault with the server's message. */
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
