// Pages by path:
//
//   /docs                              home
//   /docs/<page>                       a text of docs/: /docs/guides/first-steps, /docs/operate/install
//   /docs/operations                   new locations of a removed page's sections
//   /docs/reference/<document>         an OpenAPI document
//   /docs/reference/<document>/<id>    an operation
//   /docs/search?q=                    search results
//   /docs/suggestions?q=               the first results, for the script
//   /docs/signed-in                    end of a sign-in window
//   /docs/files/<name>-<hash>.<ending> files of the pages
//   /docs/images/<name>.svg, …/<name>.png   pictures of the pages

import type { EndpointAnswer, EndpointRequest } from "#base/endpoint.ts";
import { escapeHtml } from "#base/html.ts";
import { fileAnswer, jsonAnswer, pageAnswer, pictureAnswer, privatePageAnswer } from "./answers.ts";
import { type OpenApiSource, type Reference, readReference, referencePath } from "./document.ts";
import { pageFiles } from "./files.ts";
import { findMoved, findText, type Guide, type GuideGroup, type MovedSection, readGuideGroups } from "./guides.ts";
import { keptFor } from "./kept.ts";
import { type DocsPage, docsPageHtml, type Frame, type Link, onPageHtml, pagerHtml, type Section, signedInHtml } from "./layout.ts";
import { addressesHtml } from "./entrance.ts";
import { fillWith } from "./own-address.ts";
import { operationPageHtml, referencePageHtml, titleOfOperation } from "./reference.ts";
import { buildSearchIndex, type SearchIndex } from "./search.ts";

/** Drops documents and guides from memory. */
const idleMs = 2 * 60 * 1000;

interface Library {
  readonly references: ReadonlyMap<string, Reference>;
  readonly sections: readonly Section[];
  readonly groups: readonly GuideGroup[];
}

const linkOfReference = ({ name, tags }: Reference): Link => ({
  href: referencePath(name),
  text: name,
  below: tags.map((tag) => ({
    href: `${referencePath(name)}#${tag.name}`,
    text: tag.name.replace(/(?<=.)Service$/, ""),
    below: tag.operations.map(({ id }) => ({ href: referencePath(name, id), text: id.slice(id.indexOf("_") + 1) })),
  })),
});

/** docs/guides/ci-identities/github.md is below docs/guides/ci-identities.md. */
const linksOfGuides = (guides: readonly Guide[]): Link[] => {
  const isBelow = ({ path }: Guide, above: Guide): boolean => path.startsWith(`${above.path}/`);
  return guides
    .filter((guide) => !guides.some((above) => isBelow(guide, above)))
    .map((guide) => ({
      href: guide.path,
      text: guide.title,
      below: guides.filter((each) => isBelow(each, guide)).map(({ path, title }) => ({ href: path, text: title })),
    }));
};

/** Version 1 is for existing users, so it comes last. */
const byName = (one: Reference, other: Reference): number => Number(one.name === "v1") - Number(other.name === "v1") || (one.name < other.name ? -1 : 1);

const readLibrary = async (source: OpenApiSource): Promise<Library> => {
  const [groups, references] = await Promise.all([
    readGuideGroups(),
    Promise.all(source.names.map(async (name) => readReference(name, await source.read(name)))),
  ]);
  return {
    groups,
    references: new Map(references.toSorted(byName).map((reference) => [reference.name, reference])),
    sections: [
      ...groups.map(({ title, guides }) => ({ title, links: linksOfGuides(guides) })),
      { title: "API reference", links: references.toSorted(byName).map(linkOfReference) },
    ],
  };
};

const headingId = (title: string): string => title.toLowerCase().replaceAll(" ", "-");

const tileHtml = (href: string, title: string, note: string): string => `<li><a href="${href}">${escapeHtml(title)}</a><small>${escapeHtml(note)}</small></li>`;

const groupHtml = ({ title, guides }: GuideGroup): string => {
  const summaries = new Map(guides.map(({ path, summary }) => [path, summary]));
  const tiles = linksOfGuides(guides).map(({ href, text }) => tileHtml(href, text, summaries.get(href) ?? ""));
  return `<h2 id="${headingId(title)}">${escapeHtml(title)}</h2><ul class="tiles">${tiles.join("")}</ul>`;
};

/** Below docs/images. */
const homePicture = "/docs/images/console-repo.png";

const introductionHtml = (hasConsole: boolean): string =>
  '<div class="introduction"><div><h1>Gantry</h1>' +
  "<p>Gantry stores your container images, controls access to them, tracks their vulnerabilities, and emits an event for every change.</p>" +
  '<p class="actions"><a class="first" href="/docs/guides/first-steps">First steps</a>' +
  `${hasConsole ? '<a href="/console">Open the console</a>' : ""}</p>` +
  '<p>Or look first: <a href="/docs/guides/console-tour">A tour of the console</a>, <a href="/docs/concepts/overview">How Gantry works</a>.</p></div>' +
  `<a href="/docs/guides/console-tour"><img class="picture" src="${homePicture}" alt="A repo in the console, with its tags"></a></div>`;

const homeHtml = ({ groups, references }: Library, hasConsole: boolean): string =>
  `${introductionHtml(hasConsole)}${groups.map(groupHtml).join("")}` +
  `<h2 id="api-reference">API reference</h2><ul class="tiles">` +
  [...references.values()]
    .map(({ name, tags }) => {
      const count = tags.reduce((sum, { operations }) => sum + operations.length, 0);
      return tileHtml(referencePath(name), name, `${count} ${count === 1 ? "operation" : "operations"}`);
    })
    .join("") +
  `</ul><h2 id="programs">For programs</h2>${addressesHtml()}`;

const sectionHtml = ({ id, href, title }: MovedSection): string =>
  `<li id="${escapeHtml(id)}"><a href="${escapeHtml(href)}">${escapeHtml(title)}</a> <code>#${escapeHtml(id)}</code></li>`;

/** The script follows the fragment's link; without script, the list does. */
const movedHtml = (sections: readonly MovedSection[]): string =>
  '<h1>This page has moved</h1><p>Its sections are now on these pages:</p><ul id="moved">' + `${sections.map(sectionHtml).join("")}</ul>`;

const pagerOf = (groups: readonly GuideGroup[], path: string): string => {
  const guides = groups.flatMap((group) => group.guides);
  const at = guides.findIndex((guide) => guide.path === path);
  const linkAt = (index: number): Link | undefined => {
    const guide = guides[index];
    return guide && { href: guide.path, text: guide.title };
  };
  return at < 0 ? "" : pagerHtml(linkAt(at - 1), linkAt(at + 1));
};

const searchHtml = (index: SearchIndex, query: string): string => {
  if (query.trim() === "") return "<h1>Search</h1><p>Type what you look for: an operation, a path, a word of a guide.</p>";
  const found = index.find(query);
  const heading = `<h1>Search: ${escapeHtml(query)}</h1>`;
  if (found.length === 0) return `${heading}<p>No results. Try fewer words, or the beginning of a word.</p>`;
  const entries = found.map(({ href, title, where, text }) => {
    const beginning = text === "" ? "" : `<p>${escapeHtml(text)}</p>`;
    return `<li><a href="${escapeHtml(href)}">${escapeHtml(title)}</a><p class="quiet">${escapeHtml(where)}</p>${beginning}</li>`;
  });
  return `${heading}<ol class="found">${entries.join("")}</ol>`;
};

const queryOf = ({ query }: EndpointRequest): string => (query.get("q") ?? "").slice(0, 100).toWellFormed();

const suggestedMax = 8;

const absent = (path: string): DocsPage => ({
  path,
  title: "No such page",
  main: `<h1>No such page</h1><p>There is nothing at <code>${escapeHtml(path.slice(0, 200))}</code>. ` + "Use the contents or the search.</p>",
});

export type AnswerPage = (path: string, request: EndpointRequest) => Promise<EndpointAnswer>;

export const openPages = (source: OpenApiSource, { issuer, hasConsole }: Pick<Frame, "issuer" | "hasConsole">): AnswerPage => {
  const library = keptFor(idleMs, () => readLibrary(source));
  const index = keptFor(idleMs, () => buildSearchIndex(source));
  const fill = fillWith(issuer);

  const findPage = async (path: string, request: EndpointRequest): Promise<DocsPage | undefined> => {
    if (path === "/docs") return { path, title: "Docs", main: homeHtml(await library(), hasConsole) };
    if (path === "/docs/search") {
      const query = queryOf(request);
      return { path, title: query === "" ? "Search" : `Search: ${query}`, main: searchHtml(await index(), query), query };
    }
    const [, name, id] = /^\/docs\/reference\/([a-z0-9-]+)(?:\/(\w+))?$/.exec(path) ?? [];
    // Tables of docs/reference share the path of the documents.
    const reference = name === undefined ? undefined : (await library()).references.get(name);
    if (reference) {
      if (id === undefined) return { path, title: reference.title, main: referencePageHtml(reference) };
      const operation = reference.tags.flatMap(({ operations }) => operations).find((each) => each.id === id);
      return operation && { path, title: titleOfOperation(operation), main: operationPageHtml(reference, operation, fill) };
    }
    const found = await findText(path, new Set((await pageFiles()).pictures.keys()), fill);
    if (found) {
      const pager = pagerOf((await library()).groups, path);
      return { path, title: found.title, main: `${onPageHtml(found.headings)}<div class="text">${found.html}</div>${pager}` };
    }
    const moved = await findMoved(path);
    return moved && { path, title: "This page has moved", main: movedHtml(moved) };
  };

  return async (path, request) => {
    const files = await pageFiles();
    if (path === "/docs/signed-in") return privatePageAnswer(signedInHtml(files));
    const file = files.byPath.get(path);
    if (file) return fileAnswer(file.type, file.text);
    const picture = files.pictures.get(path);
    if (picture !== undefined) return pictureAnswer(picture.type, picture.open());
    if (path === "/docs/suggestions") {
      const found = (await index()).find(queryOf(request)).slice(0, suggestedMax);
      return jsonAnswer({ suggestions: found.map(({ href, title, where }) => ({ href, title, where })) });
    }
    const page = await findPage(path, request);
    const html = docsPageHtml({ files, issuer, hasConsole }, (await library()).sections, page ?? absent(path));
    return pageAnswer(request, html, page ? 200 : 404);
  };
};
