// Characters that no screen shows, or that turn what stands around them: what somebody has written can hide in them, or look like
// another text, wherever people or models read it (attacks 142, 155, 162 and 209). One list for all of these places.

/** Line ends and tabs are seen. Fillers, variation selectors and joiners are of other categories, and the empty pattern of Braille is a sign. */
const unseen = /(?![\n\r\t])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Default_Ignorable_Code_Point}\u2800]/gu;

const picture = /^\p{Extended_Pictographic}$/u;
/** What a joiner may stand behind to make one picture of several: with its colour, or with the selector that makes it one. */
const pictureAtEnd = /(?:[\p{Extended_Pictographic}\p{Emoji_Modifier}]|\p{Extended_Pictographic}\ufe0f)$/u;
/** Letters and marks from Hebrew to Vedic, and those of the blocks that some of these scripts have besides: joiners shape them. */
const shapedLetter = /^(?!\p{Default_Ignorable_Code_Point})(?=[\u0590-\u1cff\ua800-\uabff])[\p{L}\p{M}]$/u;

/**
 * True for a joiner or a selector that changes how the sign before it looks. Several in a row, or behind any other sign, show
 * nothing, and a text can be written with them alone.
 */
const isPartOfSign = (mark: string, offset: number, text: string): boolean => {
  const before = [...text.slice(Math.max(0, offset - 2), offset)].at(-1) ?? "";
  const after = String.fromCodePoint(text.codePointAt(offset + 1) ?? 0);
  if (mark === "\ufe0e" || mark === "\ufe0f") return picture.test(before) || (/^[0-9#*]$/.test(before) && after === "\u20e3");
  if (mark === "\u200d" && pictureAtEnd.test(text.slice(Math.max(0, offset - 3), offset))) return picture.test(after);
  return (mark === "\u200c" || mark === "\u200d") && shapedLetter.test(before);
};

/** The text with each of these characters as `written` says it. */
export const withUnseenAs = (text: string, written: (mark: string) => string): string =>
  text.replaceAll(unseen, (mark, offset: number) => (isPartOfSign(mark, offset, text) ? mark : written(mark)));

/** The mark as JSON writes it: beyond four digits two halves. */
export const jsonEscapeOf = (mark: string): string =>
  Array.from({ length: mark.length }, (_, at) => `\\u${mark.charCodeAt(at).toString(16).padStart(4, "0")}`).join("");
