// What is said of an address that is no https URL: of an issuer, of a sink.

/** Where only http is wrong with it, by whose word it would be right. */
export const notHttps = (url: URL | null): string =>
  url?.protocol === "http:" ? "must be an https URL; http is for private addresses that the operator lists in GANTRY_EGRESS_ALLOW" : "must be an https URL";
