// HTTP client for a server's sign-in: metadata, responses and error messages.

import { Fault } from "#base/fault.ts";
import { isObject, type Json, type JsonObject, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { withoutTrailing } from "#base/trailing.ts";
import { withUnseenAs } from "#base/unseen.ts";

export interface JsonResponse {
  readonly status: number;
  readonly body: JsonObject;
}

/** From its discovery document (RFC 8414). */
export interface Issuer {
  /** The issuer identifier in its tokens. */
  readonly url: string;
  /** Start of a sign-in that ends at a terminal (authentication.md: 7); OAuth authorization requests have their own path. */
  readonly signInAddress: string;
  readonly deviceEndpoint: string;
  readonly tokenEndpoint: string;
  /** "" for older servers, which have none. */
  readonly revocationEndpoint: string;
}

/** Returns a server's text without control characters. */
export const printable = (untrusted: string): string =>
  withUnseenAs(untrusted, () => " ")
    .replaceAll(/[\n\r\t]/g, " ")
    .slice(0, 500);

const untrustedCertificateCodes = new Set([
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
]);

const unreachableReason = (address: string, thrown: unknown): string => {
  const { host, hostname } = new URL(address);
  if (thrown instanceof Error && thrown.name === "TimeoutError") return `${host} does not respond`;
  const cause = thrown instanceof Error ? thrown.cause : undefined;
  const code = cause instanceof Error && "code" in cause ? String(cause.code) : "";
  if (code === "ECONNREFUSED") return `${host} refused the connection. Check that Gantry is running there`;
  if (code === "ENOTFOUND" || code === "EAI_AGAIN") return `host ${hostname} not found`;
  if (untrustedCertificateCodes.has(code)) return `the certificate of ${host} is not trusted. Set GANTRY_CA_FILE to the file of its certificate authority`;
  return `${host} cannot be reached: ${cause instanceof Error ? cause.message : String(thrown)}`;
};

const parseObject = (raw: string): JsonObject | undefined => {
  try {
    const value = JSON.parse(raw) as Json;
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
};

export interface RequestOptions {
  readonly token?: string;
  readonly form?: URLSearchParams;
  readonly json?: JsonObject;
  /** Default: POST with a body, otherwise GET. */
  readonly method?: "DELETE";
}

/** Sends a GET or POST. Throws UNAVAILABLE if there is no response or it is not a JSON object. */
export const requestJson = async (address: string, stop: AbortSignal, { form, json, token, method }: RequestOptions = {}): Promise<JsonResponse> => {
  const content = json === undefined ? form : JSON.stringify(json);
  let response: Response;
  let raw: string;
  try {
    response = await fetch(address, {
      signal: AbortSignal.any([stop, AbortSignal.timeout(limits.signInAskTimeoutMs)]),
      // Tokens and codes are meant for this address only.
      redirect: "manual",
      headers: {
        accept: "application/json",
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(json === undefined ? {} : { "content-type": "application/json" }),
      },
      ...(content === undefined ? {} : { body: content }),
      method: method ?? (content === undefined ? "GET" : "POST"),
    });
    raw = await response.text();
  } catch (thrown) {
    stop.throwIfAborted();
    throw new Fault("UNAVAILABLE", unreachableReason(address, thrown), { cause: thrown });
  }
  // A deletion has an empty response.
  const body = method === "DELETE" && raw === "" ? {} : parseObject(raw);
  if (body === undefined) throw new Fault("UNAVAILABLE", `${new URL(address).host} is not a Gantry server (HTTP ${response.status})`);
  return { status: response.status, body };
};

/** Returns the message of an OAuth or API error. */
export const refusalText = ({ status, body }: JsonResponse): string =>
  printable(text(body, "error_description") || text(body, "message") || text(body, "error") || `HTTP ${status}`);

/** Reads the discovery document of the server. */
export const discoverIssuer = async (address: string, stop: AbortSignal): Promise<Issuer> => {
  const response = await requestJson(`${withoutTrailing(address, "/")}/.well-known/openid-configuration`, stop);
  const url = text(response.body, "issuer");
  if (response.status !== 200 || url === "") throw new Fault("FAILED_PRECONDITION", `${address} is not a Gantry server (HTTP ${response.status})`);
  // RFC 8414 §3.3: otherwise one server could present another's endpoints.
  if (url !== address)
    throw new Fault("FAILED_PRECONDITION", `the public URL of the server at ${address} is ${printable(url)}. Sign in with --server ${printable(url)}`);
  const endpoint = (name: string): string => {
    const value = text(response.body, name);
    // Browsers and secrets go to these endpoints: HTTP(S) only, and TLS if the server has it.
    if (value !== "" && URL.parse(value)?.protocol !== new URL(url).protocol)
      throw new Fault("FAILED_PRECONDITION", `${address} is not a Gantry server (${name})`);
    return value;
  };
  return {
    url,
    signInAddress: `${withoutTrailing(url, "/")}/oauth`,
    deviceEndpoint: endpoint("device_authorization_endpoint"),
    tokenEndpoint: endpoint("token_endpoint"),
    revocationEndpoint: endpoint("revocation_endpoint"),
  };
};
