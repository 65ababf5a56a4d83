// The end of a text, cut off in one walk: /x+$/ begins anew at every x of the text and is quadratic.

/** The text without what of these characters stands at its end. */
export const withoutTrailing = (text: string, characters: string): string => {
  let end = text.length;
  while (end > 0 && characters.includes(text.charAt(end - 1))) end--;
  return text.slice(0, end);
};
