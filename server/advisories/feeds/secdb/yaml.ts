// Writes JSON values as block YAML for secdb clients, with all texts in double quotes, so that none is read as a number, date or
// boolean. Pure.

import { isObject, type Json } from "#base/json.ts";

const hex = (code: number, digits: number): string => code.toString(16).padStart(digits, "0");

/** JSON's escapes except surrogate pairs. Some readers refuse unescaped characters. */
const quoted = (text: string): string =>
  JSON.stringify(text).replace(/[^\x20-\x7e]/gu, (character) => {
    const code = character.codePointAt(0) ?? 0;
    return code > 0xffff ? `\\U${hex(code, 8)}` : `\\u${hex(code, 4)}`;
  });

const hasNoEntries = (value: Json): boolean => (Array.isArray(value) ? value.length === 0 : isObject(value) && Object.keys(value).length === 0);

const behind = (value: Json, indent: string): string => {
  if (typeof value === "string") return ` ${quoted(value)}\n`;
  if (typeof value !== "object" || value === null || hasNoEntries(value)) return ` ${JSON.stringify(value)}\n`;
  return `\n${block(value, indent)}`;
};

const block = (value: Json, indent: string): string => {
  const inner = `${indent}  `;
  if (Array.isArray(value)) return value.map((each) => `${indent}-${behind(each, inner)}`).join("");
  return isObject(value)
    ? Object.entries(value)
        .map(([key, each]) => `${indent}${quoted(key)}:${behind(each, inner)}`)
        .join("")
    : "";
};

/** @param value an object or a list */
export const yamlOf = (value: Json): string => (hasNoEntries(value) ? `${JSON.stringify(value)}\n` : block(value, ""));
