// Variants for texts: the most expensive field at its maximum length, by CPU time of the main thread, and of the thread that
// evaluates readmes.

import { FoundViolations } from "#base/fault.ts";
import type { JsonObject } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { patternCost } from "#base/pattern-cost.ts";
import { methods } from "#contract/catalog.ts";
import type { FieldFact, MessageFact } from "#contract/facts.ts";
import { checkMessage } from "../server/kernel/field-behavior.ts";
import { patternViolations } from "../server/authn/patterns.ts";
import { widthWarning } from "../server/iam/resources/rules/width.ts";
import { judgeReadme } from "../server/registry/resources/readme/judge.ts";
import { hostileMarkdown, hostileTexts } from "../test/hostile-texts.ts";
import type { Variant } from "./environment.ts";

/** The longest text of the contract, also for fields without a maximum. */
const longest = 262_144;
const tries = 3;

type Usage = () => NodeJS.CpuUsage;
const ofThisThread: Usage = () => process.threadCpuUsage();
const ofAllThreads: Usage = () => process.cpuUsage();

const spentMs = async (usage: Usage, work: () => unknown): Promise<number> => {
  let least = Number.POSITIVE_INFINITY;
  for (let index = 0; index < tries; index++) {
    const before = usage();
    await work();
    const after = usage();
    least = Math.min(least, (after.user - before.user + after.system - before.system) / 1000);
  }
  return least;
};

const readmes = Object.values(hostileMarkdown).map((textOf) => () => judgeReadme(textOf(longest)));

const messagesOf = (message: MessageFact, seen = new Set<MessageFact>()): Set<MessageFact> => {
  if (seen.has(message)) return seen;
  seen.add(message);
  for (const field of message.fields) if (field.message) messagesOf(field.message, seen);
  return seen;
};

const valueOf = ({ shape, maxLength }: FieldFact, textOf: (length: number) => string): JsonObject[string] => {
  const text = textOf(shape === "one" && maxLength > 0 ? maxLength : longest);
  if (shape === "one") return text;
  return shape === "list" ? [text] : { key: text, [text]: "value" };
};

const fields = [...new Set(methods.flatMap(({ input }) => [...messagesOf(input)]))].flatMap((message) =>
  message.fields
    .filter(({ kind }) => kind === "string")
    .flatMap((field) =>
      Object.values(hostileTexts).map((textOf) => {
        const value = { [field.json]: valueOf(field, textOf) };
        return () => checkMessage(message, value, "", "json", new FoundViolations());
      }),
    ),
);

// Compiled patterns are cached, so each try needs new ones.
let fresh = 0;

const patternsOf = (part: string): (() => unknown) => {
  return () => {
    const patterns: string[] = [];
    let left = limits.identityPatternsCostMax;
    for (;;) {
      const start = `x${fresh++}`;
      let pattern = start;
      const most = Math.min(left, limits.patternCostMax);
      while (pattern.length + part.length <= limits.patternLengthMax && patternCost(pattern + part) <= most) pattern += part;
      if (pattern === start) break;
      left -= patternCost(pattern);
      patterns.push(pattern);
    }
    const violations = patternViolations(patterns.map((pattern, index) => [String(index), pattern]));
    if (violations.length > 0 || patterns.length === 0) throw new Error(`patterns of ${part} are refused`);
    const claimPatterns = Object.fromEntries(patterns.map((pattern, index) => [`c${index}`, pattern]));
    widthWarning({ issuerPattern: ".*", subjectPattern: ".*", claimPatterns });
  };
};

const dearPatterns = [
  "\\pL*?",
  "(?:\\p{Lu}*[a-z]*?){5,}",
  "[^a]{2}\\p{Lu}*?",
  ".{0,50}",
  "(?:a?){40}",
  "(?:.?){80}",
  "[a-z]{0,50}.*?",
  "abc|",
  "(?i:[Ā-ſ]?)",
].map(patternsOf);

const worstOf = (label: string, usage: Usage, works: readonly (() => unknown)[]): Variant => ({
  label,
  unit: "ms",
  prepare: async () => async () => {
    let worst = 0;
    for (const work of works) worst = Math.max(worst, await spentMs(usage, work));
    return worst;
  },
});

export const textVariants: Readonly<Record<string, Variant>> = {
  textServing: worstOf("the dearest text of any field, the serving thread", ofThisThread, [...fields, ...dearPatterns, ...readmes]),
  textReadme: worstOf("the dearest readme, all threads", ofAllThreads, readmes),
};
