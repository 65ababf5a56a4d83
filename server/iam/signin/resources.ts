// Resources of RFC 8707: the parts of this server that accept tokens. A token is valid for one of them. Paths below /mcp are one
// resource: subsets of the same tools.

import { withoutTrailing } from "#base/trailing.ts";
import { oauthFault } from "./oauth-parameters.ts";
import { type SignInSettings, urlOfPath } from "./settings.ts";

/** Returns the audience for a resource; "" is the API. Throws `invalid_target`. */
export const audienceOfResource = (settings: Pick<SignInSettings, "publicUrl">, resources: readonly string[]): string => {
  const { publicUrl } = settings;
  const [resource = "", another] = [...new Set(resources.filter((each) => each !== ""))];
  if (another !== undefined) throw oauthFault("invalid_target", "resource must be given once: a token is for one resource alone");
  if (resource === "" || withoutTrailing(resource, "/") === withoutTrailing(publicUrl, "/")) return publicUrl;
  const mcp = urlOfPath(settings, "/mcp");
  if (resource === mcp || (resource.startsWith(`${mcp}/`) && /^[a-z,/]+$/.test(resource.slice(mcp.length)))) return mcp;
  throw oauthFault("invalid_target", `resource must be ${publicUrl} or ${mcp}`);
};
