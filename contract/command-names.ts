// Names of operations on the command line: gantry DOMAIN RESOURCE VERB, from path and name alone. The verb
// is the method without its resource: GroupsService/CreateGroup at /iam/v2/groups/… is "iam groups create".

import { methods, version1 } from "./catalog.ts";
import { commandDomainOf } from "./command-domain.ts";
import { isViewed, type MethodFact } from "./facts.ts";

export interface CommandName {
  readonly domain: string;
  /** "" for the only resource of a domain: gantry events list. Two words for a nested resource: "advisories events". */
  readonly resource: string;
  /** "" for the domain itself: gantry ping. */
  readonly verb: string;
  readonly method: MethodFact;
}

/** "BatchCreateRoleBindings" as ["batch", "create", "role", "bindings"]. */
const wordsOfName = (name: string): string[] => name.match(/[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+/g)?.map((word) => word.toLowerCase()) ?? [];

const singularOf = (word: string): string => {
  if (/ies$/.test(word)) return word.replace(/ies$/, "y");
  if (/(?:uses|sses|xes)$/.test(word)) return word.replace(/es$/, "");
  return /[^s]s$/.test(word) && !/(?:us|is|terms)$/.test(word) ? word.slice(0, -1) : word;
};

const singularsOf = (words: readonly string[]): string[] => words.map(singularOf);

/** Returns the index of `part` in `words`, ignoring plurals, or -1. */
const indexOfWords = (words: readonly string[], part: readonly string[]): number => {
  const [haystack, needle] = [singularsOf(words), singularsOf(part)];
  return haystack.findIndex((_, at) => needle.every((word, offset) => haystack[at + offset] === word));
};

/** Returns the words of the method name that match a path segment without separators: "eoltags" of ListEolTags. */
const wordsInName = (segment: string, rpc: readonly string[]): string[] | undefined => {
  for (let from = 0; from < rpc.length; from++)
    for (let to = from + 1; to <= rpc.length; to++) if (rpc.slice(from, to).join("") === segment) return rpc.slice(from, to);
  return undefined;
};

/** Returns the collection in the path, "roleBindings" for /iam/v2/roleBindings/{uid=**}, or undefined. */
const collectionOf = ({ http, version, name }: MethodFact, domain: string): string | undefined => {
  const [, first = "", collection] = /^\/([a-z]+)\/v\d+(?:beta\d+)?\/([A-Za-z_-]+)/.exec(http[0]?.template ?? "") ?? [];
  const versioned = version !== "" || name.startsWith("gantry.");
  return versioned && (first === domain || first === "gantry") ? collection : undefined;
};

const resourceWordsOf = (method: MethodFact, domain: string): string[] => {
  const rpc = wordsOfName(method.rpc);
  const collection = collectionOf(method, domain)?.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
  if (collection !== undefined) return /[A-Z]/.test(collection) ? wordsOfName(collection) : (wordsInName(collection, rpc) ?? [collection]);
  return wordsOfName(method.service.replace(/^.*\./, "").replace(/Service$/, ""));
};

/** "audit entries" in the domain audit become "entries". */
const withoutDomain = (words: readonly string[], domain: string): readonly string[] => (words.length > 1 && words[0] === domain ? words.slice(1) : words);

const verbOf = (method: MethodFact, resource: readonly string[]): string => {
  const rpc = wordsOfName(method.rpc);
  const at = indexOfWords(rpc, resource);
  return (at === -1 ? rpc : [...rpc.slice(0, at), ...rpc.slice(at + resource.length)]).join("-");
};

const endsWithWords = (words: readonly string[], part: readonly string[]): boolean => indexOfWords(words, part) === words.length - part.length;

/** Returns the noun of a standard method, ["vulnerability", "metadata"] for ListVulnerabilityMetadata, or undefined. */
const nounOf = ({ rpc }: MethodFact): string[] | undefined => {
  const [verb = "", ...noun] = wordsOfName(rpc);
  return ["get", "list", "create", "update", "delete"].includes(verb) && noun.length > 0 ? noun : undefined;
};

/** Collections named like their standard methods. Others use the longer name of the method. */
const collectionsByName: ReadonlySet<string> = new Set(
  [...methods, ...version1].flatMap((method) => {
    const domain = commandDomainOf(method);
    const words = resourceWordsOf(method, domain);
    return singularsOf(nounOf(method) ?? []).join() === singularsOf(words).join() ? [`${domain} ${words.join("-")}`] : [];
  }),
);

const fullResourceWords = (method: MethodFact, domain: string): string[] => {
  const words = resourceWordsOf(method, domain);
  const noun = nounOf(method);
  return noun && collectionOf(method, domain) && !collectionsByName.has(`${domain} ${words.join("-")}`) && endsWithWords(noun, words) ? noun : words;
};

/** Our services with shorter names, or that share a resource with the platform. Verbs of the platform get a suffix. */
const sharedResources: ReadonlyMap<string, { readonly resource: string; readonly verbs: Readonly<Record<string, string>> }> = new Map([
  ["gantry.vulnerabilities.v1.AuthoredAdvisoriesService", { resource: "advisories", verbs: { get: "get-authored", list: "list-authored" } }],
  ["gantry.vulnerabilities.v1.AuthoredAdvisoryEventsService", { resource: "advisories events", verbs: {} }],
  ["gantry.decisions.v1.DecisionsService", { resource: "decisions", verbs: {} }],
]);

const nameOf = (method: MethodFact): CommandName => {
  const domain = commandDomainOf(method);
  const shared = sharedResources.get(method.service);
  const words = fullResourceWords(method, domain);
  const resource = withoutDomain(words, domain).join("-");
  const verb = verbOf(method, words);
  if (shared) return { domain, resource: shared.resource, verb: shared.verbs[verb] ?? verb, method };
  return { domain, resource: resource === domain ? "" : resource, verb, method };
};

/** Excludes the OCI protocol, SCIM and views of other operations. */
const isCommand = (method: MethodFact): boolean => method.distribution === undefined && method.scim === undefined && !isViewed(method);

const key = ({ domain, resource, verb }: CommandName): string => `${domain} ${resource} ${verb}`;

/** Returns all commands, version 2 first; a later command with the same name gets the suffix "-v1". */
export const listCommandNames = (): CommandName[] => {
  const taken = new Set<string>();
  return [...methods, ...version1].filter(isCommand).map((method) => {
    const name = nameOf(method);
    const free = taken.has(key(name)) ? { ...name, verb: `${name.verb}-${method.version}` } : name;
    taken.add(key(free));
    return free;
  });
};
