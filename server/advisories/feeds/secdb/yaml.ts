// A value of JSON as YAML, for readers of secdb that read nothing else: blocks, with every text in double quotes, which no
// reader takes for a number, a date or a truth value. Pure.

import { isObject, type Json } from "#base/json.ts";

const hex = (code: number, digits: number): string => code.toString(16).padStart(digits, "0");

/** JSON's escapes are YAML's, pairs of surrogates aside; what some readers refuse in plain sight is escaped. */
const quoted = (text: string): string =>
  JSON.stringify(text).replace(/[^\x20-\x7e]/gu, (character) => {
    const code = character.codePointAt(0) ?? 0;
    return code > 0xffff ? `\\U${hex(code, 8)}` : `\\u${hex(code, 4)}`;
  });

const hasNoEntries = (value: Json): boolean => (Array.isArray(value) ? value.length === 0 : isObject(value) && Object.keys(value).length === 0);

/** What stands behind "key:" or "-". */
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

/** @param value An object or a list */
export const yamlOf = (value: Json): string => (hasNoEntries(value) ? `${JSON.stringify(value)}\n` : block(value, ""));
