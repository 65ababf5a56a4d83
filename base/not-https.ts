// The error for an address that must be an https URL: an issuer's, or a webhook endpoint's.

/** Returns why `url` is refused. Plain http has a longer message, because the operator can allow it for private addresses. */
export const notHttps = (url: URL | null): string =>
  url?.protocol === "http:" ? "must be an https URL; http is for private addresses that the operator lists in GANTRY_EGRESS_ALLOW" : "must be an https URL";
