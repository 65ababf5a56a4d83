// Counts odd words per 1,000 words of the project's prose: pronouns and idioms that make a reader decode a sentence. test/prose/budgets.json
// bounds the rate of each kind of prose per module.

import { dirname } from "node:path";
import { files, isCode, isOurs, isTest } from "../project-files.ts";
import { literalsOf, tokensOf } from "../source.ts";

export const kinds = ["docs", "proto", "comments", "titles", "messages"] as const;
export type Kind = (typeof kinds)[number];

const oddWords = [
  ...["whom", "whomever", "whoever", "whose", "nobody", "somebody", "everybody", "told", "tells", "anew", "stand", "stands", "stood"],
  ...["beside", "besides", "wherever", "lies", "thereby", "gives away", "take away", "takes away", "taken away", "hand on", "hands on", "handed on"],
  ...["go on", "goes on", "one's own", "of one's", "of its own", "of our own", "of theirs"],
];

const oddWord = new RegExp(`\\b(?:${oddWords.join("|")})\\b`, "gi");
const word = /[A-Za-z][A-Za-z'’-]*/g;
/** Matches a headless relative clause as a subject: "Who signs in …", "What no source names …". */
const headlessStart = /^[^A-Za-z]*(?:Who|What|Where) [a-z]/;

const sentencesOf = (text: string): string[] => text.split(/(?<=[.!?;:|])\s|\n\s*\n|\n(?=\s*[-*#|>])/);

export interface Count {
  readonly odd: number;
  readonly words: number;
}

/** Counts the words of a text and the odd ones; a sentence with a headless start counts as one. */
export const countProse = (text: string): Count => ({
  odd: (text.match(oddWord)?.length ?? 0) + sentencesOf(text).filter((each) => headlessStart.test(each) && !each.trimEnd().endsWith("?")).length,
  words: text.match(word)?.length ?? 0,
});

/** Returns the sentences with odd words, each on one line. */
export const oddSentencesOf = (text: string): string[] =>
  sentencesOf(text)
    .filter((sentence) => countProse(sentence).odd > 0)
    .map((sentence) => sentence.replaceAll(/\s+/g, " ").trim());

/** Returns the prose of Markdown, without code blocks, inline code and link targets. */
export const proseOfMarkdown = (markdown: string): string =>
  markdown
    .split(/^[ \t]*```.*$/m)
    .filter((_, index) => index % 2 === 0)
    .join("\n")
    .replaceAll(/`[^`\n]*`/g, "x")
    .replaceAll(/\]\([^)\s]*\)/g, "]");

const lineComment = /^\s*\/\/ ?/;

/** Returns the comments of a source; consecutive lines form one text. */
const proseOfComments = (source: string): string =>
  tokensOf(source)
    .filter(({ kind }) => kind === "comment")
    .map(({ value }) => value.replaceAll(/^[ \t/*]+/gm, "").replaceAll("`", ""))
    .join("\n");

const proseOfProto = (source: string): string =>
  source
    .split("\n")
    .filter((line) => lineComment.test(line))
    .map((line) => line.replace(lineComment, ""))
    .join("\n");

const proseOfTitles = (source: string): string =>
  tokensOf(source)
    .flatMap(({ value, kind }, index, tokens) => {
      const [open, title] = [tokens[index + 1], tokens[index + 2]];
      const isTitled = kind === "word" && ["test", "suite", "describe", "it"].includes(value) && open?.value === "(";
      return isTitled && (title?.kind === "text" || title?.kind === "template") ? [title.value] : [];
    })
    .join("\n\n");

/** Returns texts that a user may read: at least four words, and no SQL, markup or pattern. */
const proseOfMessages = (source: string): string =>
  literalsOf(source)
    .map(({ value }) => value.replaceAll("${}", "x"))
    .filter((value) => (value.match(word)?.length ?? 0) >= 4 && / [a-z]+ /.test(value))
    .filter(
      (value) =>
        !/\b(?:select|from|where|insert into|update|delete from|values|returning|order by|case when|= any)\b[\s\S]*[=(,;]/i.test(value) &&
        !/<\/?[a-z]/.test(value),
    )
    .join("\n\n");

const modules: readonly string[] = Object.keys((JSON.parse(files.get("modules.json") ?? "{}") as { modules: object }).modules);

const moduleAround = (path: string): string => {
  const found = modules.filter((module) => path.startsWith(`${module}/`)).sort((one, other) => other.length - one.length)[0];
  if (found !== undefined) return found;
  const folders = dirname(path).split("/").slice(0, 2);
  return folders[0] === "." ? path : folders.join("/");
};

const moduleOfPage = (path: string): string => (dirname(path) === "docs" ? path : moduleAround(path));

interface Text {
  readonly kind: Kind;
  readonly module: string;
  readonly path: string;
  readonly text: string;
}

/** Returns the prose of a file, by kind. */
export const proseOf = (path: string, content: string): Text[] => {
  if (path.startsWith("test/fixtures/")) return [];
  if (path.endsWith(".md") && isOurs(path)) return [{ kind: "docs", module: moduleOfPage(path), path, text: proseOfMarkdown(content) }];
  if (path.endsWith(".proto") && isOurs(path)) return [{ kind: "proto", module: path.split("/").slice(0, 3).join("/"), path, text: proseOfProto(content) }];
  if (!isCode(path)) return [];
  const module = moduleAround(path);
  const comments: Text = { kind: "comments", module, path, text: proseOfComments(content) };
  if (isTest(path)) return [comments, { kind: "titles", module, path, text: proseOfTitles(content) }];
  return /^(?:base|cli|client|server)\//.test(path) ? [comments, { kind: "messages", module, path, text: proseOfMessages(content) }] : [comments];
};

export const proseOfProject = (): Text[] => [...files].flatMap(([path, content]) => proseOf(path, content));

export type Measured = ReadonlyMap<Kind, ReadonlyMap<string, Count>>;

/** Sums the texts by kind and module. */
export const measureProse = (texts: readonly Text[]): Measured => {
  const measured = new Map<Kind, Map<string, Count>>(kinds.map((kind) => [kind, new Map()]));
  for (const { kind, module, text } of texts) {
    const { odd, words } = countProse(text);
    const before = measured.get(kind)?.get(module) ?? { odd: 0, words: 0 };
    measured.get(kind)?.set(module, { odd: before.odd + odd, words: before.words + words });
  }
  return measured;
};

/** Returns the odd words per 1,000 words. */
export const rateOf = ({ odd, words }: Count): number => (words === 0 ? 0 : (odd * 1000) / words);

/** The maximum odd words per 1,000 words, by kind and module; "*" applies to modules without an entry. */
export type Budgets = Readonly<Record<Kind, Readonly<Record<string, number>>>>;

export const budgetsFile = "test/prose/budgets.json";

export const readBudgets = (): Budgets => JSON.parse(files.get(budgetsFile) ?? "{}") as Budgets;

/** A module with little prose may have this many. */
const oddWordsFree = 2;

/** Returns one sentence for each module that exceeds its budget. */
export const findExcess = (measured: Measured, budgets: Budgets): string[] =>
  kinds.flatMap((kind) =>
    [...(measured.get(kind) ?? [])].flatMap(([module, count]) => {
      const budget = budgets[kind][module] ?? budgets[kind]["*"] ?? 2;
      if (count.odd <= oddWordsFree || rateOf(count) <= budget) return [];
      return [`${kind} of ${module}: ${rateOf(count).toFixed(1)} odd words per 1,000, the budget is ${budget}`];
    }),
  );
