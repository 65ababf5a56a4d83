// The fragment of redirects to addresses that a request named. A redirect without a fragment keeps the one of the address before it
// (Fetch, 4.4), which an attacker may have chosen or which may hold a token. A constant one replaces it.

/** The address with the constant fragment. */
export const withoutFragment = (url: URL): string => {
  url.hash = "_";
  return url.href;
};
