// Error codes of OAuth, shared by response bodies and redirects.

import type { Code } from "./fault.ts";

/** Returns the OAuth code of a server error (RFC 6749 §4.1.2.1); undefined for errors of the request. */
export const oauthServerErrorOf = (code: Code): "temporarily_unavailable" | "server_error" | undefined => {
  switch (code) {
    case "UNAVAILABLE":
    case "RESOURCE_EXHAUSTED":
    case "DEADLINE_EXCEEDED":
      return "temporarily_unavailable";
    case "INTERNAL":
    case "UNKNOWN":
    case "DATA_LOSS":
      return "server_error";
    default:
      return undefined;
  }
};
