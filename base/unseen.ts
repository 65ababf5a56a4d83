// Invisible and direction-changing characters, in which user text can hide content or imitate another text (attacks 142, 155, 162
// and 209). The only list of them.

/**
 * Line ends and tabs count as visible. Fillers, variation selectors and joiners are in other categories; the empty Braille
 * pattern is a symbol.
 */
const unseen = /(?![\n\r\t])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Default_Ignorable_Code_Point}\u2800]/gu;

const picture = /^\p{Extended_Pictographic}$/u;
/** A joiner combines emoji after one with its colour or its presentation selector. */
const pictureAtEnd = /(?:[\p{Extended_Pictographic}\p{Emoji_Modifier}]|\p{Extended_Pictographic}\ufe0f)$/u;
/** Letters and marks from Hebrew to Vedic and of their supplementary blocks, which joiners shape. */
const shapedLetter = /^(?!\p{Default_Ignorable_Code_Point})(?=[\u0590-\u1cff\ua800-\uabff])[\p{L}\p{M}]$/u;

/**
 * Returns true for a joiner or selector that changes how the preceding character looks. Repeated or elsewhere they are invisible,
 * and could encode a hidden text.
 */
const isPartOfSign = (mark: string, offset: number, text: string): boolean => {
  const before = [...text.slice(Math.max(0, offset - 2), offset)].at(-1) ?? "";
  const after = String.fromCodePoint(text.codePointAt(offset + 1) ?? 0);
  if (mark === "\ufe0e" || mark === "\ufe0f") return picture.test(before) || (/^[0-9#*]$/.test(before) && after === "\u20e3");
  if (mark === "\u200d" && pictureAtEnd.test(text.slice(Math.max(0, offset - 3), offset))) return picture.test(after);
  return (mark === "\u200c" || mark === "\u200d") && shapedLetter.test(before);
};

/** Returns the text with each invisible character replaced by `written`. */
export const withUnseenAs = (text: string, written: (mark: string) => string): string =>
  text.replaceAll(unseen, (mark, offset: number) => (isPartOfSign(mark, offset, text) ? mark : written(mark)));

/** Returns the JSON escape of a character; a surrogate pair above four digits. */
export const jsonEscapeOf = (mark: string): string =>
  Array.from({ length: mark.length }, (_, at) => `\\u${mark.charCodeAt(at).toString(16).padStart(4, "0")}`).join("");
