// Fragment of redirects to request-supplied URLs. Without one, the browser keeps the previous URL's fragment (Fetch §4.4), which may
// be an attacker's or hold a token.

/** Returns the URL with a constant fragment. */
export const withoutFragment = (url: URL): string => {
  url.hash = "_";
  return url.href;
};
