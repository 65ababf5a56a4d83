// What a token can be asked for (RFC 8707): the parts of this server that take tokens, by their addresses. A token for one of
// them is for that one alone. The paths below /mcp are one part: sets of the same tools.

import { withoutTrailing } from "#base/trailing.ts";
import { oauthFault } from "./oauth-parameters.ts";
import { type SignInSettings, urlOfPath } from "./settings.ts";

/** The audience of a token for this resource; "" is the API. Throws `invalid_target`. */
export const audienceOfResource = (settings: Pick<SignInSettings, "publicUrl">, resources: readonly string[]): string => {
  const { publicUrl } = settings;
  const [resource = "", another] = [...new Set(resources.filter((each) => each !== ""))];
  if (another !== undefined) throw oauthFault("invalid_target", "resource must be given once: a token is for one resource alone");
  if (resource === "" || withoutTrailing(resource, "/") === withoutTrailing(publicUrl, "/")) return publicUrl;
  const mcp = urlOfPath(settings, "/mcp");
  if (resource === mcp || (resource.startsWith(`${mcp}/`) && /^[a-z,/]+$/.test(resource.slice(mcp.length)))) return mcp;
  throw oauthFault("invalid_target", `resource must be ${publicUrl} or ${mcp}`);
};
