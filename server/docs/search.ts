// Search over guides and reference, by words and prefixes, with fuzzy matching of longer words. The index is created at the first
// search (server/docs/kept.ts), from a few hundred operations and guide sections.

import { synonymsOf } from "#base/search-synonyms.ts";
import MiniSearch from "minisearch";
import { type OpenApiSource, readReference, referencePath } from "./document.ts";
import { guideSections, readGuides } from "./guides.ts";
import { restOfDescription, titleOfOperation } from "./reference.ts";

export interface Found {
  readonly href: string;
  readonly title: string;
  /** Guide or operation. */
  readonly where: string;
  readonly text: string;
}

interface Entry extends Found {
  readonly id: number;
  /** Names, ranked above words. */
  readonly names: string;
}

/** Words of a question that say nothing about its subject. */
const fillers: ReadonlySet<string> = new Set("how do does i a an the to my in is are can what which with for of on let me use".split(" "));

const queryLengthMax = 100;
const wordsMax = 8;
const shownMax = 30;
const fewMax = 3;
const textLength = 160;

const beginningOf = (text: string): string => {
  const line = text.replaceAll(/\s+/g, " ").trim();
  return line.length <= textLength ? line : `${line.slice(0, line.lastIndexOf(" ", textLength) + 1 || textLength).trimEnd()} …`;
};

/** "GroupsService_ListGroups" and paths match as a whole and by word. */
const searchWords = (text: string): string[] =>
  text
    .split(/[^\p{L}\p{N}]+/u)
    .flatMap((word) => [word, ...(/\p{Ll}\p{Lu}/u.test(word) ? word.split(/(?<=\p{Ll})(?=\p{Lu})/u) : [])])
    .filter((word) => word !== "");

const guideEntries = async (): Promise<Omit<Entry, "id">[]> =>
  (await readGuides()).flatMap((guide) =>
    guideSections(guide).map(({ heading, text }) => ({
      href: heading === undefined || heading.level === 1 ? guide.path : `${guide.path}#${heading.id}`,
      title: heading?.text ?? guide.title,
      where: `Guide: ${guide.title}`,
      names: guide.title,
      text,
    })),
  );

const operationEntries = async ({ names, read }: OpenApiSource): Promise<Omit<Entry, "id">[]> => {
  const entries: Omit<Entry, "id">[] = [];
  for (const name of names) {
    for (const { operations } of readReference(name, await read(name)).tags)
      for (const operation of operations)
        entries.push({
          href: referencePath(name, operation.id),
          title: titleOfOperation(operation),
          where: `${operation.verb} ${operation.shownPath}`,
          names: `${operation.id} ${operation.path} ${operation.parameters.map((each) => each.name).join(" ")}`,
          text: restOfDescription(operation).replaceAll("`", ""),
        });
  }
  return entries;
};

/** Version 1 ranks lower unless the query contains it. */
const isEarlier = ({ where }: Pick<Entry, "where">): boolean => where.includes("/v1/");

export interface SearchIndex {
  readonly find: (query: string) => readonly Found[];
}

export const buildSearchIndex = async (source: OpenApiSource): Promise<SearchIndex> => {
  const guides = await guideEntries();
  const entries = [...guides, ...(await operationEntries(source))].map((entry, id) => ({ ...entry, id }));
  const index = new MiniSearch<Entry>({ fields: ["title", "names", "text"], tokenize: searchWords });
  index.addAll(entries);
  const earlier = new Set(entries.filter(isEarlier).map(({ id }) => id));
  const shown = entries.map(({ href, title, where, text }) => ({ href, title, where, text: beginningOf(text) }));
  return {
    find: (query) => {
      const words = searchWords(query.slice(0, queryLengthMax))
        .filter((word) => !fillers.has(word.toLowerCase()))
        .slice(0, wordsMax);
      if (words.length === 0) return [];
      const earlierBoost = words.some((word) => word.toLowerCase() === "v1") ? 1 : 0.4;
      const boostDocument = (id: unknown): number => (Number(id) < guides.length ? 1.5 : earlier.has(Number(id)) ? earlierBoost : 1);
      const options = {
        boost: { title: 3, names: 2 },
        prefix: true,
        boostDocument,
        fuzzy: (word: string) => (word.length > 4 ? 0.2 : false),
      } as const;
      // Synonyms count less than the word itself, and match whole words only.
      const queries = words.map((word) => ({
        combineWith: "OR" as const,
        queries: [word, { queries: [...synonymsOf(word)], prefix: false, fuzzy: false, boostTerm: () => 0.5 }],
      }));
      const found = index.search({ combineWith: "AND", queries }, options);
      // If few entries have all the words, entries with some of the words follow.
      const others = found.length < fewMax ? index.search({ combineWith: "OR", queries }, options) : [];
      const ids = new Set([...found, ...others].map(({ id }) => Number(id)));
      return [...ids].slice(0, shownMax).flatMap((id) => shown[id] ?? []);
    },
  };
};
