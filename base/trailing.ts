// Trims trailing characters in linear time; /x+$/ is quadratic.

export const withoutTrailing = (text: string, characters: string): string => {
  let end = text.length;
  while (end > 0 && characters.includes(text.charAt(end - 1))) end--;
  return text.slice(0, end);
};
