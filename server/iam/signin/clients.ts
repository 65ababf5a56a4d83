// Clients that can get an authorization code, and their redirect URIs (docs/decisions/0050):
//
//   <public URL>/docs       this server's own pages, with one redirect URI
//   <public URL>/console    the console, with itself as redirect URI
//   https://…               a page listed in GANTRY_REDIRECT_URIS, with itself as redirect URI
//   NAME                    a program listed in GANTRY_CLIENTS
//   https://…               any client that publishes a Client ID Metadata Document there
//
// Clients have no secret and choose their own name. Only the host of a client's document cannot be forged.

import { Fault, invalid } from "#base/fault.ts";
import { type JsonObject, text, texts } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { furtherNamesOf } from "#base/own-audiences.ts";
import { isLoopbackAddress, isRedirectAddress } from "#base/redirect-address.ts";
import { withoutTrailing } from "#base/trailing.ts";
import { consoleClientOf, type SignInSettings, urlOfPath } from "./settings.ts";

export interface Client {
  /** Trust anchor of the client: this server (also for listed pages), the operator's list of programs, or the document's host. */
  readonly kind: "own" | "listed" | "document";
  readonly id: string;
  /** Name that the client gives itself; "" if none. */
  readonly name: string;
  /** Host of the client's document; "" if none. */
  readonly host: string;
  readonly redirectUris: readonly string[];
}

const docsPath = "/docs";
const docsRedirectPath = "/docs/signed-in";

/** The document names its own URL, so its client may read the reason. */
const unfitDocument = (why: string): Fault =>
  new Fault("INVALID_ARGUMENT", `the client metadata document is invalid: ${why}`, { details: [{ kind: "reason", reason: "invalid_client" }] });

const readClient = (id: string, document: JsonObject): Client | string => {
  const redirectUris = texts(document, "redirect_uris");
  if (!Array.isArray(document.redirect_uris) || redirectUris.length !== document.redirect_uris.length) return "redirect_uris is not a list of texts";
  if (redirectUris.length > limits.clientRedirectsMax) return "redirect_uris is too long";
  if ("client_secret" in document || "client_secret_expires_at" in document) return "it has a secret, but the document is public";
  if (document.token_endpoint_auth_method !== undefined && document.token_endpoint_auth_method !== "none")
    return "only public clients are known here: token_endpoint_auth_method must be none";
  if (document.grant_types !== undefined && !texts(document, "grant_types").includes("authorization_code"))
    return "it does not use the grant authorization_code";
  if (document.response_types !== undefined && !texts(document, "response_types").includes("code")) return "it does not use the response type code";
  return { kind: "document", id, name: text(document, "client_name"), host: new URL(id).host, redirectUris: redirectUris.filter(isRedirectAddress) };
};

const hostWithoutDot = ({ hostname }: URL): string => withoutTrailing(hostname, ".");

/** A port serves both TLS and plain HTTP, so 80 and 443 count as one. */
const hostAndPortOf = (url: URL): string => `${hostWithoutDot(url)}:${url.port.replace(/^(?:80|443)$/, "")}`;

/** Further host names count with any port, the public URL's host only with its own: on a developer's machine another port is another program's. */
const isOwnAddress = ({ publicUrl, audiences }: SignInSettings, address: string): boolean => {
  const url = URL.parse(address);
  return url !== null && (hostAndPortOf(url) === hostAndPortOf(new URL(publicUrl)) || furtherNamesOf(audiences).has(hostWithoutDot(url)));
};

/** Finds a client by its ID. Throws INVALID_ARGUMENT if it is unknown, RESOURCE_EXHAUSTED beyond the rate limit. */
export const findClient = async (settings: SignInSettings, id: string, address: string): Promise<Client> => {
  const own = urlOfPath(settings, docsPath);
  if (id === own) return { kind: "own", id, name: "", host: "", redirectUris: [urlOfPath(settings, docsRedirectPath)] };
  const ownConsole = consoleClientOf(settings);
  if (id === ownConsole && settings.consoleBuild) return { kind: "own", id, name: "", host: "", redirectUris: [ownConsole] };
  if (settings.redirectUris.includes(id)) return { kind: "own", id, name: "", host: "", redirectUris: [id] };
  const listed = settings.clients.filter((each) => each.id === id);
  if (listed.length > 0) return { kind: "listed", id, name: "", host: "", redirectUris: listed.map(({ redirectUri }) => redirectUri) };
  // This server's own URLs can serve third-party content, such as feed records, which must not become a client in this server's
  // name.
  if (isOwnAddress(settings, id)) throw unfitDocument("this server vouches for its own pages alone");
  const client = readClient(id, await settings.authn.clientDocument(id, address));
  if (typeof client === "string") throw unfitDocument(client);
  return client;
};

const withoutLoopbackPort = (address: string): string => {
  const url = URL.parse(address);
  return url !== null && isLoopbackAddress(url) ? address.replace(/^(http:\/\/(?:\[::1\]|[^/?:[\]]+)):\d{1,5}(?=[/?]|$)/, "$1") : address;
};

/**
 * Checks that the client has registered this redirect URI, character by character. The port of a loopback address may differ (RFC 8252
 * §7.3; RFC 9700 §4.1.3). Throws INVALID_ARGUMENT.
 */
export const checkRedirect = ({ id, redirectUris }: Client, address: string): void => {
  const isPage = redirectUris.includes(id);
  const asked = isRedirectAddress(address) && (!isPage || address === id) ? withoutLoopbackPort(address) : undefined;
  if (asked === undefined || !redirectUris.some((listed) => withoutLoopbackPort(listed) === asked))
    throw invalid([{ field: "redirect_uri", description: "is not an address that this client has registered" }]);
};
