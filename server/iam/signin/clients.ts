// Who may be given an authorization code, and at which addresses (docs/decisions/0050):
//
//   <public URL>/docs       this server's own pages, at one address
//   https://…               a page that the operator lists (GANTRY_REDIRECT_URIS), at that one address
//   NAME                    whom the operator lists (GANTRY_CLIENTS)
//   https://…               whoever has a document there that says so (Client ID Metadata Documents)
//
// A client has no secret: what it is called is its own word, and what cannot be made up is the host that has its document.

import { Fault, invalid } from "#base/fault.ts";
import { type JsonObject, text, texts } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { furtherNamesOf } from "#base/own-audiences.ts";
import { isLoopbackAddress, isRedirectAddress } from "#base/redirect-address.ts";
import { withoutTrailing } from "#base/trailing.ts";
import { type SignInSettings, urlOfPath } from "./settings.ts";

export interface Client {
  /** What vouches for it: this server (a page of its own, or one that the operator lists), the operator's list of programs, or the host of its document. */
  readonly kind: "own" | "listed" | "document";
  readonly id: string;
  /** What it calls itself; "" where it does not. */
  readonly name: string;
  /** The host of its document; "" where it has none. */
  readonly host: string;
  readonly redirectUris: readonly string[];
}

const docsPath = "/docs";
const docsRedirectPath = "/docs/signed-in";

/** A document that names its own address is its client's, who may know what is wrong with it. */
const unfitDocument = (why: string): Fault =>
  new Fault("INVALID_ARGUMENT", `the client metadata document is invalid: ${why}`, { details: [{ kind: "reason", reason: "invalid_client" }] });

/** The client that a document describes; a text: why it cannot be one here. */
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

/** A name may end in a dot. */
const hostWithoutDot = ({ hostname }: URL): string => withoutTrailing(hostname, ".");

/** Host and port, one for all that lead to the same: a port answers with TLS and without. */
const hostAndPortOf = (url: URL): string => `${hostWithoutDot(url)}:${url.port.replace(/^(?:80|443)$/, "")}`;

/**
 * Whether what lies at the address is this server's. Of its further names nobody has said the port: each of them counts. At the public URL's
 * another port is another program's, as on a machine where both are tried.
 */
const isOwnAddress = ({ publicUrl, audiences }: SignInSettings, address: string): boolean => {
  const url = URL.parse(address);
  return url !== null && (hostAndPortOf(url) === hostAndPortOf(new URL(publicUrl)) || furtherNamesOf(audiences).has(hostWithoutDot(url)));
};

/** The client of that id. Throws INVALID_ARGUMENT for whatever is none, RESOURCE_EXHAUSTED. */
export const findClient = async (settings: SignInSettings, id: string, address: string): Promise<Client> => {
  const own = urlOfPath(settings, docsPath);
  if (id === own) return { kind: "own", id, name: "", host: "", redirectUris: [urlOfPath(settings, docsRedirectPath)] };
  // A page of the operator is a client by its own address, compared as a whole string.
  if (settings.redirectUris.includes(id)) return { kind: "own", id, name: "", host: "", redirectUris: [id] };
  const listed = settings.clients.filter((each) => each.id === id);
  if (listed.length > 0) return { kind: "listed", id, name: "", host: "", redirectUris: listed.map(({ redirectUri }) => redirectUri) };
  // What lies at this server's own addresses may say what somebody has written, in this server's name: records of feeds go out as they came in.
  if (isOwnAddress(settings, id)) throw unfitDocument("this server vouches for its own pages alone");
  const client = readClient(id, await settings.authn.clientDocument(id, address));
  if (typeof client === "string") throw unfitDocument(client);
  return client;
};

/** An address on the person's own machine without its port, as text; any other as it is. */
const withoutLoopbackPort = (address: string): string => {
  const url = URL.parse(address);
  return url !== null && isLoopbackAddress(url) ? address.replace(/^(http:\/\/(?:\[::1\]|[^/?:[\]]+)):\d{1,5}(?=[/?]|$)/, "$1") : address;
};

/**
 * Whether the client has listed this address: character for character, but for the port of a program on the person's own
 * machine, which is given one that is free (RFC 8252, 7.3; RFC 9700, 4.1.3). Throws INVALID_ARGUMENT.
 */
export const checkRedirect = ({ id, redirectUris }: Client, address: string): void => {
  // A page of the operator is its own client: the whole string, with its port.
  const isPage = redirectUris.includes(id);
  const asked = isRedirectAddress(address) && (!isPage || address === id) ? withoutLoopbackPort(address) : undefined;
  if (asked === undefined || !redirectUris.some((listed) => withoutLoopbackPort(listed) === asked))
    throw invalid([{ field: "redirect_uri", description: "is not an address that this client has registered" }]);
};
