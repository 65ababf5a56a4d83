// Patterns with "*", which matches any characters.

/** Takes time in proportion to the lengths, unlike a regular expression with several "*". */
export const matchesWildcards = (pattern: string, value: string): boolean => {
  const [first = "", ...rest] = pattern.split("*");
  const last = rest.pop();
  if (last === undefined) return pattern === value;
  if (!value.startsWith(first) || !value.endsWith(last) || value.length < first.length + last.length) return false;
  let at = first.length;
  for (const part of rest) {
    const found = value.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return at + last.length <= value.length;
};

/** Converts the pattern to LIKE. */
export const likePattern = (pattern: string): string => pattern.replaceAll(/[\\%_]/g, "\\$&").replaceAll("*", "%");
