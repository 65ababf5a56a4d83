// The server that is signed in to, as a client sees it: questions over HTTP, and plain words where no answer comes.

import { Fault } from "#base/fault.ts";
import { isObject, type Json, type JsonObject, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";

export interface Reply {
  readonly status: number;
  readonly body: JsonObject;
}

export interface Issuer {
  /** Its own name, which its tokens carry. */
  readonly url: string;
  readonly authorizationEndpoint: string;
  readonly deviceEndpoint: string;
  readonly tokenEndpoint: string;
}

/** What somebody else's text may do to a terminal, taken away. */
export const clean = (words: string): string => words.replaceAll(/[\p{Cc}\p{Cf}]/gu, " ").slice(0, 500);

const untrusted = new Set(["DEPTH_ZERO_SELF_SIGNED_CERT", "SELF_SIGNED_CERT_IN_CHAIN", "UNABLE_TO_VERIFY_LEAF_SIGNATURE", "UNABLE_TO_GET_ISSUER_CERT_LOCALLY"]);

const whyNot = (address: string, thrown: unknown): string => {
  const { host, hostname } = new URL(address);
  if (thrown instanceof Error && thrown.name === "TimeoutError") return `${host} does not answer`;
  const cause = thrown instanceof Error ? thrown.cause : undefined;
  const code = cause instanceof Error && "code" in cause ? String(cause.code) : "";
  if (code === "ECONNREFUSED") return `nothing listens at ${host}: is Gantry running there?`;
  if (code === "ENOTFOUND" || code === "EAI_AGAIN") return `there is no host ${hostname}`;
  if (untrusted.has(code)) return `the certificate of ${host} is not trusted here; NODE_EXTRA_CA_CERTS may name the file of its authority`;
  return `${host} cannot be reached: ${cause instanceof Error ? cause.message : String(thrown)}`;
};

/** Asks; with a form it posts. Throws UNAVAILABLE where no answer comes, also one that is no JSON. */
export const ask = async (address: string, stop: AbortSignal, more: { readonly form?: URLSearchParams; readonly token?: string } = {}): Promise<Reply> => {
  const { form, token } = more;
  let response: Response;
  let raw: string;
  try {
    response = await fetch(address, {
      signal: AbortSignal.any([stop, AbortSignal.timeout(limits.signInAskTimeoutMs)]),
      // A token or code is meant for this address and no other.
      redirect: "manual",
      headers: { accept: "application/json", ...(token === undefined ? {} : { authorization: `Bearer ${token}` }) },
      ...(form === undefined ? {} : { method: "POST", body: form }),
    });
    raw = await response.text();
  } catch (thrown) {
    stop.throwIfAborted();
    throw new Fault("UNAVAILABLE", whyNot(address, thrown), { cause: thrown });
  }
  const body = parsed(raw);
  if (body === undefined) throw new Fault("UNAVAILABLE", `${new URL(address).host} does not answer as Gantry does (HTTP ${response.status})`);
  return { status: response.status, body };
};

const parsed = (raw: string): JsonObject | undefined => {
  try {
    const value = JSON.parse(raw) as Json;
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
};

/** What a refusal says: OAuth's words or those of the API. */
export const reasonOf = ({ status, body }: Reply): string =>
  clean(text(body, "error_description") || text(body, "message") || text(body, "error") || `HTTP ${status}`);

/** Looks the server up by its address. */
export const findIssuer = async (address: string, stop: AbortSignal): Promise<Issuer> => {
  const reply = await ask(`${address.replace(/\/+$/, "")}/.well-known/openid-configuration`, stop);
  const url = text(reply.body, "issuer");
  if (reply.status !== 200 || url === "") throw new Fault("FAILED_PRECONDITION", `${address} does not answer as Gantry does (HTTP ${reply.status})`);
  // RFC 8414, 3.3: otherwise one server could hand out another's addresses.
  if (url !== address) throw new Fault("FAILED_PRECONDITION", `the server at ${address} is called ${clean(url)}; sign in with --issuer ${clean(url)}`);
  const endpoint = (name: string): string => {
    const value = text(reply.body, name);
    // A browser is sent to one of them, and secrets to the others: to nothing but the web, and as safely as to the server.
    if (value !== "" && URL.parse(value)?.protocol !== new URL(url).protocol)
      throw new Fault("FAILED_PRECONDITION", `${address} does not answer as Gantry does (${name})`);
    return value;
  };
  return {
    url,
    authorizationEndpoint: endpoint("authorization_endpoint"),
    deviceEndpoint: endpoint("device_authorization_endpoint"),
    tokenEndpoint: endpoint("token_endpoint"),
  };
};
