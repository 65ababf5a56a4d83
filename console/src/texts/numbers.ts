// Numbers in texts.

export const count = new Intl.NumberFormat("en");
export const list = new Intl.ListFormat("en");
export const plural = new Intl.PluralRules("en");

/** "1 repo", "2,000 repos" */
export const counted = (number: number, one: string, other: string): string => `${count.format(number)} ${plural.select(number) === "one" ? one : other}`;
