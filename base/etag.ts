// Whether a caller has what would be sent: lists of entity tags, as resources, documents and pages are asked with them.

/** True where the list of a header (If-Match, If-None-Match) has this tag, weak or not (RFC 9110, 8.8.3.2); absent: false. */
export const matchesEtag = (header: string | undefined, etag: string): boolean => {
  if (header === undefined) return false;
  const strong = etag.replace(/^W\//, "");
  return header.trim() === "*" || header.split(",").some((each) => each.trim().replace(/^W\//, "") === strong);
};
