// The error for URLs of issuers and webhook endpoints that are not https.

/** Names the operator's setting if only the scheme http is wrong. */
export const notHttps = (url: URL | null): string =>
  url?.protocol === "http:" ? "must be an https URL; http is for private addresses that the operator lists in GANTRY_EGRESS_ALLOW" : "must be an https URL";
