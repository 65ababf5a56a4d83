// Failures in the words of OAuth, which its answers in bodies and in addresses share.

import type { Code } from "./fault.ts";

/** What a failure of the server itself is called (RFC 6749, 4.1.2.1); undefined for one that follows from the request. */
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
