// Compares entity tags with If-Match and If-None-Match, for resources, documents and pages.

/** Returns whether the header lists this tag, weak or strong (RFC 9110 §8.8.3.2); false if the header is absent. */
export const matchesEtag = (header: string | undefined, etag: string): boolean => {
  if (header === undefined) return false;
  const strong = etag.replace(/^W\//, "");
  return header.trim() === "*" || header.split(",").some((each) => each.trim().replace(/^W\//, "") === strong);
};

/** Returns whether If-Match lists one of these strong tags (RFC 9110 §13.1.1). A weak tag never matches. */
export const matchesStrongEtag = (header: string, etags: readonly string[]): boolean =>
  header.trim() === "*" || header.split(",").some((each) => etags.includes(each.trim()));
