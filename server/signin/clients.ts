// Who may be given an authorization code, and at which addresses (docs/decisions/0050):
//
//   <public URL>/docs       this server's own pages, at one address
//   https://…               whoever has a document there that says so (Client ID Metadata Documents)
//
// A client has no secret: what it is called is its own word, and what cannot be made up is the host that has its document.

import { Fault, invalid } from "#base/fault.ts";
import { type JsonObject, text, texts } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { isLoopbackAddress } from "./redirect.ts";
import { type SignInSettings, urlOfPath } from "./settings.ts";

export interface Client {
  readonly id: string;
  /** What it calls itself; "" where it does not. */
  readonly name: string;
  /** The host that vouches for it; "" for this server's own pages. */
  readonly host: string;
  readonly redirectUris: readonly string[];
}

const docsPath = "/docs";
const docsRedirectPath = "/docs/signed-in";

/** This server's own pages: they ask nobody for consent, since they are where the person is already. */
export const isOwnClient = ({ host }: Client): boolean => host === "";

/** A document that names its own address is its client's, who may know what is wrong with it. */
const unfitDocument = (why: string): Fault =>
  new Fault("INVALID_ARGUMENT", `the client's document does not fit: ${why}`, { details: [{ kind: "reason", reason: "invalid_client" }] });

/** RFC 8252, 7.1: by a name in a domain, turned around. Nothing that browsers run or open by themselves has a dot. */
const isPrivateScheme = (scheme: string): boolean => scheme.includes(".");

/** Whether a code may be sent to such an address at all. Visible ASCII: the very text is compared, and followed by browsers. */
const isRedirectAddress = (address: string): boolean => {
  const url = /^[\x21-\x7e]+$/.test(address) && !address.includes("\\") && address.length <= limits.redirectLengthMax ? URL.parse(address) : null;
  if (url === null || url.username !== "" || url.password !== "" || address.includes("#")) return false;
  return url.protocol === "https:" || isLoopbackAddress(url) || isPrivateScheme(url.protocol);
};

/** The client that a document describes; a text: why it cannot be one here. */
const readClient = (id: string, document: JsonObject): Client | string => {
  const redirectUris = texts(document, "redirect_uris");
  if (!Array.isArray(document.redirect_uris) || redirectUris.length !== document.redirect_uris.length) return "redirect_uris is not a list of texts";
  if (redirectUris.length > limits.clientRedirectsMax) return "redirect_uris is too long";
  if ("client_secret" in document || "client_secret_expires_at" in document) return "it has a secret, and everybody can read it";
  if (document.token_endpoint_auth_method !== undefined && document.token_endpoint_auth_method !== "none")
    return "only public clients are known here: token_endpoint_auth_method must be none";
  if (document.grant_types !== undefined && !texts(document, "grant_types").includes("authorization_code"))
    return "it does not use the grant authorization_code";
  if (document.response_types !== undefined && !texts(document, "response_types").includes("code")) return "it does not use the response type code";
  return { id, name: text(document, "client_name"), host: new URL(id).host, redirectUris: redirectUris.filter(isRedirectAddress) };
};

/** The client of that id. Throws INVALID_ARGUMENT for whatever is none, RESOURCE_EXHAUSTED. */
export const findClient = async (settings: SignInSettings, id: string, address: string): Promise<Client> => {
  const own = urlOfPath(settings, docsPath);
  if (id === own) return { id, name: "", host: "", redirectUris: [urlOfPath(settings, docsRedirectPath)] };
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
export const checkRedirect = ({ redirectUris }: Client, address: string): void => {
  const asked = isRedirectAddress(address) ? withoutLoopbackPort(address) : undefined;
  if (asked === undefined || !redirectUris.some((listed) => withoutLoopbackPort(listed) === asked))
    throw invalid([{ field: "redirect_uri", description: "is not an address that this client has listed" }]);
};
